// Functions of your own beside the sandbox: the model fetches with them and computes with Python.
//   node --import tsx examples/functions.ts
import assert from 'node:assert/strict';
import { z } from 'zod';
import { createSolver, defineFunction } from '../src/index.js';
import type { Model, Part } from '../src/index.js';

const exchangeRate = defineFunction({
  name: 'exchange_rate',
  description: 'How much one unit of a currency is worth in another.',
  parameters: z.object({ from: z.string(), to: z.string() }),
  execute: ({ from, to }) => ({ from, to, rate: 0.94 }),
});

/** Stands in for Gemini where there is no key: any object with an id and `generate` is a model. */
function rehearsedModel(turns: Part[][]): Model {
  return {
    id: 'rehearsed',
    // eslint-disable-next-line @typescript-eslint/require-await -- a real model waits for a service
    async *generate() {
      const parts = turns.shift() ?? [];
      for (const { text } of parts) {
        if (text !== undefined) yield { type: 'text', text, thought: false };
      }
      return {
        content: { role: 'model', parts },
        finishReason: 'STOP',
        usage: {
          promptTokenCount: 0,
          candidatesTokenCount: 0,
          thoughtsTokenCount: 0,
          totalTokenCount: 0,
          requests: 1,
        },
      };
    },
  };
}

const rehearsed = rehearsedModel([
  [{ functionCall: { name: 'exchange_rate', args: { from: 'EUR', to: 'CHF' } } }],
  [{ functionCall: { name: 'execute_code', args: { code: 'print(round(250 * 0.94, 2))' } } }],
  [{ text: '250 euros are 235 Swiss francs.' }],
]);

await using solver = await createSolver({
  functions: [exchangeRate],
  model: process.env['GEMINI_API_KEY'] === undefined ? rehearsed : 'gemini-flash-latest',
});
const { text, contents } = await solver.solve(
  'How many Swiss francs are 250 euros? Look the rate up, then compute it with Python.',
);

const kinds = (contents[1]?.parts ?? []).map((part) => Object.keys(part)[0]);
console.log(kinds.join(', '));
console.log(text);
assert.match(text, /235/);
assert.ok(kinds.indexOf('functionCall') < kinds.indexOf('codeExecutionResult'));
