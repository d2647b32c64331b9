import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { finish, startGeminiServer, status, text, turn } from '../support/gemini-server.js';
import type { Reply } from '../support/gemini-server.js';
import { commandLine } from './command-line.js';

/** A chat through a pipe that needs no runtime, as no script runs. */
async function chatThroughPipe(input: string, replies: readonly Reply[], args: string[] = []) {
  await using server = await startGeminiServer(replies);
  const home = await mkdtemp(join(tmpdir(), 'chat-lines-'));
  try {
    const end = await commandLine(['chat', '--sandbox', 'http://127.0.0.1:9/mcp', ...args], {
      input,
      env: {
        COLAB_ACCESS_TOKEN: 'token-of-the-test',
        GEMINI_API_KEY: 'key-of-the-test',
        GOOGLE_GEMINI_BASE_URL: server.url,
        COLAB_SOLVER_HOME: home,
      },
    });
    const stored = await readdir(join(home, 'conversations')).catch(() => []);
    const prompts = server.requests.map(({ body }) => body.contents.at(-1)?.parts[0]?.text);
    return { ...end, prompts, stored };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

it('each line of a pipe is a message, one that ends with a backslash goes on, answers alone are on standard output', async () => {
  const { code, stdout, stderr, prompts, stored } = await chatThroughPipe(
    'first\n\nsecond \\\ngoes on\n/history\n',
    [turn(text('One **1**.')), turn(text('Two.'))],
  );
  expect(prompts).toEqual(['first', 'second \ngoes on']);
  expect(stdout).toBe(
    'One **1**.\nTwo.\n  1  first           answered\n  2  second goes on  answered\n',
  );
  expect(stderr).toContain('1 request');
  expect(code).toBe(0);
  expect(stored).toHaveLength(1);
});

it('the exit code is that of the last message, and an error does not end the chat', async () => {
  const refused = await chatThroughPipe('a\nb\n', [
    status(403, { message: 'No access.' }),
    turn(text('Fine.')),
  ]);
  expect(refused).toMatchObject({ code: 0, stdout: 'Fine.\n' });
  expect(refused.stderr).toContain('No access');
  const empty = Array.from({ length: 4 }, () => turn(finish('STOP')));
  expect(await chatThroughPipe('a\n', empty)).toMatchObject({ code: 3, stdout: '' });
  expect(await chatThroughPipe('a\n', [status(403)])).toMatchObject({ code: 1, stdout: '' });
});

it('nothing to say leaves nothing behind, and what is unknown is told', async () => {
  const { code, stored, stderr } = await chatThroughPipe('/nonsense\n/exit\nnever sent\n', []);
  expect(stderr).toContain('There is no /nonsense. /help lists the commands.');
  expect(stored).toEqual([]);
  expect(code).toBe(0);
});

it.each([
  ['a file that is not there', ['no-such-file.csv'], 'Cannot read the file no-such-file.csv'],
  ['a conversation that is not there', ['--resume', 'abc'], 'no conversation to resume'],
])('%s is refused before anything is opened', async (_, args, message) => {
  const { code, stderr } = await chatThroughPipe('a\n', [], args);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});
