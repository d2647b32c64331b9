import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { mcNemar } from '../../src/batch/report/comparison.js';
import { Distribution } from '../../src/batch/report/distribution.js';
import { writeReport } from '../../src/batch/report/write-report.js';
import { commandLine } from '../cli/command-line.js';
import { temporaryFolder } from '../cli/recorded-file.js';
import { writeBatch } from '../support/written-batch.js';
import type { WrittenSample } from '../support/written-batch.js';

const HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(2)>|';

/** The data that a page holds, unpacked. */
async function dataOf(folder: string, kind: 'rows' | 'transcripts'): Promise<unknown[]> {
  const page = await readFile(join(folder, 'report.html'), 'utf8');
  const blocks = page.matchAll(new RegExp(`class="${kind}">([^<]*)</script>`, 'g'));
  return [...blocks].flatMap(
    ([, packed = '']) =>
      JSON.parse(gunzipSync(Buffer.from(packed, 'base64')).toString()) as unknown[],
  );
}

const failed: Partial<WrittenSample> = {
  status: 'error',
  correct: null,
  answer: null,
  explanation: 'The model is overloaded.',
};

describe('a report', () => {
  it('counts every sample once, errors in neither correct nor wrong', async () => {
    await using folder = await temporaryFolder();
    const samples: WrittenSample[] = [
      ...Array.from({ length: 6 }, (_, index) => ({
        id: `a-${index}`,
        metadata: { level: 'easy' },
      })),
      { id: 'b', correct: false, answer: '2', metadata: { level: 'hard', tags: ['x', 'y'] } },
      { id: 'b', epoch: 2, metadata: { level: 'hard', tags: ['x'] } },
      { ...failed, id: 'c', metadata: { level: 'hard' } },
    ];
    await writeBatch(folder.path, samples, { total: 10 });
    const { code, stdout } = await commandLine(['report', folder.path]);
    expect(code).toBe(0);
    expect(stdout).toContain('accuracy 87.5 % (52.9 to 97.8), 9 samples, 1 errors\n');
    expect((await readdir(folder.path)).sort()).toEqual(
      ['report.html', 'report.md', 'results.jsonl', 'run.json', 'transcripts'].sort(),
    );
    const text = await readFile(join(folder.path, 'report.md'), 'utf8');
    expect(text).toContain('9 of 10 samples finished');
    expect(text).toMatch(
      /By level[^]*\| easy \| 100\.0 % [^|]*\| 6 \| 0 \| 0 \|\n\| hard \| 50\.0 % [^|]*\| 1 \| 1 \| 1 \|/,
    );
    expect(text).toMatch(
      /By tags[^]*\| x \| [^|]*\| 1 \| 1 \| 0 \|\n\| y \| [^|]*\| 0 \| 1 \| 0 \|/,
    );
    const rows = (await dataOf(folder.path, 'rows')) as { standing: string }[];
    expect(rows.map(({ standing }) => standing)).toEqual([
      ...Array.from({ length: 6 }, () => 'correct'),
      ...['wrong', 'correct', 'error'],
    ]);
  });

  it('holds each transcript, and finds it from its row', async () => {
    await using folder = await temporaryFolder();
    const samples = Array.from({ length: 150 }, (_, index) => ({
      id: `s${index}`,
      prompt: `question ${index}`,
      parts: [{ text: `answer ${index}` }],
    }));
    await writeBatch(folder.path, samples);
    await writeReport(folder.path);
    const rows = (await dataOf(folder.path, 'rows')) as { id: string; place: [number, number] }[];
    const transcripts = (await dataOf(folder.path, 'transcripts')) as string[];
    expect(rows.at(-1)).toMatchObject({ id: 's149', place: [2, 21] });
    expect(transcripts[2 * 64 + 21]).toMatch(/question 149<\/p>[^]*answer 149<\/p>/);
  });

  it('lets nothing in a sample become markup or a script', async () => {
    await using folder = await temporaryFolder();
    const sample = {
      ...{ id: HOSTILE, prompt: HOSTILE, answer: HOSTILE, target: HOSTILE, explanation: HOSTILE },
      metadata: { [HOSTILE]: HOSTILE },
      parts: [{ codeExecutionResult: { outcome: 'OUTCOME_OK' as const, output: HOSTILE } }],
    };
    const samples = [sample, { ...sample, id: '2', metadata: { [HOSTILE]: 'b' } }, sample].map(
      (each, epoch) => ({ ...each, epoch: epoch + 1 }),
    );
    await writeBatch(folder.path, samples, { dataset: HOSTILE, model: HOSTILE });
    await writeReport(folder.path);
    const page = await readFile(join(folder.path, 'report.html'), 'utf8');
    const scripts = [...page.matchAll(/<script\b[^>]*>/g)].map(([tag]) => tag);
    expect(scripts).toEqual([
      '<script type="application/gzip" class="transcripts">',
      '<script type="application/gzip" class="rows">',
      '<script>',
    ]);
    expect(page).not.toContain('<img');
    for (const transcript of (await dataOf(folder.path, 'transcripts')) as string[])
      expect(transcript).not.toMatch(/<(?:script|img)/);
    expect(await readFile(join(folder.path, 'report.md'), 'utf8')).not.toMatch(/[^\\]<script/);
  });

  it('leaves out what one page cannot bear, and says where it is', async () => {
    await using folder = await temporaryFolder();
    const data = Buffer.alloc(60 * 1024 * 1024).toString('base64');
    const parts = [{ inlineData: { mimeType: 'image/png', data } }];
    await writeBatch(folder.path, [
      { id: 'a', parts },
      { id: 'b', parts },
    ]);
    await writeReport(folder.path);
    const [first, second] = (await dataOf(folder.path, 'transcripts')) as string[];
    expect(first).toContain('<img');
    expect(second).toMatch(/image\/png left out[^]*transcripts\/runs\.jsonl/);
  });

  it('compares two batches by the samples that both have graded', async () => {
    await using folder = await temporaryFolder();
    await using other = await temporaryFolder();
    const verdicts = (all: string) =>
      Array.from(all, (verdict, index) =>
        verdict === 'e'
          ? { ...failed, id: `${index}` }
          : { id: `${index}`, correct: verdict === '+' },
      );
    await writeBatch(other.path, verdicts('++---+e'));
    await writeBatch(folder.path, verdicts('+-+++e++'));
    const { stdout } = await commandLine(['report', folder.path, '--compare', other.path]);
    expect(stdout).toContain(`3 gained and 1 lost of 5 graded in ${other.path}, too`);
    const rows = (await dataOf(folder.path, 'rows')) as { before?: string }[];
    expect(rows.map(({ before }) => before)).toEqual([
      ...['correct', 'correct', 'wrong', 'wrong', 'wrong', 'correct', 'error', undefined],
    ]);
  });

  it('is refused for a folder that holds no batch', async () => {
    await using folder = await temporaryFolder();
    const { code, stderr } = await commandLine(['report', folder.path]);
    expect({ code, left: await readdir(folder.path) }).toEqual({ code: 2, left: [] });
    expect(stderr).toContain('holds no run.json');
  });

  it('keeps a good report where the journal is damaged', async () => {
    await using folder = await temporaryFolder();
    await writeBatch(folder.path, [{ id: 'a' }, { id: 'b' }]);
    await writeReport(folder.path);
    const before = await readFile(join(folder.path, 'report.html'), 'utf8');
    const journal = join(folder.path, 'results.jsonl');
    await writeFile(journal, (await readFile(journal, 'utf8')).replace('"id":"a"', '"id":"x"'));
    expect(await commandLine(['report', folder.path])).toMatchObject({ code: 2 });
    expect(await readFile(join(folder.path, 'report.html'), 'utf8')).toBe(before);
  });

  it('has a script that is one', async () => {
    const path = new URL('../../pages/report.js', import.meta.url).pathname;
    await promisify(execFile)(process.execPath, ['--check', path]);
  });
});

describe('a distribution', () => {
  it('has one bar for each whole number, and lets the largest share the last', () => {
    const steps = new Distribution();
    for (const value of [1, 1, 2, 4]) steps.add(value);
    expect(steps.bins()).toEqual([
      { from: 1, to: 2, count: 2 },
      { from: 2, to: 3, count: 1 },
      { from: 3, to: 4, count: 0 },
      { from: 4, to: 5, count: 1 },
    ]);
    const seconds = new Distribution();
    for (let index = 0; index < 5000; index += 1) seconds.add(index === 0 ? 1e6 : index / 7);
    const bins = seconds.bins();
    expect(bins.length).toBe(24);
    expect(bins.reduce((sum, { count }) => sum + count, 0)).toBe(5000);
    expect(bins.at(-1)?.from).toBeLessThan(720);
  });

  it('of nothing, or of one value, has nothing to fall over', () => {
    const values = new Distribution();
    expect([values.bins(), values.mean, values.quantile(0.5)]).toEqual([[], 0, 0]);
    values.add(0.5);
    values.add(0.5);
    expect(values.bins()).toEqual([{ from: 0.5, to: 0.5, count: 2 }]);
    expect([values.quantile(0), values.quantile(1)]).toEqual([0.5, 0.5]);
  });
});

// Computed with scipy.stats.binomtest(min, n, 0.5).pvalue.
it.each([
  [0, 0, 1],
  [3, 1, 0.625],
  [10, 2, 0.03857421875],
  [108, 30, 1.5502e-11],
  [700, 600, 0.0060158],
])('McNemar of %i gained and %i lost', (gained, lost, p) => {
  expect(mcNemar({ gained, lost }) / p).toBeCloseTo(1, 2);
});
