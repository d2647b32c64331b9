import { SandboxError } from '../../errors.js';
import type { LedgerEntry, RuntimeEntry } from '../ledger.js';
import { specText } from './accelerator-wish.js';
import { callSafely } from './call-safely.js';
import { makeRuntime } from './make-runtime.js';
import type { NewRuntimeWish, RuntimeCalls } from './make-runtime.js';
import type { Runtime } from './tool-results.js';
import { PLAIN_KEY, RuntimeListSchema } from './tool-results.js';

export interface RuntimeWish extends NewRuntimeWish {
  /** `runtimes/{id}` or the id alone: this one or none. */
  runtime?: string | undefined;
}

export interface FoundRuntime {
  runtime: Runtime;
  /** Whether it is there because of this call. */
  wasCreated: boolean;
}

/**
 * A listed runtime that fits, else a new one. The listing is also the probe: connecting alone proves nothing.
 * @throws {ConfigError} where no eligible spec is wished for; {@link SandboxError} otherwise.
 */
export async function findRuntime(wish: RuntimeWish, calls: RuntimeCalls): Promise<FoundRuntime> {
  const listed = await listRuntimes(calls);
  if (wish.runtime !== undefined) {
    const runtime = namedRuntime(listed, wish.runtime, calls.connection.url);
    return { runtime, wasCreated: false };
  }
  const noted = await notedRuntimes(calls);
  const best = bestOf(listed, wish);
  if (best !== undefined) return takeListed(best, noted, calls);
  try {
    const unfinished = noted.find((entry) => !entry.isMade && fits(entry, wish));
    return { runtime: await makeRuntime(wish, unfinished, calls), wasCreated: true };
  } catch (error) {
    if (!(error instanceof SandboxError) || error.code !== 'TOO_MANY_RUNTIMES') throw error;
    return { runtime: await insteadOfOneMore(wish, error, calls), wasCreated: false };
  }
}

export async function listRuntimes({ connection, ...options }: RuntimeCalls): Promise<Runtime[]> {
  const schema = RuntimeListSchema;
  const { runtimes } = await callSafely(connection, 'list_runtimes', {}, schema, options);
  return runtimes;
}

function namedRuntime(runtimes: readonly Runtime[], wanted: string, url: string): Runtime {
  const name = wanted.startsWith('runtimes/') ? wanted : `runtimes/${wanted}`;
  const found = runtimes.find((runtime) => runtime.name === name);
  if (found !== undefined) return found;
  const names = runtimes.map((runtime) => runtime.name).join(', ');
  throw new SandboxError(
    'NOT_FOUND',
    `No runtime ${name} on ${url}. Use ${names === '' ? 'none, so that one is made' : `one of: ${names}`}.`,
  );
}

/** The runtime that the wish names first; of equals the first. */
function bestOf(runtimes: readonly Runtime[], wish: RuntimeWish): Runtime | undefined {
  const rank = ({ runtimeSpec = PLAIN_KEY }: Runtime): number =>
    wish.accelerators.rankOf(runtimeSpec) ?? Number.POSITIVE_INFINITY;
  const fitting = runtimes.filter((runtime) => fits(runtime, wish));
  return fitting.sort((a, b) => rank(a) - rank(b))[0];
}

function fits(
  {
    runtimeSpec = PLAIN_KEY,
    version,
  }: Pick<Runtime, 'runtimeSpec'> & { version?: string | undefined },
  wish: RuntimeWish,
): boolean {
  return (
    wish.accelerators.rankOf(runtimeSpec) !== undefined &&
    (wish.version === undefined || version === wish.version)
  );
}

/** The runtimes at this endpoint that processes of ours asked for and left behind. */
async function notedRuntimes({ connection, ledger }: RuntimeCalls): Promise<RuntimeEntry[]> {
  // A ledger that cannot be read says so when something is noted in it.
  const entries = (await ledger?.entries().catch(() => [])) ?? [];
  const left: RuntimeEntry[] = [];
  for (const entry of entries) {
    const isHere = entry.kind === 'runtime' && entry.url === connection.url;
    if (isHere && (await ledger?.isLeftBehind(entry)) === true) left.push(entry);
  }
  return left;
}

/** One that was asked for by a process that did not live to see it is taken as made by this one. */
async function takeListed(
  runtime: Runtime,
  noted: readonly RuntimeEntry[],
  { ledger }: RuntimeCalls,
): Promise<FoundRuntime> {
  const entry = noted.find(({ name }) => name === runtime.name);
  if (entry === undefined) return { runtime, wasCreated: false };
  await ledger?.note({ ...entry, isMade: true });
  return { runtime, wasCreated: !entry.isMade };
}

/** There are as many as there may be. One that fits may have come meanwhile; else a person has to choose. */
async function insteadOfOneMore(
  wish: RuntimeWish,
  cause: SandboxError,
  calls: RuntimeCalls,
): Promise<Runtime> {
  const listed = await listRuntimes(calls);
  const best = bestOf(listed, wish);
  if (best !== undefined) return best;
  const { url } = calls.connection;
  const entries = (await calls.ledger?.entries().catch(() => [])) ?? [];
  const ours = listed.filter(({ name }) => entries.some((entry) => isRuntime(entry, url, name)));
  const open = listed.map(
    (runtime) =>
      `${runtime.name} (${[specText(runtime.runtimeSpec ?? PLAIN_KEY), ...(ours.includes(runtime) ? ['made by us'] : [])].join(', ')})`,
  );
  const remedy =
    ours.length === 0
      ? 'or delete one in Colab'
      : 'or delete what we made and nobody uses with `colab-solver sandbox clean --runtimes`';
  throw new SandboxError(
    'TOO_MANY_RUNTIMES',
    `create_runtime failed on ${url}: the account has as many runtimes as it may, ${
      open.length === 0 ? 'though none is listed' : `namely ${open.join(', ')}`
    }. Use one of them with --runtime <name>, ${remedy}.`,
    { cause },
  );
}

function isRuntime(entry: LedgerEntry, url: string, name: string): boolean {
  return entry.kind === 'runtime' && entry.url === url && entry.name === name;
}
