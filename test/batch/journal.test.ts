import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readRecordedRuns } from '../../src/agent/recorded-run.js';
import { readResults, readTranscript } from '../../src/batch/journal-reading.js';
import { Journal } from '../../src/batch/journal.js';
import type { SampleRecord } from '../../src/batch/sample-record.js';
import { recordOf, transcriptOf } from './records.js';

let folder: string;
let results: string;
let transcripts: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'journal-'));
  results = join(folder, 'results.jsonl');
  transcripts = join(folder, 'transcripts', 'runs.jsonl');
});
afterEach(() => rm(folder, { recursive: true }));

const IDS = ['a', 'ü/../b', 'c'];

async function append(journal: Journal, ids: readonly string[]): Promise<SampleRecord[]> {
  return Promise.all(ids.map((id) => journal.append(recordOf(id), transcriptOf(id))));
}

async function writeAll(ids: readonly string[] = IDS): Promise<void> {
  await using journal = await Journal.open(folder);
  await append(journal, ids);
}

async function recordsThere(): Promise<SampleRecord[]> {
  const records: SampleRecord[] = [];
  for await (const record of readResults(folder)) records.push(record);
  return records;
}

describe('a journal', () => {
  it('gives back what was appended, with its transcripts', async () => {
    await writeAll();
    const records = await recordsThere();
    expect(records.map(({ transcript: _, ...rest }) => rest)).toEqual(
      IDS.map((id) => recordOf(id)),
    );
    for (const record of records) {
      expect((await readTranscript(folder, record)).prompt).toBe(`“${record.id}”?`);
    }
  });

  it('keeps transcripts as recorded runs, in the same order', async () => {
    await writeAll();
    const ids: string[] = [];
    for await (const run of readRecordedRuns(transcripts)) ids.push(run.id);
    expect(ids).toEqual(IDS);
  });

  it('of which any last bytes were lost is completed to the same', async () => {
    await writeAll();
    const whole = await readFile(results);
    const wholeTranscripts = await readFile(transcripts);
    const ends = [...whole.keys()].filter((at) => whole[at] === 0x0a).flatMap((at) => [at, at + 1]);
    const between = Array.from({ length: whole.length / 29 }, (_, index) => 1 + index * 29);
    for (const size of [0, ...ends, ...between]) {
      await writeFile(results, whole.subarray(0, size));
      // The transcripts went to disk first.
      await writeFile(transcripts, wholeTranscripts);
      const there: string[] = [];
      const notices: string[] = [];
      {
        await using journal = await Journal.open(folder, {
          onRecord: ({ id }) => there.push(id),
          onNotice: (text) => notices.push(text),
        });
        const missing = IDS.slice(there.length);
        expect(there).toEqual(IDS.slice(0, there.length));
        await append(journal, missing);
      }
      const isTorn = whole[size - 1] !== 0x0a && size > 0;
      expect(notices).toHaveLength(isTorn ? 1 : 0);
      expect(await readFile(results, 'utf8')).toBe(whole.toString());
      expect(await readFile(transcripts, 'utf8')).toBe(wholeTranscripts.toString());
    }
  });

  it('takes a last line with a wrong byte for torn, also where the bytes are no text', async () => {
    await writeAll();
    for (const byte of [0x00, 0xff]) {
      const bytes = await readFile(results);
      bytes[bytes.length - 40] = byte;
      await writeFile(results, bytes);
      const there: string[] = [];
      {
        await using journal = await Journal.open(folder, { onRecord: ({ id }) => there.push(id) });
        await append(journal, ['c']);
      }
      expect(there).toEqual(IDS.slice(0, 2));
      expect((await recordsThere()).map(({ id }) => id)).toEqual(IDS);
    }
  });

  it('names a damaged line in the middle and changes nothing', async () => {
    await writeAll();
    const text = await readFile(results, 'utf8');
    const damaged = text.replace('"correct":true', '"correct":null');
    await writeFile(results, damaged);
    await expect(Journal.open(folder)).rejects.toMatchObject({ code: 'BAD_JOURNAL' });
    await expect(Journal.open(folder)).rejects.toThrow(/results\.jsonl, line 1 is damaged/);
    expect(await readFile(results, 'utf8')).toBe(damaged);
  });

  it('says so where transcripts are missing that it names', async () => {
    await writeAll();
    await truncate(transcripts, 10);
    await expect(Journal.open(folder)).rejects.toThrow(/runs\.jsonl ends at byte 10/);
  });

  it('drops transcripts that no record names', async () => {
    await writeAll(['a']);
    const before = await readFile(transcripts, 'utf8');
    await writeFile(transcripts, `${before}${transcriptOf('never counted')}{"id":`);
    await writeAll(['b']);
    expect(await readFile(transcripts, 'utf8')).toBe(before + transcriptOf('b'));
  });

  it('keeps its order however many are appended at once', async () => {
    const ids = Array.from({ length: 500 }, (_, index) => `s${index}`);
    {
      await using journal = await Journal.open(folder);
      const placed = await append(journal, ids);
      expect(journal.backlogBytes).toBe(0);
      expect(placed.map(({ id }) => id)).toEqual(ids);
    }
    const records = await recordsThere();
    expect(records.map(({ id }) => id)).toEqual(ids);
    expect((await readTranscript(folder, records[321] as SampleRecord)).id).toBe('s321');
  });

  it('takes nothing after it was closed', async () => {
    const journal = await Journal.open(folder);
    await journal[Symbol.asyncDispose]();
    await expect(append(journal, ['a'])).rejects.toMatchObject({ code: 'JOURNAL_FAILED' });
  });
});
