import { z } from 'zod';
import type { ExecutionResult, RichOutput } from '../execution.js';

/**
 * Results of Colab's tools. Unknown fields are kept or ignored, empty fields may be absent, 64-bit numbers are strings:
 * that is protobuf's JSON.
 */
const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '');
const number = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d+$/)
    .transform(Number),
]);
const list = <T extends z.ZodType>(item: T): z.ZodType<z.output<T>[]> =>
  z
    .array(item)
    .nullish()
    .transform((value) => value ?? []);

export const RuntimeKeySchema = z.looseObject({
  variant: z.string().default('VARIANT_UNSPECIFIED'),
  accelerator: text.transform((name) => (name === '' ? 'NONE' : name)),
  shape: z.string().default('SHAPE_UNSPECIFIED'),
});
export type RuntimeKey = z.infer<typeof RuntimeKeySchema>;
/** Of a runtime that says nothing of its machine. */
export const PLAIN_KEY: RuntimeKey = RuntimeKeySchema.parse({});

export const ConnectionInfoSchema = z.looseObject({
  url: z.string(),
  token: z.string(),
  expireTime: text,
});
export type ConnectionInfo = z.infer<typeof ConnectionInfoSchema>;

export const RuntimeSchema = z.looseObject({
  name: z.string(),
  runtimeSpec: RuntimeKeySchema.optional(),
  connectionInfo: ConnectionInfoSchema.optional(),
  version: text,
});
export type Runtime = z.infer<typeof RuntimeSchema>;

export const RuntimeListSchema = z.looseObject({ runtimes: list(RuntimeSchema) });

const RuntimeSpecSchema = z.looseObject({
  key: RuntimeKeySchema,
  eligible: z.boolean().default(false),
});
export type RuntimeSpec = z.infer<typeof RuntimeSpecSchema>;

export const RuntimeSpecListSchema = z.looseObject({ runtimeSpecs: list(RuntimeSpecSchema) });

/** A runtime, or the operation that makes one. */
export const CreatedRuntimeSchema = z.looseObject({
  name: z.string(),
  response: RuntimeSchema.optional(),
  error: z.unknown().optional(),
});

export const SessionListSchema = z.looseObject({
  sessions: list(z.looseObject({ name: z.string() })),
});

export const SessionSchema = z.looseObject({ name: z.string() });

const RichOutputSchema = z.looseObject({
  index: number.default(0),
  mimeTypes: list(z.string()),
  filePath: z.string().optional(),
  sizeBytes: number.optional(),
  errorInfo: z
    .looseObject({ reason: z.string().optional(), message: z.string().optional() })
    .optional(),
});

export const ExecuteCodeResultSchema = z.looseObject({
  session: text,
  executionCount: number.default(0),
  stdout: text,
  stderr: text,
  result: text,
  executionError: z.looseObject({ name: text, value: text, traceback: list(z.string()) }).nullish(),
  outputTruncated: z.boolean().default(false),
  richOutputs: list(RichOutputSchema),
});
export type ExecuteCodeResult = z.infer<typeof ExecuteCodeResultSchema>;

export function toExecutionResult(raw: ExecuteCodeResult, durationMs: number): ExecutionResult {
  const base = {
    stdout: raw.stdout,
    stderr: raw.stderr,
    outputTruncated: raw.outputTruncated,
    ...(raw.executionCount > 0 && { executionCount: raw.executionCount }),
    richOutputs: raw.richOutputs.map(toRichOutput),
    durationMs,
  };
  if (raw.executionError === null || raw.executionError === undefined) {
    return { ...base, status: 'ok', value: raw.result };
  }
  const { name, value, traceback } = raw.executionError;
  return { ...base, status: 'failed', error: { name, value, traceback } };
}

function toRichOutput(raw: z.infer<typeof RichOutputSchema>): RichOutput {
  const { index, mimeTypes, filePath, sizeBytes, errorInfo } = raw;
  const error = errorInfo?.message ?? errorInfo?.reason;
  return {
    index,
    mimeTypes,
    ...(filePath !== undefined && { filePath }),
    ...(sizeBytes !== undefined && { sizeBytes }),
    ...(error !== undefined && { error }),
  };
}
