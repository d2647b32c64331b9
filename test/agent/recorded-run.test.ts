import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  readRecordedRuns,
  recordedExecutions,
  recordedRunLine,
} from '../../src/agent/recorded-run.js';
import type { RecordedRun } from '../../src/agent/recorded-run.js';
import type { Part } from '../../src/parts/part.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recorded-run-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function fileOf(content: string | Uint8Array): Promise<string> {
  const path = join(folder, 'runs.jsonl');
  await writeFile(path, content);
  return path;
}

async function read(path: string, signal?: AbortSignal): Promise<RecordedRun[]> {
  const runs: RecordedRun[] = [];
  for await (const run of readRecordedRuns(path, { ...(signal && { signal }) })) runs.push(run);
  return runs;
}

async function exhaust(runs: AsyncGenerator<RecordedRun>): Promise<void> {
  while ((await runs.next()).done !== true);
}

function run(id: string, parts: Part[] = [{ text: '2' }]): RecordedRun {
  return {
    id,
    prompt: '1+1?',
    contents: [
      { role: 'user', parts: [{ text: '1+1?' }] },
      { role: 'model', parts },
    ],
  };
}

const code = (source: string, id?: string): Part => ({
  executableCode: { language: 'PYTHON', code: source, ...(id !== undefined && { id }) },
});
const result = (output: string, id?: string): Part => ({
  codeExecutionResult: { outcome: 'OUTCOME_OK', output, ...(id !== undefined && { id }) },
});

describe('reading', () => {
  test('what is written is read again, fields unknown to us included', async () => {
    const whole: RecordedRun = {
      ...run('a', [{ text: 'x', hologram: { depth: 1 } }, code('print(1)', 'c'), result('1', 'c')]),
      target: { value: 2 },
      metadata: { model: 'm' },
      note: 'kept',
    };
    expect(await read(await fileOf(recordedRunLine(whole)))).toEqual([whole]);
  });

  test.each([
    ['a byte order mark', (lines: string[]) => `\uFEFF${lines.join('\n')}\n`],
    ['Windows line ends', (lines: string[]) => `${lines.join('\r\n')}\r\n`],
    ['blank lines', (lines: string[]) => `\n\n${lines.join('\n \t\n')}\n\n`],
    ['no line end at the end', (lines: string[]) => lines.join('\n')],
  ])('%s changes nothing', async (_, write) => {
    const lines = ['a', 'b', 'c'].map((id) => recordedRunLine(run(id)).trimEnd());
    expect((await read(await fileOf(write(lines)))).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  test('separators that end a line elsewhere may stand in a string', async () => {
    const odd = run('a', [{ text: 'one\u2028two\u2029three\u0085four\rfive' }]);
    const line = JSON.stringify(odd);
    expect(line).toContain('\u2028');
    expect(await read(await fileOf(`${line}\n`))).toEqual([odd]);
  });

  test('a line far longer than a piece of the file is read whole', async () => {
    const long = run('long', [{ text: 'é計'.repeat(500_000) }]);
    const path = await fileOf(recordedRunLine(long) + recordedRunLine(run('next')));
    const [first, second] = await read(path);
    expect(first).toEqual(long);
    expect(second?.id).toBe('next');
  });

  test('numbers as ids, and results without output, are as good as texts', async () => {
    const line =
      '{"id": 7, "prompt": "p", "contents": [{"role": "model", "parts": ' +
      '[{"executableCode": {"code": "x = 1"}}, {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}]}]}';
    const [first] = await read(await fileOf(line));
    expect(first?.id).toBe('7');
    expect(first && recordedExecutions(first)).toEqual([
      { code: 'x = 1', results: [{ outcome: 'OUTCOME_OK', output: '' }] },
    ]);
  });

  test('runs come one by one: an early one is there before a bad line is met', async () => {
    const path = await fileOf(`${recordedRunLine(run('a'))}{`);
    const runs = readRecordedRuns(path);
    expect((await runs.next()).value).toMatchObject({ id: 'a' });
    await expect(runs.next()).rejects.toMatchObject({ code: 'BAD_RECORDED_RUN' });
  });

  test('cancelled: ends with the reason', async () => {
    const controller = new AbortController();
    const path = await fileOf(recordedRunLine(run('a')).repeat(3_000));
    const runs = readRecordedRuns(path, { signal: controller.signal });
    await runs.next();
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(exhaust(runs)).rejects.toBe(reason);
    await expect(read(path, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

describe('what cannot be read is told with its place', () => {
  const good = recordedRunLine(run('a'));

  test.each([
    ['no JSON', `${good}\n{"id": `, /runs\.jsonl, line 3 .*no JSON/],
    ['a missing field', `${good}{"id": "b", "contents": []}`, /line 2 .*prompt: .*string/],
    [
      'another type far inside',
      '{"id":"b","prompt":"p","contents":[{"role":"user","parts":[{"text":1}]}]}',
      /line 1 .*contents\.0\.parts\.0\.text/,
    ],
    ['a list', '[]', /line 1 .*the line: .*object/],
  ])('%s', async (_, content, said) => {
    const failure = read(await fileOf(content));
    await expect(failure).rejects.toMatchObject({ name: 'ConfigError', code: 'BAD_RECORDED_RUN' });
    await expect(failure).rejects.toThrow(said);
  });

  test('bytes that are no UTF-8', async () => {
    const path = await fileOf(Buffer.concat([Buffer.from(good), Buffer.from([0x7b, 0xff, 0xfe])]));
    await expect(read(path)).rejects.toMatchObject({ code: 'UNREADABLE_FILE' });
    await expect(read(path)).rejects.toThrow(/line 2/);
  });

  test.each(['/no/such/file.jsonl', tmpdir()])('%s, which is no file', async (path) => {
    await expect(read(path)).rejects.toMatchObject({ code: 'UNREADABLE_FILE' });
    await expect(read(path)).rejects.toThrow(path);
  });
});

test('executions: every result goes to its code, by id and else by place', () => {
  const parts = [
    code('a', '1'),
    code('b', '2'),
    result('B', '2'),
    result('A', '1'),
    { text: 'hm' },
    code('c'),
    result('C1'),
    result('C2'),
    code('d'),
  ];
  const executions = recordedExecutions(run('r', parts));
  expect(
    executions.map(({ code: source, id, results }) => [
      source,
      id,
      results.map((each) => each.output),
    ]),
  ).toEqual([
    ['a', '1', ['A']],
    ['b', '2', ['B']],
    ['c', undefined, ['C1', 'C2']],
    ['d', undefined, []],
  ]);
});
