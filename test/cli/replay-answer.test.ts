import { expect, it } from 'vitest';
import { judgeAnswer } from '../../src/cli/replay-answer.js';

const run = (output: string, text: string) => ({
  id: 'a',
  prompt: 'q',
  contents: [
    {
      role: 'model' as const,
      parts: [
        { text: 'I expect 99.' },
        { executableCode: { language: 'PYTHON' as const, code: 'x' } },
        { codeExecutionResult: { outcome: 'OUTCOME_OK' as const, output } },
        { text },
      ],
    },
  ],
});

it.each([
  ['is printed as it was', '331.5', 'In 2024 it was 331.50 cm.', ['331.5'], 1, []],
  ['is not printed any more', '331.5\n7', 'It is 331.5, not 7.', ['7 331.4'], 2, ['331.5']],
  ['is grouped', '1234567', 'It is 1,234,567.', ['1234567'], 1, []],
  ['is part of another one', '12', 'It is 12.', ['112 12.5 v12'], 1, ['12']],
  ['is too large for a double', '9007199254740993', '9007199254740993', ['9007199254740992'], 1, 1],
  ['is negative', '-5', 'It is −5.', ['-5'], 1, []],
])('an answer whose number %s', (_worry, recorded, text, observed, numbers, gone) => {
  const verdict = judgeAnswer(run(recorded, text), observed);
  expect(verdict?.numbers).toBe(numbers);
  expect(typeof gone === 'number' ? verdict?.gone.length : verdict?.gone).toEqual(gone);
});

it('is not judged by numbers that no script had printed', () => {
  expect(judgeAnswer(run('yes', 'Yes, since 2024.'), [])).toBeUndefined();
});
