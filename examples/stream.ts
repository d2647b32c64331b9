// A solver that is kept: its sandbox and sessions serve many questions, whose events can be followed.
//   node --import tsx examples/stream.ts
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { createSolver } from '../src/index.js';

const recorded = `replay:${fileURLToPath(new URL('demo/runs.jsonl', import.meta.url))}`;
const questions = [
  'Ada was born on 29 February 2024. On which weekdays will her first four real birthdays fall?',
  'For which x is cos(x) = x? Give 40 decimal places.',
];

await using solver = await createSolver({
  model: process.env['GEMINI_API_KEY'] === undefined ? recorded : 'gemini-flash-latest',
  onNotice: (text) => {
    console.error(text);
  },
});

const answers: string[] = [];
for (const question of questions) {
  for await (const event of solver.stream(question)) {
    switch (event.type) {
      case 'code':
        console.log(`> ${event.code.trim().split('\n').length} lines of Python`);
        break;
      case 'code-result':
        console.log(`< ${event.result.outcome} after ${Math.round(event.durationMs)} ms`);
        break;
      case 'run-end':
        console.log(`${event.status}: ${event.text}`);
        answers.push(event.text);
        break;
      default:
        break;
    }
  }
}

assert.match(answers[0] ?? '', /Tuesday.*Sunday.*Friday.*Wednesday/s);
assert.match(answers[1] ?? '', /0\.73908513321516064165/);
