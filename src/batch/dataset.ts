import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { crc32 } from 'node:zlib';
import { attachFiles } from '../agent/attached-file.js';
import { readLineAt } from '../agent/json-lines.js';
import { ConfigError } from '../errors.js';
import { openRecordFile } from './data-records.js';
import type { DataRecord, RecordFile } from './data-records.js';
import { readSample } from './sample.js';
import type { FieldNames, Sample, SampleInput, SampleReading } from './sample.js';

/** Samples that were all looked at before; they stay where they are and are read one by one. */
export interface Dataset {
  /** The file, or `samples` where a program gave them. */
  readonly name: string;
  readonly ids: readonly string[];
  /** Changes with every byte of the data set, and of the files that it attaches. */
  readonly digest: string;
  /** The sample with that place, from 0; paths of its files are absolute. @throws {ConfigError} where it has changed. */
  read(index: number): Promise<Sample>;
}

export interface DatasetOptions {
  names?: FieldNames;
  /** What else may be wrong with a sample; undefined where nothing is. */
  check?: (sample: Sample) => { field: string; problem: string } | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Reads the whole data set once and refuses it where one sample could not be run: its form, a second one of the same id,
 * a file that is not there, and what `check` says.
 * @throws {ConfigError} `BAD_DATASET` with line and field of the first faults, `UNREADABLE_FILE`; the signal's reason.
 */
export async function openDataset(
  source: string | readonly SampleInput[],
  options: DatasetOptions = {},
): Promise<Dataset> {
  return typeof source === 'string'
    ? openDatasetFile(source, await openRecordFile(source), options)
    : openSampleList(source, options);
}

async function openDatasetFile(
  path: string,
  file: RecordFile,
  { names = {}, check, signal }: DatasetOptions,
): Promise<Dataset> {
  const inspection = new Inspection(path, dirname(path), check);
  const places: (Omit<DataRecord, 'text'> & { checksum: number })[] = [];
  const isText = file.format === 'csv' || file.format === 'tsv';
  const sampleOf = (text: string, place: number): SampleReading => {
    const parsed = file.parse(text);
    if ('problem' in parsed) return { field: '', problem: parsed.problem };
    return readSample(parsed.value, { names, place, isText });
  };
  for await (const { text, ...place } of file.records(signal)) {
    const reading = sampleOf(text, places.length + 1);
    places.push({ ...place, checksum: checksumOf(reading) });
    await inspection.add(reading, `line ${place.number}`);
  }
  return {
    name: path,
    ids: inspection.end(),
    digest: await inspection.digest(await digestOf(path, signal)),
    async read(index) {
      const { checksum, ...place } = places[index] as (typeof places)[number];
      const reading = sampleOf(await readLineAt(path, place), index + 1);
      const isSame = checksumOf(reading) === checksum;
      if (isSame && 'sample' in reading) return inspection.placed(reading.sample);
      throw new ConfigError(
        'BAD_DATASET',
        `${path}, line ${place.number} is not what it was: the file has changed while in use. Start again.`,
      );
    },
  };
}

async function openSampleList(
  list: readonly SampleInput[],
  { check }: DatasetOptions,
): Promise<Dataset> {
  const inspection = new Inspection('samples', '.', check);
  const samples: Sample[] = [];
  for (const [index, input] of list.entries()) {
    const reading = readSample(input, { names: {}, place: index + 1, isText: false });
    await inspection.add(reading, `number ${index + 1}`);
    if ('sample' in reading) samples.push(inspection.placed(reading.sample));
  }
  const digest = createHash('sha256').update(JSON.stringify(samples)).digest('hex');
  return {
    name: 'samples',
    ids: inspection.end(),
    digest: await inspection.digest(digest),
    read: (index) => Promise.resolve(samples[index] as Sample),
  };
}

/** Faults that are told in one go; a file in the wrong form has one in each line. */
const MAX_FAULTS = 5;

class Inspection {
  readonly #name: string;
  readonly #folder: string;
  readonly #check: DatasetOptions['check'];
  /** Where each id was first seen. */
  readonly #ids = new Map<string, string>();
  readonly #files = new Map<string, string | undefined>();
  readonly #faults: string[] = [];
  #count = 0;

  constructor(name: string, folder: string, check: DatasetOptions['check']) {
    this.#name = name;
    this.#folder = folder;
    this.#check = check;
  }

  async add(reading: SampleReading, place: string): Promise<void> {
    this.#count += 1;
    if (!('sample' in reading)) {
      this.#fault(place, reading.field, reading.problem);
      return;
    }
    const { sample } = reading;
    const twin = this.#ids.get(sample.id);
    if (twin !== undefined) this.#fault(place, 'id', `"${sample.id}" is taken by ${twin}`);
    else this.#ids.set(sample.id, place);
    const files = await this.#problemOfFiles(this.placed(sample).files ?? []);
    if (files !== undefined) this.#fault(place, 'files', files);
    const more = this.#check?.(sample);
    if (more !== undefined) this.#fault(place, more.field, more.problem);
  }

  /** The sample with the paths of its files as they are from here. */
  placed(sample: Sample): Sample {
    if (sample.files === undefined) return sample;
    return { ...sample, files: sample.files.map((path) => resolve(this.#folder, path)) };
  }

  /** @throws {ConfigError} `BAD_DATASET` */
  end(): string[] {
    if (this.#count === 0) {
      throw new ConfigError('BAD_DATASET', `${this.#name} holds no samples. Give one at least.`);
    }
    if (this.#faults.length === 0) return [...this.#ids.keys()];
    const more =
      this.#faults.length > MAX_FAULTS ? [`and more, ${this.#faults.length} in all`] : [];
    throw new ConfigError(
      'BAD_DATASET',
      `${this.#name} cannot be run: ${[...this.#faults.slice(0, MAX_FAULTS), ...more].join('; ')}. ` +
        'Each sample is {"id"?, "prompt", "target"?, "grader"?, "options"?, "files"?, "metadata"?}; nothing was run.',
    );
  }

  async digest(ofSamples: string): Promise<string> {
    const digest = createHash('sha256').update(ofSamples);
    for (const path of [...this.#files.keys()].sort()) await addFile(digest, path);
    return digest.digest('hex');
  }

  async #problemOfFiles(paths: readonly string[]): Promise<string | undefined> {
    for (const path of paths) {
      if (!this.#files.has(path)) this.#files.set(path, await problemOf([path]));
      const problem = this.#files.get(path);
      if (problem !== undefined) return problem;
    }
    return paths.length > 1 ? problemOf(paths) : undefined;
  }

  #fault(place: string, field: string, problem: string): void {
    this.#faults.push(field === '' ? `${place}: ${problem}` : `${place}, ${field}: ${problem}`);
  }
}

function checksumOf(reading: SampleReading): number {
  return crc32(JSON.stringify(reading));
}

async function problemOf(paths: readonly string[]): Promise<string | undefined> {
  try {
    await attachFiles(paths);
    return undefined;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.replace(/\.?$/, '');
  }
}

/** Names of files with what they hold, in short. */
export async function digestsOf(
  files: readonly { name: string; path: string }[],
): Promise<Record<string, string>> {
  const digests: Record<string, string> = {};
  for (const { name, path } of files) digests[name] = await digestOf(path);
  return digests;
}

async function digestOf(path: string, signal?: AbortSignal): Promise<string> {
  const digest = createHash('sha256');
  await addFile(digest, path, signal);
  return digest.digest('hex');
}

async function addFile(digest: Hash, path: string, signal?: AbortSignal): Promise<void> {
  for await (const chunk of createReadStream(path, { signal })) digest.update(chunk as Buffer);
}
