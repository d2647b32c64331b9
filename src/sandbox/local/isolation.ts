import { execFile } from 'node:child_process';
import type { ExecFileException } from 'node:child_process';
import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { promisify } from 'node:util';
import { ConfigError } from '../../errors.js';
import { findProgram } from './python-interpreter.js';
import type { Isolation, RuntimeOptions } from './runtime.js';
import type { RuntimeFolders } from './runtime-folders.js';

const TEST_TIMEOUT_MS = 10_000;
const REMEDY =
  'Install bubblewrap (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap).';

/** `/etc` without anything about this machine's services and accounts beyond what name look-ups want. */
const ETC_FILES = [
  'alternatives',
  'fonts',
  'group',
  'hosts',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'mime.types',
  'nsswitch.conf',
  'passwd',
  'timezone',
];
const ETC_NETWORK_FILES = ['ca-certificates', 'pki', 'protocols', 'resolv.conf', 'services', 'ssl'];
const SYSTEM_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

export interface Mounts {
  outside: RuntimeFolders;
  inside: RuntimeFolders;
  /** Shown read-only at their own paths; those that do not exist are left out. */
  readOnly: string[];
}

export interface BubblewrapCheck {
  isAvailable: boolean;
  /** The program; empty where there is none that works. */
  path: string;
  /** Why not, in a few words; empty where it works. */
  reason: string;
}

let checked: Promise<BubblewrapCheck> | undefined;

/** Whether bubblewrap works here, found out once a process by really running it. */
export function checkBubblewrap(): Promise<BubblewrapCheck> {
  checked ??= tryBubblewrap();
  return checked;
}

async function tryBubblewrap(): Promise<BubblewrapCheck> {
  if (process.platform !== 'linux') return unavailable('bubblewrap is for Linux only');
  const path = await findProgram('bwrap', process.env);
  if (path === undefined) return unavailable('bubblewrap (bwrap) is not installed');
  try {
    const options = [...systemOptions(false), '--', 'true'];
    await promisify(execFile)(path, options, { timeout: TEST_TIMEOUT_MS });
    return { isAvailable: true, path, reason: '' };
  } catch (error) {
    return unavailable(`bubblewrap does not work here (${failureOf(error as ExecFileException)})`);
  }
}

function failureOf({ stderr = '', killed, code, message }: ExecFileException): string {
  if (killed === true) return `no end within ${TEST_TIMEOUT_MS / 1000} s`;
  if (stderr.trim() !== '') return stderr.trim();
  return typeof code === 'number' ? `status ${code}` : message;
}

function unavailable(reason: string): BubblewrapCheck {
  return { isAvailable: false, path: '', reason };
}

export interface IsolationChoice {
  isIsolated: boolean;
  bubblewrapPath: string;
  /** Why not isolated, in a few words. */
  reason: string;
  /** What people can do about it, if they did not want it so. */
  remedy: string;
}

/**
 * Whether to isolate, as asked for.
 * @throws {ConfigError} `ISOLATION_UNAVAILABLE` where it is required and impossible.
 */
export async function chooseIsolation(
  wanted: RuntimeOptions['isolation'],
): Promise<IsolationChoice> {
  if (wanted === 'none') {
    const reason = 'isolation is switched off';
    return { isIsolated: false, bubblewrapPath: '', reason, remedy: '' };
  }
  const { isAvailable, path, reason } = await checkBubblewrap();
  const remedy = process.platform === 'linux' ? REMEDY : '';
  if (wanted === 'required' && !isAvailable) {
    throw new ConfigError(
      'ISOLATION_UNAVAILABLE',
      `Scripts cannot be isolated: ${reason}. ${remedy} Or run with --isolation none.`,
    );
  }
  return { isIsolated: isAvailable, bubblewrapPath: path, reason, remedy };
}

export interface DescribeOptions extends IsolationChoice {
  allowNetwork: boolean;
  /** The runtime cannot look into processes outside, as it says itself. */
  isHidden: boolean;
}

export function describeIsolation(options: DescribeOptions): Isolation {
  const { isIsolated, reason, remedy, allowNetwork, isHidden } = options;
  if (isIsolated) {
    const network = allowNetwork ? 'with network' : 'no network';
    return {
      kind: 'bubblewrap',
      explanation: `bubblewrap: ${network}, read-only system, own /content, /tmp and home`,
    };
  }
  const secrecy = isHidden
    ? 'the environment of other processes is hidden from them'
    : 'they can read the environment of this user’s processes, API keys included';
  const explanation =
    `not isolated, since ${reason}: scripts can use this user’s files and the network; ` +
    `${secrecy}. ${remedy}`;
  return { kind: 'none', explanation: explanation.trim() };
}

/** What goes before a command to have it run isolated. */
export function bubblewrapArgv(path: string, mounts: Mounts, allowNetwork: boolean): string[] {
  const { outside, inside, readOnly } = mounts;
  return [
    path,
    ...systemOptions(allowNetwork),
    ...['--bind', outside.temporary, inside.temporary],
    ...['--bind', outside.home, inside.home],
    ...['--bind', outside.run, inside.run],
    ...['--bind', outside.content, inside.content],
    ...readOnly.flatMap((path) => ['--ro-bind-try', path, path]),
    // What is not mounted from outside is a writable file system of bubblewrap's own.
    ...['--remount-ro', '/'],
    ...['--chdir', inside.content],
    '--',
  ];
}

function systemOptions(allowNetwork: boolean): string[] {
  const etcFiles = allowNetwork ? [...ETC_FILES, ...ETC_NETWORK_FILES] : ETC_FILES;
  return [
    '--unshare-all',
    ...(allowNetwork ? ['--share-net'] : []),
    '--die-with-parent',
    '--new-session',
    ...['--cap-drop', 'ALL'],
    ...['--hostname', 'colab'],
    ...['--ro-bind', '/usr', '/usr'],
    ...SYSTEM_FOLDERS.flatMap(systemFolder),
    ...etcFiles.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...['--proc', '/proc', '--dev', '/dev'],
  ];
}

/** On most systems `/bin` and its like are links into `/usr`. */
function systemFolder(path: string): string[] {
  if (!existsSync(path)) return [];
  if (lstatSync(path).isSymbolicLink()) return ['--symlink', readlinkSync(path), path];
  return ['--ro-bind', path, path];
}
