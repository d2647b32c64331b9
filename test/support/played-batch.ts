import { createSolver } from '../../src/solver.js';
import type { Solver, SolverOptions } from '../../src/solver.js';
import type { Model, ModelRequest } from '../../src/agent/model.js';
import { textOf } from '../../src/parts/content.js';
import type { Part } from '../../src/parts/part.js';
import { emptyUsage } from '../../src/parts/usage.js';
import { ScriptedSandbox } from './scripted-sandbox.js';

/** What a model says to a prompt in its first, second, … response; it may throw, or wait. */
export type Played = (
  prompt: string,
  response: number,
  request: ModelRequest,
) => Part[] | Promise<Part[]>;

export const TOKENS_A_REQUEST = 100;

/** A model that knows its answers by the prompt. */
export function playedModel(play: Played): Model & { asked: string[] } {
  const asked: string[] = [];
  return {
    id: 'played',
    asked,
    async *generate(request) {
      request.signal?.throwIfAborted();
      const prompt = textOf(request.contents[0]?.parts ?? []);
      const response = request.contents.filter(({ role }) => role === 'model').length;
      asked.push(prompt);
      const parts = await play(prompt, response, request);
      for (const { text } of parts) {
        if (text !== undefined) yield { type: 'text', text, thought: false };
      }
      const usage = { ...emptyUsage(), totalTokenCount: TOKENS_A_REQUEST, requests: 1 };
      return { content: { role: 'model', parts }, finishReason: 'STOP', usage };
    },
  };
}

export const call = (code: string): Part => ({
  functionCall: { name: 'execute_code', args: { code } },
});

/** Computes, then repeats the last word of the prompt, which is the target in these tests. */
export const honest: Played = (prompt, response) =>
  response === 0
    ? [call(`print(${JSON.stringify(prompt)})`)]
    : [{ text: prompt.split(' ').at(-1) ?? '' }];

/** Samples `s1` to `s<count>` whose answer is their number. */
export function samples(count: number): { id: string; prompt: string; target: string }[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `s${index + 1}`,
    prompt: `Say n${index + 1}`,
    target: `n${index + 1}`,
  }));
}

export function playedSolver(play: Played = honest, options: SolverOptions = {}): Promise<Solver> {
  return createSolver({
    model: playedModel(play),
    sandbox: new ScriptedSandbox(),
    env: {},
    ...options,
  });
}
