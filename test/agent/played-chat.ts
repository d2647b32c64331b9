import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChatOptions, RunEvent, Chat, SolverOptions } from '../../src/index.js';
import { createSolver } from '../../src/index.js';
import { createGeminiModel } from '../../src/agent/gemini-model.js';
import { startGeminiServer } from '../support/gemini-server.js';
import type { GeminiServer, Reply } from '../support/gemini-server.js';
import { ScriptedSandbox } from '../support/scripted-sandbox.js';
import type { Script } from '../support/scripted-sandbox.js';

export interface PlayedChat extends AsyncDisposable {
  chat: Chat;
  server: GeminiServer;
  sandbox: ScriptedSandbox;
  /** The state folder. */
  home: string;
  /** Everything the stream of a prompt yields. */
  events(prompt: string): Promise<RunEvent[]>;
}

export interface PlayedChatOptions extends ChatOptions {
  script?: Script;
  /** Default: a fresh folder, removed at the end. */
  home?: string;
  solver?: SolverOptions;
}

/** A chat with a Gemini server over HTTP and a scripted sandbox. */
export async function openChat(
  replies: readonly Reply[],
  { script, home, solver: more = {}, ...options }: PlayedChatOptions = {},
): Promise<PlayedChat> {
  const server = await startGeminiServer(replies);
  const sandbox = new ScriptedSandbox(script);
  const model = createGeminiModel({
    model: 'gemini-test',
    apiKey: 'key-of-the-test',
    baseUrl: server.url,
    retry: { firstDelayMs: 1 },
  });
  const folder = home ?? (await mkdtemp(join(tmpdir(), 'chat-')));
  const solver = await createSolver({
    model,
    sandbox,
    env: { COLAB_SOLVER_HOME: folder },
    maxSessions: 1,
    ...more,
  });
  const chat = solver.chat(options);
  return {
    chat,
    server,
    sandbox,
    home: folder,
    async events(prompt) {
      const events: RunEvent[] = [];
      for await (const event of chat.stream(prompt)) events.push(event);
      return events;
    },
    async [Symbol.asyncDispose]() {
      await chat.close();
      await solver.close();
      await server.close();
      if (home === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}
