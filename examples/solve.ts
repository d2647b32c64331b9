// One question, one call: everything is opened before and closed after it.
//   node --import tsx examples/solve.ts
// In your own project: import { solve } from 'colab-solver';
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { solve } from '../src/index.js';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const result = await solve(
  'Which product in orders.csv brought in the most money, and what was its best month?',
  {
    // Without a key the model's turns come from recorded runs; its scripts run all the same.
    ...(process.env['GEMINI_API_KEY'] === undefined && {
      model: `replay:${here('demo/runs.jsonl')}`,
    }),
    files: [here('demo/orders.csv')],
    timeoutMs: 120_000,
  },
);

console.log(result.text);
for (const part of result.contents[1]?.parts ?? []) {
  if (part.executableCode) console.log('--- script\n' + part.executableCode.code);
  if (part.codeExecutionResult)
    console.log('---', part.codeExecutionResult.outcome, '\n' + part.codeExecutionResult.output);
}
for (const file of result.files) {
  console.log('---', file.name, file.mimeType, '\n' + new TextDecoder().decode(await file.bytes()));
}

assert.equal(result.status, 'answered');
assert.match(result.text, /desk lamp/i);
assert.match(result.text, /March/);
assert.ok(result.executions > 0, 'the answer was computed, not guessed');
