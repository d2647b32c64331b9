import { z } from 'zod';
import { ConfigError } from '../errors.js';
import { pairExecutions } from '../parts/code-part.js';
import { ContentSchema } from '../parts/content.js';
import type { CodeExecutionResult } from '../parts/part.js';
import { readLines } from './json-lines.js';
import type { FileLine } from './json-lines.js';

/** A run as it is stored, one JSON object a line; fields unknown to us stay. */
export const RecordedRunSchema = z.looseObject({
  id: z.union([z.string().min(1), z.number().transform(String)]),
  prompt: z.string(),
  /** The reference answer. */
  target: z.unknown().exactOptional(),
  /** The user's prompt, then what the model said and did, in the order in which it happened. */
  contents: z.array(ContentSchema),
  metadata: z.record(z.string(), z.unknown()).exactOptional(),
});

export type RecordedRun = z.infer<typeof RecordedRunSchema>;

/** A piece of code of a run and what it came to when it was recorded. */
export interface RecordedExecution {
  code: string;
  /** Of the code, where it was recorded. */
  id?: string;
  /** Empty where the recording ends before. */
  results: CodeExecutionResult[];
}

/**
 * The runs of a JSONL file, one at a time; memory does not grow with the file.
 * @throws {ConfigError} `UNREADABLE_FILE`, `BAD_RECORDED_RUN` (with line and field); the signal's reason when cancelled.
 */
export async function* readRecordedRuns(
  path: string,
  options: { signal?: AbortSignal } = {},
): AsyncGenerator<RecordedRun, void, undefined> {
  for await (const line of readLines(path, options)) yield parseRecordedRun(line, path);
}

/** @throws {ConfigError} `BAD_RECORDED_RUN` with the line and the field at fault. */
export function parseRecordedRun(
  { text, number }: Pick<FileLine, 'text' | 'number'>,
  path: string,
): RecordedRun {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw badRun(path, number, `it is no JSON (${String(error)})`, error);
  }
  const run = RecordedRunSchema.safeParse(json);
  if (run.success) return run.data;
  const [issue] = run.error.issues;
  const field = issue?.path.join('.') ?? '';
  throw badRun(
    path,
    number,
    `${field || 'the line'}: ${issue?.message ?? 'unreadable'}`,
    run.error,
  );
}

/** The run as a line to append to a file, with its line break. */
export function recordedRunLine(run: RecordedRun): string {
  return `${JSON.stringify(run)}\n`;
}

/** The scripts of a run in the order in which they ran, with their recorded results. */
export function recordedExecutions(run: RecordedRun): RecordedExecution[] {
  const parts = run.contents.flatMap((content) => content.parts);
  return pairExecutions(parts).executions.map(({ code, results }) => {
    const { code: source, id } = code.executableCode;
    return {
      code: source,
      ...(id !== undefined && { id }),
      results: results.map((part) => part.codeExecutionResult),
    };
  });
}

function badRun(path: string, lineNumber: number, why: string, cause: unknown): ConfigError {
  return new ConfigError(
    'BAD_RECORDED_RUN',
    `${path}, line ${lineNumber} is no recorded run: ${why}. ` +
      'Each line must be {"id", "prompt", "contents", …} with contents as Gemini has them.',
    { cause },
  );
}
