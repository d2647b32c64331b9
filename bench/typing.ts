import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ChatTerminal } from '../test/cli/chat-terminal.js';
import { call, startGeminiServer, text, turn } from '../test/support/gemini-server.js';

/** Milliseconds from a key to its letter on the screen, 95 of 100 times. */
const GOAL_MS = 16;
const LINES_PER_SECOND = 10_000;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** A person does not type in time with our timers. */
const PAUSES_MS = [23, 61, 37, 89, 47];
const CTRL_U = '\u0015';

const FLOOD = `
import time
began = time.perf_counter()
printed = 0
while True:
    due = int((time.perf_counter() - began) * ${LINES_PER_SECOND})
    for number in range(printed, due):
        print("line", number, "of a long table: 1.2345 6.7890 日本語")
    printed = due
    time.sleep(0.01)
`;

/**
 * How long a key takes to be seen in the chat on a real terminal, at rest and while a script prints 10,000 lines a second.
 * The time of this process, which reads and draws the terminal, counts as well.
 */
export async function tryTyping({ count = 400 }: { count?: number }): Promise<boolean> {
  const home = await mkdtemp(join(tmpdir(), 'typing-'));
  const server = await startGeminiServer([turn(call(FLOOD, { id: 'flood' })), turn(text('Done.'))]);
  try {
    await using terminal = new ChatTerminal({
      env: {
        GEMINI_API_KEY: 'key-of-the-bench',
        GOOGLE_GEMINI_BASE_URL: server.url,
        COLAB_SOLVER_HOME: home,
      },
    });
    await terminal.shows(/\/help/);
    const atRest = await keyTimes(terminal, count, 'r');
    terminal.say('Flood me.');
    await terminal.shows(/running · \d+\.\d s · [\d,]+ lines/);
    const before = linesSeen(terminal.text);
    const began = performance.now();
    const flooded = await keyTimes(terminal, count, 'f');
    const rate = (linesSeen(terminal.text) - before) / ((performance.now() - began) / 1000);
    print('at rest', atRest);
    print(`with ${Math.round(rate).toLocaleString('en-US')} lines a second`, flooded);
    const isFlooded = rate > 0.9 * LINES_PER_SECOND;
    if (!isFlooded) console.log(`The script did not get to ${LINES_PER_SECOND} lines a second.`);
    return isFlooded && at(flooded, 0.95) < GOAL_MS;
  } finally {
    await server.close();
    await rm(home, { recursive: true, force: true });
  }
}

async function keyTimes(terminal: ChatTerminal, count: number, mark: string): Promise<number[]> {
  const times: number[] = [];
  for (let line = 0; times.length < count; line += 1) {
    let typed = `${mark}${line}-`;
    terminal.type(typed);
    await terminal.writes(new RegExp(`› ${typed}`));
    for (const letter of LETTERS.slice(0, count - times.length)) {
      await sleep(PAUSES_MS[times.length % PAUSES_MS.length]);
      typed += letter;
      const pressed = performance.now();
      terminal.type(letter);
      await terminal.writes(new RegExp(`› ${typed}`));
      times.push(performance.now() - pressed);
    }
    terminal.type(CTRL_U);
  }
  return times;
}

function linesSeen(screen: string): number {
  const count = /running · .* · ([\d,]+) lines/.exec(screen)?.[1];
  return Number(count?.replaceAll(',', ''));
}

function at(times: readonly number[], share: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
}

function print(name: string, times: readonly number[]): void {
  const figure = (share: number): string => at(times, share).toFixed(1).padStart(6);
  console.log(
    `typing ${name}`.padEnd(40),
    `median ${figure(0.5)} ms`,
    `p95 ${figure(0.95)} ms`,
    `most ${figure(1)} ms`,
  );
}
