import { execFile } from 'node:child_process';
import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { promisify } from 'node:util';
import { ConfigError } from '../../errors.js';
import type { Isolation, RuntimeOptions } from './runtime.js';
import type { RuntimeFolders } from './runtime-folders.js';

const BUBBLEWRAP = 'bwrap';
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

export interface IsolationCheck {
  isAvailable: boolean;
  /** Why it is not, in a few words. */
  reason: string;
}

let checked: Promise<IsolationCheck> | undefined;

/** Whether bubblewrap works here, found out once a process by really running it. */
export function checkBubblewrap(): Promise<IsolationCheck> {
  checked ??= tryBubblewrap();
  return checked;
}

async function tryBubblewrap(): Promise<IsolationCheck> {
  if (process.platform !== 'linux') {
    return { isAvailable: false, reason: 'bubblewrap is for Linux only' };
  }
  const options = [...systemOptions(false), '--', 'true'];
  try {
    await promisify(execFile)(BUBBLEWRAP, options, { timeout: TEST_TIMEOUT_MS });
    return { isAvailable: true, reason: '' };
  } catch (error) {
    return { isAvailable: false, reason: describeFailure(error) };
  }
}

function describeFailure(error: unknown): string {
  const { code, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string };
  if (code === 'ENOENT') return 'bubblewrap (bwrap) is not installed';
  return `bubblewrap does not work here (${(stderr ?? message).trim()})`;
}

/**
 * Whether to isolate, as asked for.
 * @throws {ConfigError} `ISOLATION_UNAVAILABLE` where it is required and impossible.
 */
export async function chooseIsolation(
  wanted: RuntimeOptions['isolation'],
): Promise<{ isIsolated: boolean; reason: string }> {
  if (wanted === 'none') return { isIsolated: false, reason: 'isolation is switched off' };
  const { isAvailable, reason } = await checkBubblewrap();
  if (wanted === 'required' && !isAvailable) {
    throw new ConfigError(
      'ISOLATION_UNAVAILABLE',
      `Scripts cannot be isolated: ${reason}. ${REMEDY} Or run with --isolation none.`,
    );
  }
  return { isIsolated: isAvailable, reason };
}

export interface DescribeOptions {
  isIsolated: boolean;
  reason: string;
  allowNetwork: boolean;
  /** The runtime cannot look into processes outside, as it says itself. */
  isHidden: boolean;
}

export function describeIsolation(options: DescribeOptions): Isolation {
  const { isIsolated, reason, allowNetwork, isHidden } = options;
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
  const remedy = process.platform === 'linux' ? ` ${REMEDY}` : '';
  return {
    kind: 'none',
    explanation: `not isolated, since ${reason}: scripts can use this user’s files and the network; ${secrecy}.${remedy}`,
  };
}

/** Options that run a command isolated; the command follows them. */
export function bubblewrapArgv(mounts: Mounts, allowNetwork: boolean): string[] {
  const { outside, inside, readOnly } = mounts;
  return [
    BUBBLEWRAP,
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
