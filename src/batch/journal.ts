import { mkdir, open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { BatchError, ConfigError } from '../errors.js';
import { batchFiles, syncFolder, TRANSCRIPT_FILE } from './batch-folder.js';
import { readResults } from './journal-reading.js';
import { recordLine } from './sample-record.js';
import type { SampleRecord } from './sample-record.js';

/** A record before it is known where its transcript will stand. */
export type UnplacedRecord = Omit<SampleRecord, 'transcript'>;

export interface JournalOptions {
  /** Told of each record that is there already. */
  onRecord?: (record: SampleRecord) => void;
  onNotice?: ((text: string) => void) | undefined;
}

interface Entry {
  record: UnplacedRecord;
  transcript: Buffer;
  resolve: (record: SampleRecord) => void;
  reject: (error: Error) => void;
}

/** Bytes of transcripts that are written in one go. */
const MAX_GROUP_BYTES = 8_000_000;

/**
 * The only writer of results. A record counts when its line is on disk, and its transcript is there before; many that come
 * together share the two waits for the disk. At whatever byte the process is killed, opening it again finds
 * whole records and cuts off the rest.
 */
export class Journal implements AsyncDisposable {
  readonly #folder: string;
  readonly #results: FileHandle;
  readonly #transcripts: FileHandle;
  #end: number;
  readonly #pending: Entry[] = [];
  #pendingBytes = 0;
  #commits: Promise<void> | undefined;
  #failure: Error | undefined;

  private constructor(
    folder: string,
    files: { results: FileHandle; transcripts: FileHandle },
    end: number,
  ) {
    this.#folder = folder;
    this.#results = files.results;
    this.#transcripts = files.transcripts;
    this.#end = end;
  }

  /** @throws {ConfigError} `BAD_JOURNAL`; `BatchError` where the folder cannot be written. */
  static async open(folder: string, options: JournalOptions = {}): Promise<Journal> {
    let end = 0;
    const records = readResults(folder);
    let next = await records.next();
    for (; next.done !== true; next = await records.next()) {
      const { start, sizeBytes } = next.value.transcript;
      end = Math.max(end, start + sizeBytes + 1);
      options.onRecord?.(next.value);
    }
    const torn = next.value;
    try {
      await mkdir(join(folder, batchFiles.transcripts), { recursive: true });
      const results = await open(join(folder, batchFiles.journal), 'a');
      const transcripts = await open(join(folder, TRANSCRIPT_FILE), 'a');
      if (torn !== undefined) {
        await results.truncate(torn.start);
        await results.sync();
        options.onNotice?.(
          `The last line of ${batchFiles.journal} (${torn.number}) was torn off; its sample runs again.`,
        );
      }
      await cutTranscripts(folder, transcripts, end);
      await syncFolder(join(folder, batchFiles.transcripts));
      await syncFolder(folder);
      return new Journal(folder, { results, transcripts }, end);
    } catch (error) {
      throw error instanceof ConfigError ? error : cannotWrite(folder, error);
    }
  }

  /** Bytes of transcripts that wait for the disk. */
  get backlogBytes(): number {
    return this.#pendingBytes;
  }

  /** Resolves when the record is on disk. @throws {BatchError} `JOURNAL_FAILED`; then nothing more is taken. */
  append(record: UnplacedRecord, transcript: string): Promise<SampleRecord> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) {
        reject(this.#failure);
        return;
      }
      const bytes = Buffer.from(transcript);
      this.#pendingBytes += bytes.length;
      this.#pending.push({ record, transcript: bytes, resolve, reject });
      this.#commits ??= this.#commit();
    });
  }

  /** Resolves when all that was appended is on disk, or could not be put there. */
  async settled(): Promise<void> {
    await this.#commits;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.settled();
    this.#failure ??= new BatchError('JOURNAL_FAILED', `The journal of ${this.#folder} is closed.`);
    await this.#results.close();
    await this.#transcripts.close();
  }

  async #commit(): Promise<void> {
    // What comes in the same moment goes together.
    await Promise.resolve();
    while (this.#pending.length > 0 && this.#failure === undefined) {
      const group = this.#nextGroup();
      try {
        const records = await this.#write(group);
        group.forEach(({ resolve }, index) => {
          resolve(records[index] as SampleRecord);
        });
      } catch (error) {
        this.#failure = cannotWrite(this.#folder, error);
        for (const { reject } of [...group, ...this.#pending.splice(0)]) reject(this.#failure);
      }
    }
    this.#commits = undefined;
  }

  #nextGroup(): Entry[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#pending.length && bytes < MAX_GROUP_BYTES) {
      bytes += this.#pending[count]?.transcript.length ?? 0;
      count += 1;
    }
    this.#pendingBytes -= bytes;
    return this.#pending.splice(0, count);
  }

  async #write(group: readonly Entry[]): Promise<SampleRecord[]> {
    const records = group.map(({ record, transcript }): SampleRecord => {
      // Its line break is no part of it.
      const place = { file: TRANSCRIPT_FILE, start: this.#end, sizeBytes: transcript.length - 1 };
      this.#end += transcript.length;
      return { ...record, transcript: place };
    });
    await this.#transcripts.appendFile(Buffer.concat(group.map(({ transcript }) => transcript)));
    await this.#transcripts.datasync();
    await this.#results.appendFile(records.map(recordLine).join(''));
    await this.#results.datasync();
    return records;
  }
}

/** What stands behind the last transcript of the journal belongs to a record that never counted. */
async function cutTranscripts(folder: string, file: FileHandle, end: number): Promise<void> {
  const { size } = await file.stat();
  if (size < end) {
    throw new ConfigError(
      'BAD_JOURNAL',
      `${join(folder, TRANSCRIPT_FILE)} ends at byte ${size}, but ${batchFiles.journal} names transcripts up to byte ${end}. ` +
        'Put a copy of the file back, or begin anew with --force-new.',
    );
  }
  if (size > end) {
    await file.truncate(end);
    await file.sync();
  }
}

function cannotWrite(folder: string, cause: unknown): BatchError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new BatchError(
    'JOURNAL_FAILED',
    `Cannot write in ${folder}: ${reason}. Make room or mend the folder, then run the same command: it goes on where it was.`,
    { cause },
  );
}
