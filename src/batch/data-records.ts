import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { extname } from 'node:path';
import { parse } from 'csv-parse';
import type { Info } from 'csv-parse';
import { parse as parseNow } from 'csv-parse/sync';
import { readLines } from '../agent/json-lines.js';
import { ConfigError } from '../errors.js';
import { arrayElements, NoJsonArray } from './json-array.js';

export type DataFormat = 'jsonl' | 'json' | 'csv' | 'tsv';

/** A record of a data set and where it stands. */
export interface DataRecord {
  /** Line on which it begins, from 1. */
  number: number;
  /** Byte at which it begins. */
  start: number;
  sizeBytes: number;
  /** The record as it is written. */
  text: string;
}

/** What a record holds, or why it cannot be read. */
export type ParsedRecord = { value: unknown } | { problem: string };

export interface RecordFile {
  readonly format: DataFormat;
  /** One after another, in the order of the file; memory holds one. @throws {ConfigError} */
  records(signal?: AbortSignal): AsyncGenerator<DataRecord, void, undefined>;
  parse(text: string): ParsedRecord;
}

const FORMATS: Readonly<Record<string, DataFormat>> = {
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.json': 'json',
  '.csv': 'csv',
  '.tsv': 'tsv',
};

/** @throws {ConfigError} `UNREADABLE_FILE`, `BAD_DATASET` where it is none of the formats. */
export async function openRecordFile(path: string): Promise<RecordFile> {
  const format = await formatOf(path);
  switch (format) {
    case 'jsonl':
      return {
        format,
        parse: parseJson,
        records: (signal) => readLines(path, signal === undefined ? {} : { signal }),
      };
    case 'json':
      return { format, parse: parseJson, records: (signal) => elementsOf(path, signal) };
    case 'csv':
    case 'tsv':
      return openTable(path, format);
  }
}

/** By its name; JSON Lines are often called `.json`, so a look inside decides there. */
async function formatOf(path: string): Promise<DataFormat> {
  const format = FORMATS[extname(path).toLowerCase()];
  if (format !== undefined && format !== 'json') return format;
  const first = (await beginningOf(path)).trimStart()[0];
  if (first === '[') return 'json';
  if (first === '{') return 'jsonl';
  throw new ConfigError(
    'BAD_DATASET',
    `${path} is no data set: it is neither a JSON list nor JSON Lines. Give a .jsonl, .json, .csv or .tsv file.`,
  );
}

async function beginningOf(path: string): Promise<string> {
  try {
    await using file = await open(path);
    const bytes = Buffer.alloc(4096);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    return new TextDecoder().decode(bytes.subarray(0, bytesRead));
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function* elementsOf(path: string, signal?: AbortSignal): AsyncGenerator<DataRecord> {
  try {
    yield* arrayElements(createReadStream(path, { signal }) as AsyncIterable<Buffer>);
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof NoJsonArray)) throw unreadable(path, error);
    throw new ConfigError(
      'BAD_DATASET',
      `${path}, line ${error.lineNumber}: ${error.message}. A JSON data set is a list of objects: [{"prompt": …}, …].`,
      { cause: error },
    );
  }
}

function parseJson(text: string): ParsedRecord {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: `it is no JSON (${(error as Error).message})` };
  }
}

/** Rows under a line of names. */
async function openTable(path: string, format: 'csv' | 'tsv'): Promise<RecordFile> {
  const delimiter = format === 'csv' ? ',' : '\t';
  const header = await headerOf(path, delimiter);
  return {
    format,
    async *records(signal) {
      let isHeader = true;
      for await (const row of rowsOf(path, delimiter, signal)) {
        if (!isHeader) yield row;
        isHeader = false;
      }
    },
    parse(text) {
      try {
        const rows: string[][] = parseNow(text, { ...TABLE, delimiter });
        const cells = rows[0] ?? [];
        return { value: Object.fromEntries(header.map((name, index) => [name, cells[index]])) };
      } catch (error) {
        return { problem: (error as Error).message };
      }
    },
  };
}

const TABLE = { bom: true, skip_empty_lines: true } as const;

async function headerOf(path: string, delimiter: string): Promise<string[]> {
  for await (const { text } of rowsOf(path, delimiter)) {
    const rows: string[][] = parseNow(text, { ...TABLE, delimiter });
    const names = (rows[0] ?? []).map((name) => name.trim());
    const twin = names.find((name, index) => names.indexOf(name) !== index);
    if (twin === undefined) return names;
    throw new ConfigError(
      'BAD_DATASET',
      `${path}, line 1: two columns are called "${twin}". Rename one of them.`,
    );
  }
  throw new ConfigError('BAD_DATASET', `${path} is empty. Its first line must name the columns.`);
}

/** The rows as they are written, the line of names first. Blank lines count to the row after them. */
async function* rowsOf(
  path: string,
  delimiter: string,
  signal?: AbortSignal,
): AsyncGenerator<DataRecord> {
  const source = createReadStream(path, { signal });
  const parser = parse({ ...TABLE, delimiter, info: true, raw: true, encoding: 'utf8' });
  source.on('error', (error) => parser.destroy(error));
  source.pipe(parser);
  let start = 0;
  try {
    for await (const row of parser as AsyncIterable<{
      record: string[];
      info: Info;
      raw: string;
    }>) {
      const { record, info, raw } = row;
      const inner = record.join('').split('\n').length - 1;
      yield {
        number: info.lines - inner,
        start,
        sizeBytes: info.bytes - start,
        text: raw,
      };
      start = info.bytes;
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (!('lines' in (error as object))) throw unreadable(path, error);
    const { lines, message } = error as Error & { lines: number };
    throw new ConfigError('BAD_DATASET', `${path}, line ${lines}: ${message}.`, { cause: error });
  } finally {
    source.destroy();
  }
}

function unreadable(path: string, cause: unknown): ConfigError {
  if (cause instanceof ConfigError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ConfigError(
    'UNREADABLE_FILE',
    `Cannot read ${path}: ${reason}. Check the path and its permissions.`,
    { cause },
  );
}
