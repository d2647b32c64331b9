import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { html, startGeminiServer, text, call, finish, turn } from '../support/gemini-server.js';
import type { Reply } from '../support/gemini-server.js';
import { commandLine } from './command-line.js';
import type { CommandLineEnd, CommandLineOptions } from './command-line.js';
import { result, script, temporaryFolder, writeRuns } from './recorded-file.js';

const KEY = 'test-key-0123456789';

/** A question to a scripted Gemini. */
async function solve(
  replies: Reply[],
  args: string[],
  options: CommandLineOptions = {},
): Promise<CommandLineEnd> {
  await using server = await startGeminiServer(replies);
  const env = { GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: server.url, ...options.env };
  return await commandLine(['solve', ...args], { ...options, env });
}

const computed = [turn(text('Let me see.'), call('print(6 * 7)')), turn(text('It is 42.'))];

describe('standard output', () => {
  it('gets the answer alone; standard error shows how it came about', async () => {
    const { code, stdout, stderr } = await solve(computed, ['six by seven?']);
    expect(stdout).toBe('It is 42.\n');
    expect(stderr).toMatch(/Let me see\..*│ print\(6 \* 7\)\n.*│ 42\n.*✓ ok.*✓ answered/s);
    expect(stderr).not.toContain('It is 42.');
    expect(stderr).not.toContain('\u001B');
    expect(code).toBe(0);
  });

  it('is empty where there is no answer, which ends with code 3 and the reason', async () => {
    const { code, stdout, stderr } = await solve([turn(finish('SAFETY'))], ['q']);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toMatch(/✗ no answer: blocked/);
  });

  it('--log-level silent leaves nothing on standard error', async () => {
    const end = await solve(computed, ['--log-level', 'silent', 'q']);
    expect(end).toEqual({ code: 0, stdout: 'It is 42.\n', stderr: '' });
  });
});

describe('the prompt', () => {
  it('comes from standard input for -', async () => {
    await using server = await startGeminiServer([turn(text('yes'))]);
    const env = { GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: server.url };
    const input = 'Is this\nso? – é\n';
    const { stdout } = await commandLine(['solve', '-'], { env, input });
    expect(stdout).toBe('yes\n');
    expect(server.requests[0]?.body.contents[0]?.parts[0]).toEqual({
      text: 'Is this\nso? – é',
    });
  });

  it('may start with a dash after --', async () => {
    expect(await solve([turn(text('-2'))], ['--', '-5 + 3'])).toMatchObject({ stdout: '-2\n' });
  });
});

describe('--json', () => {
  it('prints one object with the result and its transcript, and little on standard error', async () => {
    const { code, stdout, stderr } = await solve(computed, ['--json', 'six by seven?']);
    expect(JSON.parse(stdout)).toEqual({
      status: 'answered',
      text: 'It is 42.',
      contents: [
        { role: 'user', parts: [{ text: 'six by seven?' }] },
        {
          role: 'model',
          parts: [
            { text: 'Let me see.' },
            expect.objectContaining({
              executableCode: expect.objectContaining({ code: 'print(6 * 7)' }) as unknown,
            }),
            expect.objectContaining({
              codeExecutionResult: expect.objectContaining({
                outcome: 'OUTCOME_OK',
                output: '42\n',
              }) as unknown,
            }),
            { text: 'It is 42.' },
          ],
        },
      ],
      usage: expect.objectContaining({ requests: 2 }) as unknown,
      files: [],
      steps: 2,
      executions: 1,
      durationMs: expect.any(Number) as unknown,
    });
    expect(stderr).not.toContain('print(6 * 7)');
    expect(code).toBe(0);
  });

  it('gives the reason where there is no answer', async () => {
    const { code, stdout } = await solve([turn(finish('SAFETY'))], ['--json', 'q']);
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'blocked',
      reason: expect.any(String) as unknown,
    });
    expect(code).toBe(3);
  });

  it('prints nothing where the run broke', async () => {
    const { code, stdout, stderr } = await solve([html()], ['--json', 'q']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^colab-solver: [^\n]+\n$/m);
  });
});

describe('--events', () => {
  it('prints a line an event, the last with the result', async () => {
    const { stdout } = await solve(computed, ['--events', 'q']);
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
    const types = events.map(({ type }) => type).filter((type) => type !== 'notice');
    expect(types[0]).toBe('run-start');
    expect(types).toEqual(expect.arrayContaining(['text', 'code', 'output', 'code-result']));
    expect(types.filter((type) => type === 'run-end')).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({
      type: 'run-end',
      status: 'answered',
      text: 'It is 42.',
      files: [],
      executions: 1,
    });
  });

  it('ends with the error where the run broke', async () => {
    const { code, stdout, stderr } = await solve([html()], ['--events', 'q']);
    const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as unknown;
    expect(last).toMatchObject({ type: 'error', code: 'NOT_GEMINI', isRetryable: false });
    expect(stderr).toMatch(/^colab-solver: /m);
    expect(code).toBe(1);
  });
});

describe('a fault', () => {
  it('is one message without a stack, and never holds the key', async () => {
    const { code, stdout, stderr } = await solve([html()], ['q']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(/^colab-solver: .*Gemini/);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(stderr).not.toContain(KEY);
  });

  it('shows where it comes from with --log-level debug', async () => {
    const { stderr } = await solve([html()], ['--log-level', 'debug', 'q']);
    expect(stderr).toMatch(/\n\s+at /);
    expect(stderr).not.toContain(KEY);
  });
});

describe('files', () => {
  const writes = [
    script('open("out.txt", "w").write("made"); import os; print(sorted(os.listdir()))'),
    result(''),
    { text: 'Done.' },
  ];

  it('go in by --file and come out by --out-dir, never over one that is there', async () => {
    await using folder = await temporaryFolder();
    const runs = await writeRuns(folder.path, { q: writes });
    const data = join(folder.path, 'data.csv');
    const out = join(folder.path, 'out', 'deep');
    await writeFile(data, 'a,b\n');
    await mkdir(out, { recursive: true });
    await writeFile(join(out, 'out.txt'), 'mine');
    const { stdout } = await commandLine([
      ...['solve', '--json', '--model', `replay:${runs}`, '--file', data, '--out-dir', out, 'q'],
    ]);
    const { files, contents } = JSON.parse(stdout) as {
      files: { path: string }[];
      contents: unknown;
    };
    expect(files).toEqual([
      { name: 'out.txt', mimeType: 'text/plain', sizeBytes: 4, path: join(out, 'out-2.txt') },
    ]);
    expect(await readFile(join(out, 'out.txt'), 'utf8')).toBe('mine');
    expect(await readFile(join(out, 'out-2.txt'), 'utf8')).toBe('made');
    expect(JSON.stringify(contents)).toContain("['data.csv', 'out.txt']");
  });

  it('without --out-dir have no path, and are named for people', async () => {
    await using folder = await temporaryFolder();
    const runs = await writeRuns(folder.path, { q: writes });
    const args = ['solve', '--model', `replay:${runs}`, 'q'];
    const { stdout } = await commandLine([...args, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ files: [{ name: 'out.txt', path: null }] });
    expect((await commandLine(args)).stderr).toContain('out.txt · text/plain · 4 B');
  });
});
