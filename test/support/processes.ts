import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 20;

/** Command lines of running processes that contain `text`. */
export function processesNaming(text: string): string[] {
  const listing = execFileSync('ps', ['-axww', '-o', 'args='], { encoding: 'utf8' });
  return listing.split('\n').filter((line) => line.includes(text));
}

/** Ids of the children of a process whose command lines contain `text`. */
export function childrenOf(parentPid: number, text = ''): number[] {
  const listing = execFileSync('ps', ['-axww', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  return listing
    .split('\n')
    .filter((line) => line.includes(text))
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === parentPid)
    .map(([pid]) => pid ?? 0);
}

/** Waits for what other processes do by themselves; throws where it has not come true within `limitMs`. */
export async function until(isTrue: () => boolean, limitMs = 20_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!isTrue()) {
    if (performance.now() > end) {
      throw new Error(`Not true within ${limitMs / 1000} s: ${isTrue.toString()}`);
    }
    await delay(POLL_MS);
  }
}

/**
 * Python that starts processes which try to outlive their kernel: one in a session of its own, one that ignores polite
 * signals, one that forked twice. All sleep for `seconds`, a text by which they can be found.
 */
export function stubbornScript(seconds: string): string {
  return `
import os, subprocess

subprocess.Popen(["sleep", "${seconds}"], start_new_session=True)
subprocess.Popen(["sh", "-c", "trap '' TERM HUP INT; sleep ${seconds}; true"])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "${seconds}"])
    os._exit(0)
os.wait()
`;
}

/** A number of seconds that nobody else sleeps for. */
export function uniqueSeconds(): string {
  return `600.${Math.random().toString().slice(2, 12)}`;
}
