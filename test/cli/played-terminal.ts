import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFailed } from 'vitest';
import { startGeminiServer } from '../support/gemini-server.js';
import type { GeminiServer, Reply } from '../support/gemini-server.js';
import { ChatTerminal } from './chat-terminal.js';
import type { ChatTerminalOptions } from './chat-terminal.js';

/** A folder, a Gemini server with a script and terminals in which the chat runs. */
export interface Played extends AsyncDisposable {
  server: GeminiServer;
  folder: string;
  open(options?: ChatTerminalOptions): ChatTerminal;
}

export async function prepare(replies: readonly Reply[]): Promise<Played> {
  const server = await startGeminiServer(replies);
  const folder = await mkdtemp(join(tmpdir(), 'chat terminal '));
  return {
    server,
    folder,
    open({ env = {}, ...options } = {}) {
      const terminal = new ChatTerminal({
        ...options,
        env: {
          GEMINI_API_KEY: 'key-of-the-test',
          GOOGLE_GEMINI_BASE_URL: server.url,
          COLAB_SOLVER_HOME: join(folder, 'home'),
          ...env,
        },
      });
      onTestFailed(() => {
        process.stderr.write(`${terminal.text}\n`);
      });
      return terminal;
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Needs no runtime as long as no script runs. */
export const elsewhere = {
  args: ['--sandbox', 'http://127.0.0.1:9/mcp'],
  env: { COLAB_ACCESS_TOKEN: 'token-of-the-test' },
};

export const lastPrompt = (server: GeminiServer) =>
  server.requests.at(-1)?.body.contents.at(-1)?.parts[0]?.text;
