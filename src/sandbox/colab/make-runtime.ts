import { z } from 'zod';
import { ConfigError, InternalError, SandboxError } from '../../errors.js';
import type { RetryPolicy } from '../../retry.js';
import { readFailure } from '../failure.js';
import type { Ledger, Noted, RuntimeEntry } from '../ledger.js';
import { toSandboxError } from '../sandbox-errors.js';
import { specText } from './accelerator-wish.js';
import type { AcceleratorWish } from './accelerator-wish.js';
import { callSafely } from './call-safely.js';
import type { McpConnection } from './mcp-connection.js';
import type { Runtime, RuntimeKey, RuntimeSpec } from './tool-results.js';
import { CreatedRuntimeSchema, RuntimeSchema, RuntimeSpecListSchema } from './tool-results.js';

export interface RuntimeCalls {
  connection: McpConnection;
  /** Where what we make is noted; absent where it ends with this process anyway. */
  ledger?: Ledger | undefined;
  policy: RetryPolicy;
  signal?: AbortSignal | undefined;
  onNotice?: ((text: string) => void) | undefined;
}

export interface NewRuntimeWish {
  accelerators: AcceleratorWish;
  /** Label of the image, such as `2026.07`; absent: the newest. */
  version?: string | undefined;
  /** UUID for the first that is tried; the same one never makes two. Default a fresh one. */
  requestId?: string | undefined;
}

/**
 * Makes a runtime of the first spec that can be had. `unfinished` is what a process that has gone had asked for: its call is
 * repeated as it was, so that one wish never makes two machines.
 */
export async function makeRuntime(
  wish: NewRuntimeWish,
  unfinished: RuntimeEntry | undefined,
  calls: RuntimeCalls,
): Promise<Runtime> {
  if (unfinished !== undefined) {
    try {
      return await create(unfinished, calls);
    } catch (error) {
      if (!cannotBeHad(error)) throw error;
    }
  }
  const specs = await eligibleSpecs(wish, calls);
  const plans = specs.map((spec, index) => {
    const requestId = index === 0 ? wish.requestId : undefined;
    return planFor(spec, wish.version, requestId ?? crypto.randomUUID(), calls.connection.url);
  });
  return walk(plans, calls);
}

type Plan = Noted<RuntimeEntry>;

/** The runtime's id follows from the request's, so that its name is known before it is made. */
function planFor(
  runtimeSpec: RuntimeKey,
  version: string | undefined,
  requestId: string,
  url: string,
): Plan {
  return {
    kind: 'runtime',
    url,
    name: `runtimes/${runtimeIdOf(requestId)}`,
    requestId,
    runtimeSpec,
    ...(version !== undefined && { version }),
    isMade: false,
  };
}

function runtimeIdOf(requestId: string): string {
  return `cs-${requestId.toLowerCase()}`;
}

/** What the server has, and what of it the account may have. */
export async function listSpecs({
  connection,
  ...options
}: Pick<RuntimeCalls, 'connection' | 'policy' | 'signal'>): Promise<RuntimeSpec[]> {
  const schema = RuntimeSpecListSchema;
  return (await callSafely(connection, 'list_runtime_specs', {}, schema, options)).runtimeSpecs;
}

/** The specs that are wished for and may be had with this account, in the order in which to try them. */
async function eligibleSpecs(
  { accelerators }: NewRuntimeWish,
  calls: RuntimeCalls,
): Promise<RuntimeKey[]> {
  const { connection, onNotice } = calls;
  const eligible = (await listSpecs(calls)).filter((spec) => spec.eligible).map((spec) => spec.key);
  const specs = accelerators.inOrder(eligible);
  const missing = accelerators.missingFrom(eligible).join(', ');
  if (specs.length === 0) {
    const names = [...new Set(eligible.map(specText))].join(', ');
    throw new ConfigError(
      'BAD_OPTION',
      `The accelerator ${accelerators.text} is not to be had on ${connection.url} with this account. Choose one of: ${names}.`,
    );
  }
  if (missing !== '') onNotice?.(`Not to be had with this account: ${missing}.`);
  return specs;
}

async function walk(plans: readonly Plan[], calls: RuntimeCalls): Promise<Runtime> {
  const tried: string[] = [];
  for (let [plan, ...later] = plans; plan !== undefined; [plan, ...later] = later) {
    tried.push(specText(plan.runtimeSpec));
    try {
      return await create(plan, calls);
    } catch (error) {
      later = stillPossible(error, later);
      const [next] = later;
      if (next === undefined) throw noneLeft(error, tried, calls.connection.url);
      calls.onNotice?.(
        `No runtime with ${specText(plan.runtimeSpec)} can be had now; trying ${specText(next.runtimeSpec)}.`,
      );
    }
  }
  throw new InternalError('A runtime was to be made of no spec at all.');
}

/** Used-up usage rules out every accelerator, want of capacity only the one that was asked for. */
function stillPossible(error: unknown, later: Plan[]): Plan[] {
  if (!cannotBeHad(error)) return [];
  if (error.code === 'NO_CAPACITY') return later;
  return later.filter(({ runtimeSpec }) => runtimeSpec.accelerator.toUpperCase() === 'NONE');
}

function cannotBeHad(error: unknown): error is SandboxError {
  return error instanceof SandboxError && ['NO_CAPACITY', 'QUOTA_EXHAUSTED'].includes(error.code);
}

function noneLeft(error: unknown, tried: readonly string[], url: string): unknown {
  if (!cannotBeHad(error) || error.code !== 'NO_CAPACITY' || tried.length === 1) return error;
  return new SandboxError(
    'NO_CAPACITY',
    `create_runtime failed on ${url}: none of ${tried.join(', ')} can be had now. ` +
      'Choose another accelerator (`colab-solver sandbox specs`), or try later.',
    { cause: error, isRetryable: true },
  );
}

/** Noted before it is asked for, and as made once the server says so. */
async function create(plan: Plan, calls: RuntimeCalls): Promise<Runtime> {
  const { connection, ledger, onNotice } = calls;
  onNotice?.(
    `Making a Colab runtime (${specText(plan.runtimeSpec)}) on ${new URL(connection.url).host}.`,
  );
  await ledger?.note(plan);
  try {
    const runtime = await ask(plan, calls);
    await ledger?.note({ ...plan, name: runtime.name, isMade: true });
    return runtime;
  } catch (error) {
    // Otherwise it may be being made all the same, and whoever comes next asks for it again.
    if (wasNotMade(error)) await ledger?.forget(plan);
    else await ledger?.disown(plan);
    throw error;
  }
}

const NOT_MADE = [
  ...['NO_CAPACITY', 'QUOTA_EXHAUSTED', 'TOO_MANY_RUNTIMES', 'ACCOUNT_BLOCKED'],
  ...['INVALID_ARGUMENT', 'ALREADY_EXISTS'],
];

function wasNotMade(error: unknown): boolean {
  return error instanceof SandboxError && NOT_MADE.includes(error.code);
}

async function ask(plan: Plan, calls: RuntimeCalls): Promise<Runtime> {
  const { requestId, runtimeSpec, version } = plan;
  const runtime = { runtimeSpec, ...(version !== undefined && { version }) };
  const request = { runtime, requestId };
  try {
    return await createRuntime({ ...request, runtimeId: runtimeIdOf(requestId) }, calls);
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    if (error.code === 'ALREADY_EXISTS') return existing(plan, error, calls);
    // A refused call made nothing; a server may not let its clients choose ids.
    if (error.code === 'INVALID_ARGUMENT') return createRuntime(request, calls);
    throw error;
  }
}

/** The id is ours alone, so what has it is what an earlier call of ours made. */
async function existing(plan: Plan, cause: SandboxError, calls: RuntimeCalls): Promise<Runtime> {
  const { connection, ...options } = calls;
  const args = { name: plan.name };
  const on = { ...options, on: plan.name };
  const runtime = await callSafely(connection, 'get_runtime', args, RuntimeSchema, on);
  const accelerator = runtime.runtimeSpec?.accelerator ?? 'NONE';
  if (accelerator.toUpperCase() === plan.runtimeSpec.accelerator.toUpperCase()) return runtime;
  throw cause;
}

/** A server waits some minutes for a machine; the same call then waits on. */
const CREATE_ATTEMPTS = 10;

async function createRuntime(args: object, calls: RuntimeCalls): Promise<Runtime> {
  const { connection, ...options } = calls;
  const policy = { ...options.policy, attempts: CREATE_ATTEMPTS };
  const patient = { ...options, policy };
  for (let attempt = 1; ; attempt++) {
    const schema = CreatedRuntimeSchema;
    const created = await callSafely(connection, 'create_runtime', args, schema, patient);
    if (!created.name.startsWith('operations/')) return RuntimeSchema.parse(created);
    if (created.response !== undefined) return created.response;
    if (created.error !== undefined || attempt === CREATE_ATTEMPTS) {
      throw operationError(created.error, connection.url);
    }
  }
}

const OperationErrorSchema = z.looseObject({
  message: z.string().default('it did not become ready'),
});

function operationError(error: unknown, url: string): SandboxError {
  const { message } = OperationErrorSchema.parse(error ?? {});
  const failure = readFailure(Object.assign(new Error(message), { code: 0, data: error }));
  return toSandboxError(failure, { tool: 'create_runtime', on: url, url });
}
