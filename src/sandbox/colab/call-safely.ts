import type { z } from 'zod';
import { SandboxError } from '../../errors.js';
import type { RetryPolicy } from '../../retry.js';
import { retry } from '../../retry.js';
import { FailedCall } from '../failure.js';
import { toSandboxError } from '../sandbox-errors.js';
import type { McpConnection } from './mcp-connection.js';

export interface SafeCallOptions {
  policy: RetryPolicy;
  signal?: AbortSignal | undefined;
  /** What the call is about, for the error message; default the server's URL. */
  on?: string;
  /** Retries it even where the connection has used up what may be retried. Default false. */
  isUrgent?: boolean;
}

/**
 * Calls a tool that may be repeated without harm, which is every one but execute_code, and reads its result.
 * @throws {SandboxError}
 */
export async function callSafely<T extends z.ZodType>(
  connection: McpConnection,
  tool: string,
  args: object,
  schema: T,
  options: SafeCallOptions,
): Promise<z.output<T>> {
  const { policy, signal, on = connection.url, isUrgent = false } = options;
  const isRetryable = (error: unknown): boolean =>
    mayPass(error) && (isUrgent || connection.limiter.takeRetry());
  const payload = await retry(
    async () => {
      try {
        return await connection.callTool(tool, args, { signal });
      } catch (error) {
        if (!(error instanceof FailedCall)) throw error;
        throw toSandboxError(error.failure, { tool, on, url: connection.url });
      }
    },
    { policy, signal, isRetryable },
  );
  const parsed = schema.safeParse(payload);
  if (parsed.success) return parsed.data;
  throw new SandboxError(
    'NOT_COLAB',
    `${tool} of ${connection.url} gave a result of an unknown form. Check that the URL is a Colab MCP server.`,
    { cause: parsed.error },
  );
}

function mayPass(error: unknown): boolean {
  return (
    error instanceof SandboxError && ['RATE_LIMITED', 'UNAVAILABLE', 'NETWORK'].includes(error.code)
  );
}
