import { SandboxError } from '../../errors.js';
import type { RetryPolicy } from '../../retry.js';
import type { Ledger, LedgerEntry, RuntimeEntry, SessionEntry } from '../ledger.js';
import { deleteRuntime, deleteSession } from './delete-calls.js';
import type { McpConnection } from './mcp-connection.js';
import { listRuntimes } from './runtimes.js';
import { sessionsOf } from './stock.js';

export interface LeftBehindCalls {
  connection: McpConnection;
  ledger: Ledger;
  policy: RetryPolicy;
  signal?: AbortSignal | undefined;
}

/** What became of one thing that a process of ours left behind. */
export type Clearing = Pick<LedgerEntry, 'kind' | 'name'> &
  (
    | { outcome: 'deleted' | 'gone' }
    /** `users`: sessions on a runtime that are not ours to close. Without them: runtimes were not asked for. */
    | { outcome: 'kept'; users?: string[] }
    | { outcome: 'failed'; error: SandboxError }
  );

/** A call that made a session may arrive after the one that deletes it, when its maker was killed just then. */
const MAY_APPEAR_MS = 60_000;
/** The same of a runtime, which takes minutes. */
const RUNTIME_MAY_APPEAR_MS = 600_000;

/**
 * Deletes at one endpoint what processes of ours that have gone left there, and only that; runtimes where `withRuntimes` says
 * so and nobody else has a session on them.
 * @throws {SandboxError} where the endpoint cannot be asked; {@link ConfigError} where the ledger cannot be read.
 */
export async function* clearLeftBehind(
  calls: LeftBehindCalls,
  { withRuntimes }: { withRuntimes: boolean },
): AsyncGenerator<Clearing, void, undefined> {
  const left = await leftBehind(calls);
  if (left.length === 0) return;
  const listed = await listedNames(calls);
  for (const entry of left) {
    if (entry.kind === 'session') yield await clear(entry, listed, calls, clearSession);
  }
  const clearOne = withRuntimes ? clearRuntime : keepRuntime;
  for (const entry of left) {
    if (entry.kind === 'runtime') yield await clear(entry, listed, calls, clearOne);
  }
}

/** Sessions only, on runtimes that are there; the first failure ends it, and the next run goes on. Never fails. */
export async function clearQuietly(calls: LeftBehindCalls): Promise<void> {
  try {
    await calls.ledger.sweep();
    const left = (await leftBehind(calls)).filter(isSession);
    if (left.length === 0) return;
    const listed = await listedNames(calls);
    // One whose runtime is not listed may be another account's.
    for (const entry of left.filter(({ name }) => listed.has(runtimeOf(name)))) {
      await clearSession(entry, listed, calls);
    }
  } catch {
    // The entries stay, and with them the chance to try again.
  }
}

/** Whether a running process, or another sandbox of this one, has sessions of ours on a runtime. */
export async function isUsedByOthers(
  runtime: string,
  holder: string,
  url: string,
  ledger: Ledger,
): Promise<boolean> {
  for (const entry of await ledger.entries().catch(() => [])) {
    const isElsewhere = entry.kind !== 'session' || entry.url !== url || entry.holder === holder;
    if (isElsewhere || runtimeOf(entry.name) !== runtime) continue;
    if (!(await ledger.isLeftBehind(entry))) return true;
  }
  return false;
}

async function leftBehind({ connection, ledger }: LeftBehindCalls): Promise<LedgerEntry[]> {
  const left: LedgerEntry[] = [];
  for (const entry of await ledger.entries()) {
    if (entry.url === connection.url && (await ledger.isLeftBehind(entry))) left.push(entry);
  }
  return left;
}

async function listedNames(calls: LeftBehindCalls): Promise<Set<string>> {
  return new Set((await listRuntimes(calls)).map(({ name }) => name));
}

type Clear<Entry> = (
  entry: Entry,
  listed: ReadonlySet<string>,
  calls: LeftBehindCalls,
) => Promise<Clearing>;

/** What fails with one entry need not with the next. */
async function clear<Entry extends LedgerEntry>(
  entry: Entry,
  listed: ReadonlySet<string>,
  calls: LeftBehindCalls,
  clearOne: Clear<Entry>,
): Promise<Clearing> {
  try {
    return await clearOne(entry, listed, calls);
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    return { kind: entry.kind, name: entry.name, outcome: 'failed', error };
  }
}

async function clearSession(
  entry: SessionEntry,
  listed: ReadonlySet<string>,
  { connection, ledger, ...options }: LeftBehindCalls,
): Promise<Clearing> {
  const isOpen =
    listed.has(runtimeOf(entry.name)) && (await deleteSession(connection, entry.name, options));
  if (isOpen || ledger.ageMs(entry) > MAY_APPEAR_MS) await ledger.forget(entry);
  return { kind: 'session', name: entry.name, outcome: isOpen ? 'deleted' : 'gone' };
}

async function clearRuntime(
  entry: RuntimeEntry,
  listed: ReadonlySet<string>,
  calls: LeftBehindCalls,
): Promise<Clearing> {
  const { connection, ledger, ...options } = calls;
  const { kind, name } = entry;
  if (listed.has(name)) {
    // Whose they are does not matter: ours that were left behind are closed by now.
    const users = await sessionsOf(name, calls);
    if (users.length > 0) return { kind, name, outcome: 'kept', users };
  }
  const isOpen = listed.has(name) && (await deleteRuntime(connection, name, options));
  const isKnownEnd = isOpen || entry.isMade || ledger.ageMs(entry) > RUNTIME_MAY_APPEAR_MS;
  if (isKnownEnd) await ledger.forget(entry);
  return { kind, name, outcome: isOpen ? 'deleted' : 'gone' };
}

async function keepRuntime(
  entry: RuntimeEntry,
  listed: ReadonlySet<string>,
  calls: LeftBehindCalls,
): Promise<Clearing> {
  if (!listed.has(entry.name)) return clearRuntime(entry, listed, calls);
  return { kind: 'runtime', name: entry.name, outcome: 'kept' };
}

function isSession(entry: LedgerEntry): entry is SessionEntry {
  return entry.kind === 'session';
}

function runtimeOf(sessionName: string): string {
  return sessionName.split('/').slice(0, 2).join('/');
}
