import { crc32 } from 'node:zlib';
import { z } from 'zod';
import type { Usage } from '../parts/usage.js';

/** How the run of a sample ended; beside the statuses of a run its own limits, and `error` where something failed. */
export const sampleStatuses = [
  'answered',
  'step-limit',
  'deadline',
  'token-limit',
  'cost-limit',
  'blocked',
  'no-answer',
  'error',
] as const;
export type SampleStatus = (typeof sampleStatuses)[number];

const Count = z.int().nonnegative();

const UsageSchema: z.ZodType<Usage> = z.object({
  promptTokenCount: Count,
  candidatesTokenCount: Count,
  thoughtsTokenCount: Count,
  totalTokenCount: Count,
  requests: Count,
});

const RecordFields = z.object({
  id: z.string(),
  /** From 1. */
  epoch: z.int().positive(),
  status: z.enum(sampleStatuses),
  /** What the grader took for the answer; null where it found none. */
  answer: z.unknown(),
  /** Null where the sample has none. */
  target: z.unknown(),
  /** Null where the sample errored, and where there is nothing to compare with. */
  correct: z.boolean().nullable(),
  /** Why the verdict is what it is, for people. */
  explanation: z.string(),
  /** Only with the status `error`. */
  error: z
    .object({
      code: z.string(),
      message: z.string(),
      /** An answer that could not be graded is there all the same, in the transcript. */
      during: z.enum(['run', 'grading']),
    })
    .exactOptional(),
  /** Name of the grader; null where there is nothing to compare with. */
  grader: z.string().nullable(),
  steps: Count,
  executions: Count,
  /** Scripts by what came of them. */
  outcomes: z.object({ ok: Count, failed: Count, deadlineExceeded: Count }),
  /** Of the run and of the runs before it that failed. */
  usage: UsageSchema,
  /** Of a grader that asks a model; absent where none was asked. */
  gradingUsage: UsageSchema.exactOptional(),
  /** Requests sent again, and whole runs begun again, because a service failed. */
  retries: z.object({ requests: Count, runs: Count }),
  durationMs: z.number().nonnegative(),
  /** Of `durationMs`, waiting for the model. */
  modelMs: z.number().nonnegative(),
  /** Of `durationMs`, running scripts. */
  sandboxMs: z.number().nonnegative(),
  /** Of the sample, for groups in the report. */
  metadata: z.record(z.string(), z.unknown()),
  /** Where its transcript stands: bytes of a file of the batch folder. */
  transcript: z.object({ file: z.string(), start: Count, sizeBytes: Count }),
  /** RFC 3339. */
  finishedAt: z.iso.datetime(),
});

/** What became of one sample in one epoch: a line of `results.jsonl`. */
export type SampleRecord = z.infer<typeof RecordFields>;

/** What a record counts as: an error is no wrong answer, and without a target there is no verdict. */
export type Standing = 'correct' | 'wrong' | 'error' | 'ungraded';

export function standingOf({
  status,
  correct,
}: Pick<SampleRecord, 'status' | 'correct'>): Standing {
  if (status === 'error') return 'error';
  if (correct === null) return 'ungraded';
  return correct ? 'correct' : 'wrong';
}

/** Fields unknown to us stay. */
const SampleRecordSchema = z.looseObject(RecordFields.shape);

/** The record as a line with its checksum: CRC-32 of the line as it would be without, in eight hexadecimal digits. */
export function recordLine(record: SampleRecord): string {
  const body = JSON.stringify(record);
  return `${body.slice(0, -1)},"checksum":"${checksum(body)}"}\n`;
}

/** Undefined for a line that is not whole as it was written. */
export function parseRecordLine(line: string): SampleRecord | undefined {
  const match = /^(.*),"checksum":"([0-9a-f]{8})"\}$/s.exec(line);
  const [, fields, sum] = match ?? [];
  if (fields === undefined || checksum(`${fields}}`) !== sum) return undefined;
  return SampleRecordSchema.safeParse(JSON.parse(`${fields}}`)).data;
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}
