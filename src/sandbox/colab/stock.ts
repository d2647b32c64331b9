import { SandboxError } from '../../errors.js';
import type { Ledger, LedgerEntry } from '../ledger.js';
import { callSafely } from './call-safely.js';
import type { RuntimeCalls } from './make-runtime.js';
import { listRuntimes } from './runtimes.js';
import type { RuntimeKey } from './tool-results.js';
import { PLAIN_KEY, SessionListSchema } from './tool-results.js';

/** Something that is open at an endpoint. */
export interface Stocked {
  name: string;
  state: 'not-ours' | 'in-use' | 'left-behind';
  /** The process of ours that uses it, where that is known. */
  pid: number | undefined;
}

export interface StockedRuntime extends Stocked {
  spec: RuntimeKey;
  /** Label of the image; empty for the newest. */
  version: string;
  sessions: Stocked[];
}

/**
 * The runtimes and sessions that are open at an endpoint, with what the ledger knows of them.
 * @throws {SandboxError} where the endpoint cannot be asked; {@link ConfigError} where the ledger cannot be read.
 */
export async function takeStock(
  calls: RuntimeCalls & { ledger: Ledger },
): Promise<StockedRuntime[]> {
  const { connection, ledger } = calls;
  const entries = (await ledger.entries()).filter(({ url }) => url === connection.url);
  const known = new Map(entries.map((entry) => [entry.name, entry]));
  return Promise.all(
    (await listRuntimes(calls)).map(async ({ name, runtimeSpec, version }) => {
      const sessions = await sessionsOf(name, calls);
      return {
        ...(await stocked(name, known.get(name), ledger)),
        spec: runtimeSpec ?? PLAIN_KEY,
        version,
        sessions: await Promise.all(
          sessions.map((session) => stocked(session, known.get(session), ledger)),
        ),
      };
    }),
  );
}

async function stocked(
  name: string,
  entry: LedgerEntry | undefined,
  ledger: Ledger,
): Promise<Stocked> {
  if (entry === undefined) return { name, state: 'not-ours', pid: undefined };
  const isLeftBehind = await ledger.isLeftBehind(entry);
  return {
    name,
    state: isLeftBehind ? 'left-behind' : 'in-use',
    pid: isLeftBehind ? undefined : entry.owner?.pid,
  };
}

/** Names of the sessions on a runtime; none where it has gone meanwhile. */
export async function sessionsOf(
  parent: string,
  { connection, ...options }: RuntimeCalls,
): Promise<string[]> {
  const on = { ...options, on: parent };
  try {
    const schema = SessionListSchema;
    const { sessions } = await callSafely(connection, 'list_sessions', { parent }, schema, on);
    return sessions.map(({ name }) => name);
  } catch (error) {
    if (error instanceof SandboxError && error.code === 'NOT_FOUND') return [];
    throw error;
  }
}
