import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { z } from 'zod';

/** A process, told apart from a later one that got the same id. */
export const ProcessIdentitySchema = z.object({
  /** Where process ids count: a machine, or a container on it. */
  machine: z.string(),
  pid: z.number().int().positive(),
  /** Empty where it cannot be found out. */
  startedAt: z.string(),
});
export type ProcessIdentity = z.infer<typeof ProcessIdentitySchema>;

export type Liveness = 'running' | 'gone' | 'elsewhere';

let ours: Promise<ProcessIdentity> | undefined;

export function ownIdentity(): Promise<ProcessIdentity> {
  ours ??= identify();
  return ours;
}

/** `elsewhere`: it ran on another machine, or in another container, so that nobody can know from here. */
export async function livenessOf(identity: ProcessIdentity): Promise<Liveness> {
  const { machine, pid } = await ownIdentity();
  if (identity.machine !== machine) return 'elsewhere';
  if (identity.pid !== pid && !exists(identity.pid)) return 'gone';
  const startedAt = await startOf(identity.pid);
  if (startedAt === undefined) return 'gone';
  const isKnown = startedAt !== '' && identity.startedAt !== '';
  return isKnown && startedAt !== identity.startedAt ? 'gone' : 'running';
}

async function identify(): Promise<ProcessIdentity> {
  const { pid } = process;
  return { machine: await machineId(), pid, startedAt: (await startOf(pid)) ?? '' };
}

/** A home folder can be shared by machines and by containers, whose process ids mean different processes. */
async function machineId(): Promise<string> {
  const [id, namespace] = await Promise.all([
    readFile('/etc/machine-id', 'utf8').catch(() => ''),
    readlink('/proc/self/ns/pid').catch(() => ''),
  ]);
  // Elsewhere than on Linux the rest of the name changes with the network.
  const name = process.platform === 'linux' ? hostname() : hostname().split('.', 1)[0];
  const facts = JSON.stringify([name, id.trim(), namespace]);
  return createHash('sha256').update(facts).digest('hex').slice(0, 16);
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: there is one, though not ours.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Undefined where there is no such process, or only what is left of one that nobody has waited for. */
function startOf(pid: number): Promise<string | undefined> {
  return process.platform === 'linux' ? startOnLinux(pid) : startByPs(pid);
}

const DEAD = /^[ZXx]/;

async function startOnLinux(pid: number): Promise<string | undefined> {
  try {
    const [stat, boot] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    ]);
    // The command, in parentheses, may hold anything; see proc(5): state is field 3, starttime field 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return DEAD.test(fields[0] ?? '') ? undefined : `${boot.trim()} ${fields[19] ?? ''}`;
  } catch (error) {
    return ['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '') && !exists(pid)
      ? undefined
      : '';
  }
}

const PS_TIMEOUT_MS = 5_000;

function startByPs(pid: number): Promise<string | undefined> {
  const args = ['-o', 'stat=,lstart=', '-p', String(pid)];
  // The time is printed as the environment likes it, and must read the same to every process.
  const env = { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' };
  return new Promise((resolve) => {
    execFile('ps', args, { env, timeout: PS_TIMEOUT_MS }, (error, stdout) => {
      const [, state = '', start = ''] = /^\s*(\S+)\s+(.*\S)/.exec(stdout) ?? [];
      if (error !== null || start === '') resolve(exists(pid) ? '' : undefined);
      else resolve(DEAD.test(state) ? undefined : start);
    });
  });
}
