import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readRecordedRuns } from '../../src/agent/recorded-run.js';
import type { BatchEvent } from '../../src/batch/batch-event.js';
import type { BatchOptions } from '../../src/batch/batch-options.js';
import { readResults } from '../../src/batch/journal-reading.js';
import type { SampleRecord } from '../../src/batch/sample-record.js';
import { ModelError } from '../../src/errors.js';
import type { SolverOptions } from '../../src/solver.js';
import { call, honest, playedModel, playedSolver, samples } from '../support/played-batch.js';
import type { Played } from '../support/played-batch.js';

let folder: string;
let out: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'batch-'));
  out = join(folder, 'out');
});
afterEach(() => rm(folder, { recursive: true }));

interface Setting extends Partial<BatchOptions> {
  play?: Played;
  solver?: SolverOptions;
  data?: Parameters<Awaited<ReturnType<typeof playedSolver>>['batch']>[0];
}

async function batch({ play = honest, solver = {}, data = samples(5), ...options }: Setting = {}) {
  await using opened = await playedSolver(play, solver);
  return await opened.batch(data, { out, graceMs: 0, ...options });
}

async function records(): Promise<SampleRecord[]> {
  const all: SampleRecord[] = [];
  for await (const record of readResults(out)) all.push(record);
  return all.sort((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true }) || a.epoch - b.epoch);
}

/** Keeps a model from answering certain prompts until something has happened. */
function openedBy(isKey: (event: BatchEvent) => boolean) {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    onEvent: (event: BatchEvent): void => {
      if (isKey(event)) open();
    },
    after(prompts: readonly string[], play: Played): Played {
      return async (prompt, response, request) => {
        if (prompts.includes(prompt)) await opened;
        return play(prompt, response, request);
      };
    },
  };
}

const verdicts = async () =>
  (await records()).map(({ id, epoch, status, correct, answer }) => [
    id,
    epoch,
    status,
    correct,
    answer,
  ]);

describe('a batch', () => {
  it('runs and grades every sample, and keeps runs that can be replayed', async () => {
    const summary = await batch();
    expect(summary).toMatchObject({
      ...{
        status: 'completed',
        total: 5,
        finished: 5,
        correct: 5,
        wrong: 0,
        errors: 0,
        resumed: 0,
      },
      ...{ steps: 10, executions: 5, usage: { totalTokenCount: 1000, requests: 10 } },
    });
    expect(summary.accuracy?.value).toBe(1);
    expect(summary.accuracy?.low).toBeCloseTo(0.5655, 3);
    expect(await verdicts()).toContainEqual(['s3', 1, 'answered', true, 'n3']);
    const runs: string[] = [];
    for await (const run of readRecordedRuns(join(out, 'transcripts', 'runs.jsonl'))) {
      runs.push(run.id);
    }
    expect(runs.sort()).toEqual(['s1', 's2', 's3', 's4', 's5']);
  });

  it('can be played again from its own transcripts, with the same results', async () => {
    const play: Played = (prompt, response, request) =>
      prompt === 'Say n2' && response === 1
        ? [{ text: 'no idea' }]
        : honest(prompt, response, request);
    await batch({ play });
    const first = await verdicts();
    const model = `replay:${join(out, 'transcripts', 'runs.jsonl')}`;
    out = join(folder, 'again');
    await batch({ solver: { model } });
    expect(await verdicts()).toEqual(first);
  });

  it('counts samples without a target apart', async () => {
    const data = [{ prompt: 'Say x' }, { prompt: 'Say y', target: 'z' }];
    const summary = await batch({ data });
    expect(summary).toMatchObject({ ungraded: 1, wrong: 1, correct: 0 });
    expect(await verdicts()).toEqual([
      ['1', 1, 'answered', null, null],
      ['2', 1, 'answered', false, 'y'],
    ]);
  });

  it('repeats each sample for each epoch, all once before any twice', async () => {
    const started: string[] = [];
    const onEvent = (event: BatchEvent): void => {
      if (event.type === 'sample-start') started.push(`${event.sample.id}/${event.sample.epoch}`);
    };
    await batch({ data: samples(2), epochs: 2, onEvent, concurrency: 1 });
    expect(started).toEqual(['s1/1', 's2/1', 's1/2', 's2/2']);
  });

  it('puts attached files into the session of their sample', async () => {
    await writeFile(join(folder, 'table.csv'), 'a,b\n1,2\n');
    const path = join(folder, 'data.jsonl');
    await writeFile(
      path,
      JSON.stringify({ prompt: 'Say 1', target: '1', grader: 'exact', files: ['table.csv'] }),
    );
    const { ScriptedSandbox } = await import('../support/scripted-sandbox.js');
    const sandbox = new ScriptedSandbox();
    await batch({ data: path, solver: { sandbox } });
    expect(sandbox.uploads).toMatchObject([{ path: 'table.csv', text: 'a,b\n1,2\n' }]);
  });
});

describe('the choice of samples', () => {
  const order = async (options: Partial<BatchOptions>): Promise<string> => {
    const started: string[] = [];
    const onEvent = (event: BatchEvent): void => {
      if (event.type === 'sample-start') started.push(event.sample.id);
    };
    out = join(folder, crypto.randomUUID());
    await batch({ ...options, data: samples(9), concurrency: 1, onEvent });
    return started.join();
  };

  it('takes the first ones, named ones, or any by a seed', async () => {
    expect(await order({ limit: 2 })).toBe('s1,s2');
    expect(await order({ sampleIds: ['s7', 's3'] })).toBe('s3,s7');
    const shuffled = await order({ shuffle: true, seed: 3 });
    expect(await order({ shuffle: true, seed: 3 })).toBe(shuffled);
    expect(shuffled.split(',').sort()).toEqual(samples(9).map(({ id }) => id));
    expect(await order({ shuffle: true, seed: 4 })).not.toBe(shuffled);
    expect(shuffled.startsWith(await order({ shuffle: true, seed: 3, limit: 4 }))).toBe(true);
  });

  it('refuses ids that are not there', async () => {
    await expect(batch({ sampleIds: ['s1', 'x'] })).rejects.toThrow(/no sample "x"/);
  });
});

describe('an error', () => {
  const broken = (code: 'INVALID_REQUEST' | 'NETWORK', isRetryable = false): Played => {
    return (prompt, response, request) => {
      if (prompt === 'Say n2' && response === 1)
        throw new ModelError(code, 'It broke.', { isRetryable });
      return honest(prompt, response, request);
    };
  };

  it('is recorded as one, with what was done until then, and is no wrong answer', async () => {
    const summary = await batch({ play: broken('INVALID_REQUEST') });
    expect(summary).toMatchObject({
      status: 'completed',
      finished: 5,
      correct: 4,
      wrong: 0,
      errors: 1,
    });
    const [, second] = await records();
    expect(second).toMatchObject({
      ...{ id: 's2', status: 'error', correct: null, executions: 1, steps: 2 },
      error: { code: 'INVALID_REQUEST', message: 'It broke.', during: 'run' },
    });
    const runs = await readFile(join(out, 'transcripts', 'runs.jsonl'), 'utf8');
    const run = runs.split('\n').find((line) => line.includes('"id":"s2"')) ?? '';
    expect(run).toContain('executableCode');
    expect(run).toContain('OUTCOME_OK');
  });

  it('that may pass has the run begun again, with an account of it', async () => {
    let failures = 0;
    const play: Played = (prompt, response, request) => {
      if (prompt === 'Say n2' && response === 1 && failures < 1) {
        failures += 1;
        throw new ModelError('NETWORK', 'It broke.', { isRetryable: true, retryAfterMs: 0 });
      }
      return honest(prompt, response, request);
    };
    expect(await batch({ play, retries: 1 })).toMatchObject({ correct: 5, retries: { runs: 1 } });
    const [, second] = await records();
    // One request of the run that failed, two of the one that did not.
    expect(second).toMatchObject({ retries: { runs: 1 }, usage: { totalTokenCount: 300 } });
  });

  it('beyond what is borne ends the batch, which goes on later', async () => {
    const play = broken('INVALID_REQUEST');
    const gate = openedBy((event) => event.type === 'sample-end' && event.record.id === 's2');
    const first = await batch({
      ...{ play: gate.after(['Say n3'], play), onEvent: gate.onEvent },
      ...{ failOnError: 0, concurrency: 1 },
    });
    expect(first).toMatchObject({ status: 'error-limit', errors: 1, finished: 3 });
    expect(first.reason).toMatch(/--fail-on-error/);
    const second = await batch({ play, failOnError: 0.2 });
    expect(second).toMatchObject({ status: 'completed', errors: 1, resumed: 3, finished: 5 });
  });

  it('that would befall all ends the batch at once and marks no sample', async () => {
    const play: Played = (prompt, response, request) => {
      if (prompt === 'Say n3') throw new ModelError('QUOTA_EXHAUSTED', 'The day is used up.');
      return honest(prompt, response, request);
    };
    await expect(batch({ play, concurrency: 1 })).rejects.toMatchObject({
      code: 'QUOTA_EXHAUSTED',
    });
    expect((await records()).map(({ id }) => id)).toEqual(['s1', 's2']);
    expect(await batch()).toMatchObject({ resumed: 2, finished: 5, correct: 5, errors: 0 });
  });
});

describe('a limit of a sample', () => {
  it('of tokens ends it before its next step, as a run without an answer', async () => {
    const play: Played = () => [call('1')];
    await batch({ play, data: samples(1), maxSampleTokens: 150 });
    const [record] = await records();
    expect(record).toMatchObject({
      ...{ status: 'token-limit', correct: false, executions: 2 },
      ...{ explanation: 'There is no answer (token-limit): The limit of 150 tokens was reached.' },
    });
  });

  it('of steps and of time are those of a run', async () => {
    const play: Played = (prompt, _response, { signal }) =>
      prompt === 'Say n1'
        ? [call('1')]
        : new Promise((_resolve, reject) => {
            signal?.addEventListener('abort', () => {
              reject(signal.reason as Error);
            });
          });
    await batch({ play, data: samples(2), maxSteps: 1, timeoutMs: 500 });
    expect(await verdicts()).toEqual([
      ['s1', 1, 'step-limit', false, null],
      ['s2', 1, 'deadline', false, null],
    ]);
  });

  it('in dollars is refused where nobody knows the price', async () => {
    await expect(batch({ maxCost: 1 })).rejects.toThrow(/price of played is not known/);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('going on', () => {
  it('runs only what is not finished, and reports all', async () => {
    const stop = new AbortController();
    const gate = openedBy((event) => {
      if (event.type !== 'sample-end') return false;
      stop.abort(new Error('enough'));
      return true;
    });
    const first = batch({
      ...{ solver: { model: playedModel(gate.after(['Say n3'], honest)) }, concurrency: 1 },
      ...{ onEvent: gate.onEvent, signal: stop.signal },
    });
    await expect(first).rejects.toThrow('enough');
    const there = (await records()).length;
    expect(there).toBeGreaterThan(0);
    expect(there).toBeLessThan(5);
    const model = playedModel(honest);
    const options = { solver: { model }, concurrency: 1 };
    const summary = await batch(options);
    expect(summary).toMatchObject({ resumed: there, finished: 5, correct: 5 });
    expect(new Set(model.asked).size).toBe(5 - there);
    expect(await verdicts()).toHaveLength(5);
    model.asked.length = 0;
    expect(await batch(options)).toMatchObject({ resumed: 5, finished: 5 });
    expect(model.asked).toEqual([]);
  });

  it('lets running samples finish within the grace', async () => {
    const stop = new AbortController();
    const onEvent = ({ type }: BatchEvent): void => {
      if (type === 'sample-start') stop.abort(new Error('enough'));
    };
    const running = batch({ onEvent, signal: stop.signal, graceMs: 60_000, concurrency: 1 });
    await expect(running).rejects.toThrow('enough');
    expect(await verdicts()).toEqual([['s1', 1, 'answered', true, 'n1']]);
  });

  it.each<[string, Setting, RegExp]>([
    ['another data set', { data: samples(6) }, /data set samples.*has changed/],
    ['another option', { epochs: 2 }, /epochs was 1 and is 2/],
    ['another limit of samples', { limit: 3 }, /limit was not given and is 3/],
    ['another setting of the solver', { solver: { maxSteps: 3 } }, /maxSteps was 20 and is 3/],
  ])('is refused with %s', async (_what, setting, message) => {
    await batch();
    const before = await readFile(join(out, 'results.jsonl'), 'utf8');
    await expect(batch(setting)).rejects.toMatchObject({ code: 'BATCH_DIFFERS' });
    await expect(batch(setting)).rejects.toThrow(message);
    expect(await readFile(join(out, 'results.jsonl'), 'utf8')).toBe(before);
  });

  it('is refused with another model', async () => {
    await batch();
    const model = { ...playedModel(honest), id: 'other' };
    await expect(batch({ solver: { model } })).rejects.toThrow(/model was "played" and is "other"/);
  });

  it('can be given up for a new beginning that deletes nothing', async () => {
    await batch();
    const before = await readFile(join(out, 'results.jsonl'), 'utf8');
    const notices: string[] = [];
    const onEvent = (event: BatchEvent): void => {
      if (event.type === 'notice') notices.push(event.text);
    };
    const summary = await batch({ epochs: 2, forceNew: true, onEvent });
    expect(summary).toMatchObject({ resumed: 0, finished: 10 });
    const [earlier = ''] = await readdir(join(out, 'earlier'));
    expect(notices).toEqual([expect.stringContaining(earlier)]);
    expect(await readFile(join(out, 'earlier', earlier, 'results.jsonl'), 'utf8')).toBe(before);
  });

  it('is refused while another batch works there', async () => {
    await using solver = await playedSolver();
    const both = [1, 2].map(() => solver.batch(samples(3), { out }));
    const ended = await Promise.allSettled(both);
    expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(ended.find((each) => each.status === 'rejected')?.reason).toMatchObject({
      code: 'BATCH_IN_USE',
    });
    expect(await verdicts()).toHaveLength(3);
  });
});

describe('what cannot be run', () => {
  it.each<[string, Setting]>([
    ['a sample', { data: [{ prompt: '' }] }],
    ['an unknown grader', { data: [{ prompt: 'A', target: '1', grader: 'guess' }] }],
    ['a bad option', { epochs: 0 }],
    ['a bad share', { failOnError: 1.5 }],
  ])('(%s) is refused before there is a folder', async (_what, setting) => {
    await expect(batch(setting)).rejects.toMatchObject({ name: 'ConfigError' });
    expect(await readdir(folder)).toEqual([]);
  });
});
