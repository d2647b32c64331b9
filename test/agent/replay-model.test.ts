import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Model, ModelResponse } from '../../src/agent/model.js';
import { recordedRunLine } from '../../src/agent/recorded-run.js';
import type { RecordedRun } from '../../src/agent/recorded-run.js';
import { createReplayModel } from '../../src/agent/replay-model.js';
import type { Content } from '../../src/parts/content.js';
import type { Part } from '../../src/parts/part.js';
import { ask, collect, failureOf } from '../support/model-stream.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'replay-model-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

const text = (value: string): Part => ({ text: value });
const code = (source: string): Part => ({ executableCode: { language: 'PYTHON', code: source } });
const result = (output: string): Part => ({
  codeExecutionResult: { outcome: 'OUTCOME_OK', output },
});
const user = (value: string): Content => ({ role: 'user', parts: [text(value)] });

function run(prompt: string, parts: Part[]): RecordedRun {
  return { id: prompt, prompt, contents: [user(prompt), { role: 'model', parts }] };
}

async function fileOf(runs: RecordedRun[]): Promise<string> {
  const path = join(folder, 'runs.jsonl');
  await writeFile(path, runs.map(recordedRunLine).join(''));
  return path;
}

async function modelOf(...runs: RecordedRun[]): Promise<Model> {
  return createReplayModel(await fileOf(runs));
}

/** The answers to a response's calls, as the loop gives them. */
function answersTo({ content }: ModelResponse): Content {
  const parts = content.parts.flatMap(({ functionCall }) =>
    functionCall === undefined
      ? []
      : [
          {
            functionResponse: {
              ...(functionCall.id !== undefined && { id: functionCall.id }),
              name: functionCall.name,
              response: { output: 'whatever came of it' },
            },
          },
        ],
  );
  return { role: 'user', parts };
}

/** Asks on until there are no calls; the history grows by all that was said. */
async function playOn(model: Model, history: Content[]): Promise<Part[][]> {
  const turns: Part[][] = [];
  for (let limit = 0; limit < 20; limit += 1) {
    const { response } = await collect(model, ask(history));
    turns.push(response.content.parts);
    if (response.content.parts.length > 0) history.push(response.content);
    const answers = answersTo(response);
    if (answers.parts.length === 0) return turns;
    history.push(answers);
  }
  throw new Error('The replay does not end.');
}

/** What was said, calls as their code or arguments. */
function said(turns: Part[][]): unknown[][] {
  return turns.map((parts) =>
    parts.map((part) => part.functionCall?.args?.['code'] ?? part.functionCall?.args ?? part.text),
  );
}

describe('turns', () => {
  test('end where the recording goes on with a result; scripts are calls with ids of their own', async () => {
    const model = await modelOf(
      run('p', [
        text('First'),
        code('a'),
        result('A'),
        text('Then'),
        code('b'),
        result('B'),
        text('Done'),
      ]),
    );
    const history = [user('p')];
    const turns = await playOn(model, history);
    expect(said(turns)).toEqual([['First', 'a'], ['Then', 'b'], ['Done']]);
    const calls = turns.flat().flatMap((part) => part.functionCall ?? []);
    expect(calls.map(({ name }) => name)).toEqual(['execute_code', 'execute_code']);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
  });

  test('hold scripts that were emitted together together', async () => {
    const model = await modelOf(
      run('p', [
        code('a'),
        code('b'),
        result('A'),
        result('B'),
        code('c'),
        result('C'),
        text('Done'),
      ]),
    );
    expect(said(await playOn(model, [user('p')]))).toEqual([['a', 'b'], ['c'], ['Done']]);
  });

  test('hold thoughts and calls of other functions, not their answers nor charts', async () => {
    const thought: Part = { text: 'Hm', thought: true };
    const chart: Part = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
    const model = await modelOf(
      run('p', [
        thought,
        {
          functionCall: { id: 'f', name: 'weather', args: { city: 'Bern' } },
          thoughtSignature: 's',
        },
        { functionResponse: { id: 'f', name: 'weather', response: { output: 9 } } },
        code('plot'),
        result('ok'),
        chart,
        chart,
        text('See above'),
      ]),
    );
    const turns = await playOn(model, [user('p')]);
    expect(said(turns)).toEqual([['Hm', { city: 'Bern' }], ['plot'], ['See above']]);
    expect(turns[0]?.[0]).toEqual(thought);
    expect(turns[0]?.[1]).toMatchObject({
      functionCall: { name: 'weather' },
      thoughtSignature: 's',
    });
  });

  test('stream their text and count requests but no tokens', async () => {
    const model = await modelOf(run('p', [{ text: 'Hm', thought: true }, text('2')]));
    const { events, response } = await collect(model, ask('p'));
    expect(events).toEqual([
      { type: 'text', text: 'Hm', thought: true },
      { type: 'text', text: '2', thought: false },
    ]);
    expect(response).toMatchObject({
      finishReason: 'STOP',
      usage: { promptTokenCount: 0, totalTokenCount: 0, requests: 1 },
    });
  });

  test('of a run that breaks off after its code end with an empty STOP, as often as asked', async () => {
    const model = await modelOf(run('p', [code('a')]));
    const history = [user('p')];
    expect(said(await playOn(model, history))).toEqual([['a'], []]);
    const nudged = [...history, user('Please go on.')];
    for (const contents of [history, nudged]) {
      const { response } = await collect(model, ask(contents));
      expect(response).toMatchObject({ finishReason: 'STOP', content: { parts: [] } });
    }
  });

  test('hold no calls where the model must answer in text', async () => {
    const model = await modelOf(run('p', [text('I compute'), code('a'), result('A'), text('1')]));
    const { response } = await collect(model, ask('p', { functionCalling: 'none' }));
    expect(response.content.parts).toEqual([text('I compute')]);
  });

  test('go on after a note to the model that is no prompt', async () => {
    const model = await modelOf(run('p', [code('a'), result('A'), text('Done')]));
    const history = [user('p')];
    const { response } = await collect(model, ask(history));
    history.push(response.content, answersTo(response), user('The session was lost.'));
    expect(said([(await collect(model, ask(history))).response.content.parts])).toEqual([['Done']]);
  });
});

describe('which run', () => {
  const pair = [
    run('one', [code('1'), result('1'), text('I')]),
    run('two ', [code('2'), result('2'), text('II')]),
  ];

  test('is told by the prompt, blanks around it aside', async () => {
    const model = await modelOf(...pair);
    for (const prompt of ['two', 'two ', ' two\n']) {
      expect(said(await playOn(model, [user(prompt)]))).toEqual([['2'], ['II']]);
    }
  });

  test('prefers the prompt to the letter', async () => {
    const model = await modelOf(run('p', [text('bare')]), run('p ', [text('blank')]));
    expect(said(await playOn(model, [user('p ')]))).toEqual([['blank']]);
    expect(said(await playOn(model, [user('p')]))).toEqual([['bare']]);
  });

  test('is found though the prompt has other parts beside it', async () => {
    const model = await modelOf(...pair);
    const content: Content = { role: 'user', parts: [text('one'), text('Attached: data.csv')] };
    expect(said(await playOn(model, [content]))).toEqual([['1'], ['I']]);
  });

  test('is chosen anew by each prompt of a chat', async () => {
    const model = await modelOf(...pair);
    const history = [user('one')];
    await playOn(model, history);
    history.push(user('two'));
    expect(said(await playOn(model, history))).toEqual([['2'], ['II']]);
    history.push(user('one'));
    expect(said(await playOn(model, history))).toEqual([['1'], ['I']]);
  });

  test('with one prompt in common: each in turn, also when they are played at once', async () => {
    const model = await modelOf(
      run('p', [code('a'), result('A'), text('first')]),
      run('p', [code('b'), result('B'), text('second')]),
    );
    const histories = [[user('p')], [user('p')], [user('p')]];
    const openings: ModelResponse[] = [];
    for (const history of histories) {
      const { response } = await collect(model, ask(history));
      history.push(response.content, answersTo(response));
      openings.push(response);
    }
    expect(said(openings.map(({ content }) => content.parts))).toEqual([['a'], ['b'], ['a']]);
    const endings = await Promise.all(histories.map((history) => playOn(model, history)));
    expect(endings.map((turns) => turns[0]?.[0]?.text)).toEqual(['first', 'second', 'first']);
  });
});

describe('what fails', () => {
  test('a prompt that was not recorded: names the file, how many there are and the nearest', async () => {
    const path = await fileOf([
      run('How many primes are below one million?', [text('78498')]),
      run('What is the sum of 2 and 3?', [text('5')]),
    ]);
    const error = await failureOf(
      await createReplayModel(path),
      ask('How many primes are below 100?'),
    );
    expect(error).toMatchObject({ code: 'REPLAY_MISMATCH', isRetryable: false });
    expect(String(error)).toContain(path);
    expect(String(error)).toMatch(/of 2.*below 100.*below one million\?.*word for word/);
  });

  test('so does a later one in a chat', async () => {
    const model = await modelOf(run('one', [text('I')]));
    const history = [user('one')];
    await playOn(model, history);
    const error = await failureOf(model, ask([...history, user('three')]));
    expect(error).toMatchObject({ code: 'REPLAY_MISMATCH' });
    expect(String(error)).toContain('three');
  });

  test('a bad line anywhere, at the start', async () => {
    const path = await fileOf([run('p', [text('ok')])]);
    await writeFile(path, '{"id": 1}\n', { flag: 'a' });
    await expect(createReplayModel(path)).rejects.toMatchObject({ code: 'BAD_RECORDED_RUN' });
    await expect(createReplayModel(path)).rejects.toThrow(/line 2/);
  });

  test('a file without runs', async () => {
    await expect(modelOf()).rejects.toMatchObject({ code: 'BAD_RECORDED_RUN' });
  });

  test('a file that was changed while in use', async () => {
    const model = await modelOf(run('aaaa', [text('ok')]));
    await fileOf([run('bbbb', [text('ok')])]);
    expect(await failureOf(model, ask('aaaa'))).toMatchObject({ code: 'BAD_RECORDED_RUN' });
  });

  test('a cancelled request: the reason', async () => {
    const model = await modelOf(run('p', [text('ok')]));
    const reason = new Error('enough');
    expect(await failureOf(model, ask('p', { signal: AbortSignal.abort(reason) }))).toBe(reason);
  });
});
