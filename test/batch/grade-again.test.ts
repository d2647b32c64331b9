import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockFolder } from '../../src/batch/folder-lock.js';
import { gradeAgain } from '../../src/batch/grade-again.js';
import type { Grader } from '../../src/batch/grader.js';
import { createGrading } from '../../src/batch/grading.js';
import type { BatchOptions } from '../../src/batch/batch-options.js';
import { SandboxError } from '../../src/errors.js';
import { call, honest, playedSolver, samples } from '../support/played-batch.js';
import type { Played } from '../support/played-batch.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'grade-again-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** s1 fails, s2 has no answer, s3 is wrong, s4 and s5 are right. */
const play: Played = (prompt, response, request) => {
  if (prompt.endsWith('n1')) throw new Error('broken');
  if (prompt.endsWith('n2')) return [call('1')];
  return prompt.endsWith('n3') && response === 1
    ? [{ text: 'N3' }]
    : honest(prompt, response, request);
};

async function batch(options: Partial<BatchOptions> = {}): Promise<void> {
  await using solver = await playedSolver(play, { maxSteps: 2 });
  await solver.batch(samples(5), { out: folder, ...options });
}

/** Letters may be of either size. */
const lenient: Grader = {
  name: 'lenient',
  grade: (text, target) =>
    Promise.resolve({
      correct: text.toLowerCase() === String(target).toLowerCase(),
      answer: text,
      explanation: 'by letters',
    }),
};

function regrade(grader?: string, custom: readonly Grader[] = [lenient]) {
  const grading = createGrading({ grader, custom });
  const { signal } = new AbortController();
  return gradeAgain(folder, { grading, isOther: grader !== undefined, signal });
}

const journal = (): Promise<string> => readFile(join(folder, 'results.jsonl'), 'utf8');

describe('grading again', () => {
  it('changes verdicts alone: errors stay errors, runs without an answer stay wrong', async () => {
    await batch();
    const before = await journal();
    expect(await regrade('lenient')).toMatchObject({ changed: 1, correct: 3, wrong: 1, errors: 1 });
    const [kept = ''] = await readdir(join(folder, 'earlier'));
    expect(await readFile(join(folder, 'earlier', kept), 'utf8')).toBe(before);
    expect(await regrade()).toMatchObject({ changed: 1, correct: 2, wrong: 2, errors: 1 });
    const fields = (text: string): unknown[] =>
      text
        .trim()
        .split('\n')
        .map((line) => ({ ...(JSON.parse(line) as object), checksum: '' }));
    expect(fields(await journal())).toEqual(fields(before));
  });

  it('grades what could not be graded before', async () => {
    const failing: Grader = {
      name: 'exact',
      grade: () => Promise.reject(new SandboxError('UNAVAILABLE', 'No session.')),
    };
    await batch({ graders: [failing] });
    expect(await regrade()).toMatchObject({ errors: 1, correct: 2, wrong: 2 });
  });

  it('leaves everything as it was where it cannot be done', async () => {
    await batch();
    const before = await journal();
    await expect(regrade('guess')).rejects.toThrow(/"s\d" .*"guess" is not known/);
    const closed: Grader = {
      name: 'closed',
      grade: () => Promise.reject(new SandboxError('CLOSED', 'It is closed.')),
    };
    await expect(regrade('closed', [closed])).rejects.toMatchObject({ code: 'CLOSED' });
    expect(await journal()).toBe(before);
    expect((await readdir(folder)).sort()).toEqual([
      'report.html',
      'report.md',
      'results.jsonl',
      'run.json',
      'transcripts',
    ]);
  });

  it('is refused while a batch works there, where there is none, and half-way with another grader', async () => {
    await expect(regrade()).rejects.toThrow(/holds no batch/);
    const stop = new AbortController();
    const stopped = batch({
      signal: stop.signal,
      graceMs: 0,
      onEvent: ({ type }) => {
        if (type === 'batch-start') stop.abort(new Error('enough'));
      },
    });
    await expect(stopped).rejects.toThrow('enough');
    await expect(regrade('lenient')).rejects.toMatchObject({ code: 'BATCH_DIFFERS' });
    await using _ = await lockFolder(folder);
    await expect(regrade()).rejects.toMatchObject({ code: 'BATCH_IN_USE' });
  });
});
