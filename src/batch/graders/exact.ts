import type { Grader } from '../grader.js';

/** The same text, apart from blanks and a final full stop. */
export const exact: Grader = {
  name: 'exact',
  check: (target) =>
    typeof target === 'string' ? undefined : { field: 'target', problem: 'must be a text' },
  grade(text, target) {
    const answer = plain(text);
    const correct = answer === plain(String(target));
    return Promise.resolve({
      correct,
      answer: answer === '' ? null : answer,
      explanation: correct ? 'the same text' : 'another text',
    });
  },
};

function plain(text: string): string {
  return text.trim().replace(/\s+/g, ' ').replace(/\.$/, '');
}
