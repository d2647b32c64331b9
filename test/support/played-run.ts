import type { RunEvent, SolveResult } from '../../src/agent/events.js';
import { createGeminiModel } from '../../src/agent/gemini-model.js';
import type { SolveOptions } from '../../src/agent/solve.js';
import type { Part } from '../../src/parts/part.js';
import { createSolver } from '../../src/solver.js';
import type { SolverOptions } from '../../src/solver.js';
import { startGeminiServer } from './gemini-server.js';
import type { GeminiServer, Reply } from './gemini-server.js';
import { ScriptedSandbox } from './scripted-sandbox.js';
import type { Script } from './scripted-sandbox.js';

export interface Finished {
  result: SolveResult;
  events: RunEvent[];
  /** The parts of the one model content. */
  parts: Part[];
  server: GeminiServer;
  sandbox: ScriptedSandbox;
}

/** Plays one prompt against a Gemini server over HTTP, with a scripted sandbox. */
export async function play(
  replies: readonly Reply[],
  script?: Script,
  { modelId = 'gemini-test', ...options }: SolverOptions & SolveOptions & { modelId?: string } = {},
): Promise<Finished> {
  await using server = await startGeminiServer(replies);
  const sandbox =
    options.sandbox instanceof ScriptedSandbox ? options.sandbox : new ScriptedSandbox(script);
  const model = createGeminiModel({
    model: modelId,
    apiKey: 'key-of-the-test',
    baseUrl: server.url,
    retry: { firstDelayMs: 1 },
  });
  const { files, signal, maxSteps, timeoutMs, ...rest } = options;
  await using solver = await createSolver({ model, sandbox, env: {}, ...rest });
  const events: RunEvent[] = [];
  const ofRun = { files, signal, maxSteps, timeoutMs };
  const stream = solver.stream('What is six times seven?', ofRun);
  for (;;) {
    const next = await stream.next();
    if (next.done === true) {
      const result = next.value;
      return { result, events, parts: result.contents[1]?.parts ?? [], server, sandbox };
    }
    events.push(next.value);
  }
}
