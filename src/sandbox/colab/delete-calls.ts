import { z } from 'zod';
import { SandboxError } from '../../errors.js';
import type { RetryPolicy } from '../../retry.js';
import { callSafely } from './call-safely.js';
import type { McpConnection } from './mcp-connection.js';

interface DeleteOptions {
  policy: RetryPolicy;
  signal?: AbortSignal | undefined;
}

/** False where it was gone already, which is as good. */
export function deleteSession(
  connection: McpConnection,
  name: string,
  options: DeleteOptions,
): Promise<boolean> {
  return remove(connection, 'delete_session', name, options);
}

/** False where it was gone already, which is as good. */
export function deleteRuntime(
  connection: McpConnection,
  name: string,
  options: DeleteOptions,
): Promise<boolean> {
  return remove(connection, 'delete_runtime', name, options);
}

async function remove(
  connection: McpConnection,
  tool: string,
  name: string,
  options: DeleteOptions,
): Promise<boolean> {
  try {
    // What is not deleted costs its owner, so it is worth more tries than other calls.
    const urgent = { ...options, on: name, isUrgent: true };
    await callSafely(connection, tool, { name }, z.unknown(), urgent);
    return true;
  } catch (error) {
    if (error instanceof SandboxError && error.code === 'NOT_FOUND') return false;
    throw error;
  }
}
