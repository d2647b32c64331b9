import { z } from 'zod';
import { ConfigError, SandboxError } from '../../errors.js';
import type { RetryPolicy } from '../../retry.js';
import { FailedCall, readFailure } from '../failure.js';
import { toSandboxError } from '../sandbox-errors.js';
import { callSafely } from './call-safely.js';
import type { McpConnection } from './mcp-connection.js';
import type { Runtime, RuntimeKey } from './tool-results.js';
import {
  CreatedRuntimeSchema,
  RuntimeListSchema,
  RuntimeSchema,
  RuntimeSpecListSchema,
} from './tool-results.js';

export interface RuntimeWish {
  /** `runtimes/{id}` or the id alone: this one or none. */
  runtime?: string | undefined;
  /** Such as `T4`; `NONE` for a plain machine. */
  accelerator: string;
  /** Label of the image, such as `2026.07`; absent takes any that is there, or the newest. */
  version?: string | undefined;
  /** UUID of the wish to have one more runtime: the same one never makes two. */
  requestId: string;
}

export interface FoundRuntime {
  runtime: Runtime;
  wasCreated: boolean;
}

interface RuntimeCallOptions {
  policy: RetryPolicy;
  signal?: AbortSignal | undefined;
  onNotice?: ((text: string) => void) | undefined;
}

/** A listed runtime that fits, else a new one. The listing is also the probe: connecting alone proves nothing. */
export async function findRuntime(
  connection: McpConnection,
  wish: RuntimeWish,
  options: RuntimeCallOptions,
): Promise<FoundRuntime> {
  const { runtimes } = await callSafely(
    connection,
    'list_runtimes',
    {},
    RuntimeListSchema,
    options,
  );
  const listed =
    wish.runtime === undefined
      ? runtimes.find((runtime) => fits(runtime, wish))
      : namedRuntime(runtimes, wish.runtime, connection.url);
  if (listed !== undefined) return { runtime: listed, wasCreated: false };
  const runtimeSpec = await eligibleSpec(connection, wish.accelerator, options);
  options.onNotice?.(
    `Making a Colab runtime (${runtimeSpec.accelerator}) on ${new URL(connection.url).host}.`,
  );
  const runtime = await createRuntime(connection, { ...wish, runtimeSpec }, options);
  return { runtime, wasCreated: true };
}

function namedRuntime(runtimes: Runtime[], wanted: string, url: string): Runtime {
  const name = wanted.startsWith('runtimes/') ? wanted : `runtimes/${wanted}`;
  const found = runtimes.find((runtime) => runtime.name === name);
  if (found !== undefined) return found;
  const names = runtimes.map((runtime) => runtime.name).join(', ');
  throw new SandboxError(
    'NOT_FOUND',
    `No runtime ${name} on ${url}. Use ${names === '' ? 'none, so that one is made' : `one of: ${names}`}.`,
  );
}

function fits(runtime: Runtime, wish: RuntimeWish): boolean {
  const accelerator = runtime.runtimeSpec?.accelerator ?? 'NONE';
  return (
    accelerator.toUpperCase() === wish.accelerator.toUpperCase() &&
    (wish.version === undefined || runtime.version === wish.version)
  );
}

/** The smallest shape that the account may have with this accelerator. */
async function eligibleSpec(
  connection: McpConnection,
  accelerator: string,
  options: RuntimeCallOptions,
): Promise<RuntimeKey> {
  const schema = RuntimeSpecListSchema;
  const { runtimeSpecs } = await callSafely(connection, 'list_runtime_specs', {}, schema, options);
  const eligible = runtimeSpecs.filter((spec) => spec.eligible).map((spec) => spec.key);
  const matching = eligible.filter(
    (key) => key.accelerator.toUpperCase() === accelerator.toUpperCase(),
  );
  const chosen = matching.find((key) => key.shape === 'SHAPE_STANDARD') ?? matching[0];
  if (chosen !== undefined) return chosen;
  const names = [...new Set(eligible.map((key) => key.accelerator))].join(', ');
  throw new ConfigError(
    'BAD_OPTION',
    `The accelerator ${accelerator} is not to be had on ${connection.url} with this account. Choose one of: ${names}.`,
  );
}

/** A server waits some minutes for a machine; the same call then waits on. */
const CREATE_ATTEMPTS = 10;

async function createRuntime(
  connection: McpConnection,
  wish: { runtimeSpec: RuntimeKey; version?: string | undefined; requestId: string },
  options: RuntimeCallOptions,
): Promise<Runtime> {
  const { runtimeSpec, version, requestId } = wish;
  const runtime = { runtimeSpec, ...(version !== undefined && { version }) };
  const policy = { ...options.policy, attempts: CREATE_ATTEMPTS };
  const args = { runtime, requestId };
  for (let attempt = 1; ; attempt++) {
    const created = await callSafely(connection, 'create_runtime', args, CreatedRuntimeSchema, {
      ...options,
      policy,
    });
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
  return toSandboxError(new FailedCall(failure).failure, { tool: 'create_runtime', on: url, url });
}
