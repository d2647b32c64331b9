import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readLineAt, readLines } from '../agent/json-lines.js';
import { parseRecordedRun } from '../agent/recorded-run.js';
import type { RecordedRun } from '../agent/recorded-run.js';
import { ConfigError } from '../errors.js';
import { batchFiles } from './batch-folder.js';
import { parseRecordLine } from './sample-record.js';
import type { SampleRecord } from './sample-record.js';

/** What is left of a write that a killed process had begun. */
export interface TornEnd {
  /** Line at which it begins, from 1. */
  number: number;
  /** Byte at which the sound part ends. */
  start: number;
}

/**
 * The records of a batch folder, one at a time, in the order in which they were finished. A torn end is left out and
 * returned; it never counted.
 * @throws {ConfigError} `BAD_JOURNAL` naming a damaged line that others follow.
 */
export async function* readResults(
  folder: string,
  options: { signal?: AbortSignal | undefined } = {},
): AsyncGenerator<SampleRecord, TornEnd | undefined, undefined> {
  const path = join(folder, batchFiles.journal);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  const { signal } = options;
  let torn: TornEnd | undefined;
  for await (const line of readLines(path, { isLenient: true, ...(signal && { signal }) })) {
    const isWhole = line.start + line.sizeBytes < found.size;
    const record = isWhole ? parseRecordLine(line.text) : undefined;
    if (record === undefined) torn ??= { number: line.number, start: line.start };
    else if (torn !== undefined) throw damaged(path, torn.number);
    else yield record;
  }
  return torn;
}

/** The transcript that belongs to a record. @throws {ConfigError} `BAD_RECORDED_RUN`, `UNREADABLE_FILE`. */
export async function readTranscript(
  folder: string,
  { transcript: { file, start, sizeBytes }, id }: Pick<SampleRecord, 'id' | 'transcript'>,
): Promise<RecordedRun> {
  const path = join(folder, file);
  const text = await readLineAt(path, { number: 0, start, sizeBytes });
  const run = parseRecordedRun({ text, number: 0 }, path);
  if (run.id === id) return run;
  throw new ConfigError(
    'BAD_JOURNAL',
    `${path} holds the transcript of "${run.id}" where that of "${id}" belongs. Begin anew in another folder, or with --force-new.`,
  );
}

function damaged(path: string, lineNumber: number): ConfigError {
  return new ConfigError(
    'BAD_JOURNAL',
    `${path}, line ${lineNumber} is damaged, though lines follow it. Put a copy of the file back, or delete that line: ` +
      'its sample will be run again.',
  );
}
