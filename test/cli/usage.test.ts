import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandLine } from './command-line.js';
import type { CommandLineOptions } from './command-line.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'colab-solver-usage-'));
  await writeFile(
    join(folder, 'bad.jsonl'),
    '{"id": "a", "prompt": "p", "contents": []}\nno json\n',
  );
  await writeFile(join(folder, 'empty.jsonl'), '\n\n');
  await writeFile(join(folder, 'latin1.txt'), Buffer.from([0x66, 0xfc, 0x72]));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

const KEY = { env: { GEMINI_API_KEY: 'test-key-0123456789' } };
const at = (name: string): string => join(folder, name);

/** Exit code, one message of ours on standard error, nothing on standard output. */
async function refused(args: string[], options: CommandLineOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await commandLine(args, options);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^colab-solver: [^\n]+\n$/);
  expect(stderr).not.toContain('unexpected fault');
  return stderr;
}

describe('wrong usage is refused with code 2, and the message says what to do', () => {
  it.each<[string, string[], RegExp, CommandLineOptions?]>([
    ['an unknown command', ['solv', 'x'], /unknown command 'solv'.*Did you mean solve\?/],
    ['an unknown flag', ['solve', '--jsno', 'x'], /unknown option '--jsno'.*Did you mean --json\?/],
    [
      'an unknown command of sandbox',
      ['sandbox', 'server'],
      /unknown command.*Did you mean serve\?/,
    ],
    ['no prompt', ['solve'], /needs a prompt, in quotes, or -/],
    ['an empty prompt', ['solve', '  '], /The prompt is empty/, KEY],
    ['words without quotes', ['solve', 'how', 'many'], /in quotes: colab-solver solve "how many"/],
    ['a prompt that looks like a flag', ['solve', '-5 + 3'], /Put -- before a prompt/],
    [
      'steps that are no number',
      ['solve', '--max-steps', 'many', 'x'],
      /--max-steps.*whole number/,
    ],
    ['a batch without a folder', ['batch', 'x.jsonl'], /--out <dir>/],
    [
      'a share of errors above all',
      ['batch', 'x', '--out', 'y', '--fail-on-error', '1.5'],
      /0\.1 or 10%/,
    ],
    ['grader options that are no object', ['grade', 'y', '--grader-options', '[1]'], /JSON object/],
    ['a folder without a batch', ['grade', '.'], /holds no batch/],
    ['no time at all', ['solve', '--timeout', '0', 'x'], /--timeout.*seconds/],
    ['more time than a day', ['solve', '--execution-timeout', '86401', 'x'], /at most a day/, KEY],
    ['an unknown isolation', ['solve', '--isolation', 'some', 'x'], /auto, required, none/],
    ['an unknown log level', ['solve', '--log-level', 'loud', 'x'], /silent, error, warn/],
    ['--json beside --events', ['solve', '--json', '--events', 'x'], /exclude each other/],
    [
      'an unknown sandbox',
      ['solve', '--sandbox', 'moon', 'x'],
      /sandbox "moon".*local, colab/,
      KEY,
    ],
    [
      'a sandbox without a token',
      ['solve', '--sandbox', 'https://a.test/mcp', 'x'],
      /COLAB_ACCESS_TOKEN/,
      KEY,
    ],
    ['a sandbox over http', ['solve', '--sandbox', 'http://a.test/mcp', 'x'], /must be https/, KEY],
    ['no key', ['solve', 'x'], /GEMINI_API_KEY.*replay:/],
    ['replay: without a file', ['solve', '--model', 'replay:', 'x'], /replay:<recorded\.jsonl>/],
    ['no file to replay', ['replay'], /missing required argument 'recorded\.jsonl'/],
    [
      'an accelerator that cannot be read',
      ['solve', '--accelerator', 'T4,', 'x'],
      /accelerator must be a name such as T4/,
      KEY,
    ],
    ['a list of an unknown sandbox', ['sandbox', 'list', '--sandbox', 'moon'], /"moon".*colab/],
    [
      'cleaning without a token',
      ['sandbox', 'clean', '--sandbox', 'https://a.test/mcp'],
      /COLAB_ACCESS_TOKEN/,
    ],
    ['a port that is none', ['sandbox', 'serve', '--port', '70000'], /--port.*65535/],
    ['a port that is no number', ['sandbox', 'serve', '--port', 'http'], /--port.*65535/],
  ])('%s', async (_worry, args, message, options) => {
    expect(await refused(args, options)).toMatch(message);
  });

  it('a base URL that would send the key in the clear', async () => {
    const env = { ...KEY.env, GOOGLE_GEMINI_BASE_URL: 'http://a.test' };
    const message = await refused(['solve', 'x'], { env });
    expect(message).toContain('GOOGLE_GEMINI_BASE_URL');
    expect(message).not.toContain(KEY.env.GEMINI_API_KEY);
  });

  it('standard input that is empty, or is no text', async () => {
    expect(await refused(['solve', '-'], { ...KEY, input: ' \n' })).toContain('input was empty');
    const input = new Uint8Array([0x66, 0xfc, 0x72]);
    expect(await refused(['solve', '-'], { ...KEY, input })).toMatch(/not UTF-8.*--file/);
  });
});

describe('what cannot be read is named, before anything is started', () => {
  it.each<[string, () => string[], RegExp]>([
    [
      'a recorded file that is not there',
      () => ['replay', at('none.jsonl')],
      /none\.jsonl.*ENOENT/,
    ],
    ['a recorded file that is a folder', () => ['replay', folder], /EISDIR/],
    ['a recorded file without runs', () => ['replay', at('empty.jsonl')], /holds no recorded runs/],
    ['a recorded file that is not UTF-8', () => ['replay', at('latin1.txt')], /UTF-8/],
    [
      'a model that is no recorded file',
      () => ['solve', '--model', `replay:${at('bad.jsonl')}`, 'p'],
      /bad\.jsonl, line 2/,
    ],
    ['a file to attach', () => ['solve', '--file', at('none.csv'), 'x'], /none\.csv.*ENOENT/],
    ['a folder to attach', () => ['solve', '--file', folder, 'x'], /not a regular file/],
    [
      'an output folder that is a file',
      () => ['solve', '--out-dir', at('bad.jsonl/out'), 'x'],
      /bad\.jsonl is a file/,
    ],
  ])('%s', async (_worry, args, message) => {
    expect(await refused(args(), KEY)).toMatch(message);
  });

  it('a Python that does not run', async () => {
    const run = { id: '1', prompt: 'p', contents: [{ role: 'model', parts: [{ text: 't' }] }] };
    await writeFile(at('one.jsonl'), `${JSON.stringify(run)}\n`);
    const env = { COLAB_SOLVER_PYTHON: '/nowhere/python' };
    const replayed = await refused(['replay', at('one.jsonl')], { env });
    expect(replayed).toMatch(/COLAB_SOLVER_PYTHON names \/nowhere\/python/);
    expect(await refused(['sandbox', 'serve'], { env })).toBe(replayed);
  });
});

describe('help', () => {
  it.each([
    [['--help'], /Exit codes:/],
    [['solve', '--help'], /--out-dir <dir>/],
    [['batch', '--help'], /--fail-on-error <n or share>/],
    [['grade', '--help'], /grade results/],
    [['replay', '--help'], /--concurrency <n>/],
    [['sandbox', 'serve', '--help'], /MCP endpoint:/],
    [['sandbox', 'list', '--help'], /--sandbox <where>/],
    [['sandbox', 'specs', '--help'], /--accelerator A100/],
    [['sandbox', 'clean', '--help'], /--runtimes/],
    [['doctor', '--help'], /Exit code 0/],
    [['help', 'solve'], /--execution-timeout <seconds>/],
    [['--version'], /^\d+\.\d+\.\d+\n$/],
  ])('%j goes to standard output', async (args, content) => {
    const { code, stdout, stderr } = await commandLine(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(content);
    expect(stdout).not.toContain('\u001B');
  });

  it('without a command goes to standard error, with code 2', async () => {
    const { code, stdout, stderr } = await commandLine([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('Usage: colab-solver <command>');
  });
});
