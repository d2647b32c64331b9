import type { z } from 'zod';
import type { OutputChunk } from '../execution.js';
import { StatusError } from './status.js';
import type { ToolName } from './tool-schemas.js';

/** One call of a tool as the endpoint hands it on. */
export interface ToolCall {
  /** Fires with a {@link CallEnd}, when the call shall end before the tool has an answer. */
  readonly signal: AbortSignal;
  /**
   * Sends output as a progress notification and waits while the client's connection is full, at most until `signal`
   * fires; absent where the client wants none.
   */
  readonly sendOutput: ((chunk: OutputChunk, signal: AbortSignal) => Promise<void>) | undefined;
  /** The callback runs once if the call's final message really goes out to the client. */
  whenDelivered(callback: () => void): void;
}

/** Why a call ends early. */
export class CallEnd extends Error {
  readonly why: 'cancelled' | 'client-gone' | 'server-closing';

  constructor(why: 'cancelled' | 'client-gone' | 'server-closing') {
    super(`The call has ended: ${why}.`);
    this.name = 'CallEnd';
    this.why = why;
  }
}

export interface Tool {
  readonly name: ToolName;
  readonly title: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  /** JSON Schemas. */
  readonly inputSchema: Record<string, unknown>;
  readonly outputSchema: Record<string, unknown>;
  /** @throws {StatusError} and whatever else went wrong. */
  call(input: unknown, call: ToolCall): Promise<Record<string, unknown>>;
}

export interface ToolAnnotations {
  destructiveHint: boolean;
  idempotentHint: boolean;
  readOnlyHint: boolean;
  openWorldHint: boolean;
}

/** Parses a tool's arguments; as in proto3 JSON, null is an absent field, and unknown fields are ignored. */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
): z.output<Schema> {
  const given = Object.entries((input ?? {}) as Record<string, unknown>);
  const parsed = schema.safeParse(Object.fromEntries(given.filter(([, value]) => value !== null)));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || 'arguments'}: ${issue.message}`,
  );
  throw new StatusError('INVALID_ARGUMENT', problems.join('; '));
}
