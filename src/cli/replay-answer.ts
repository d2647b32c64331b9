import { recordedExecutions } from '../agent/recorded-run.js';
import type { RecordedRun } from '../agent/recorded-run.js';
import { isCodePart } from '../parts/part.js';
import { textOf } from '../parts/content.js';

export interface AnswerVerdict {
  /** How many numbers of the final text a script had printed. */
  numbers: number;
  /** Those that no script prints now, as the text has them. */
  gone: string[];
}

/**
 * Whether the final text's numbers still appear in what the scripts print. A number that no script had printed, such as a
 * date or one worked out from others, says nothing; undefined where there is no other.
 */
export function judgeAnswer(
  run: RecordedRun,
  observed: readonly string[],
): AnswerVerdict | undefined {
  const recorded = recordedExecutions(run).flatMap(({ results }) =>
    results.map(({ output }) => output),
  );
  const before = new Set(recorded.flatMap(numbersIn).map(({ value }) => value));
  const now = new Set(observed.flatMap(numbersIn).map(({ value }) => value));
  const said = new Map(
    numbersIn(finalText(run))
      .filter(({ value }) => before.has(value))
      .map(({ value, text }) => [value, text]),
  );
  if (said.size === 0) return undefined;
  const gone = [...said].filter(([value]) => !now.has(value)).map(([, text]) => text);
  return { numbers: said.size, gone };
}

/** What was said after the last script. */
function finalText({ contents }: RecordedRun): string {
  const parts = contents.filter(({ role }) => role === 'model').flatMap((content) => content.parts);
  return textOf(parts.slice(parts.findLastIndex(isCodePart) + 1));
}

const NUMBER = /(?<![\w.])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w)/g;

function numbersIn(text: string): { value: string; text: string }[] {
  return [...text.matchAll(NUMBER)].map(([number]) => ({ value: plain(number), text: number }));
}

/** Written alike what means alike (`1,000.50`, `1000.5`); integers of any size stay exact. */
function plain(number: string): string {
  const text = number.replaceAll(',', '').replace('−', '-');
  return /^-?\d+$/.test(text) ? String(BigInt(text)) : String(Number(text));
}
