import { withoutDisplayCounts } from '../parts/display.js';
import { exceptionName } from '../parts/exception-name.js';
import type { CodeExecutionResult } from '../parts/part.js';
import { resultPart } from '../parts/result-part.js';
import type { ExecutionResult } from '../sandbox/execution.js';

export type Comparison =
  /** `ignoresStderr`: equal only because what stderr holds, which never decides, was left out. */
  | { equal: true; ignoresStderr: boolean }
  /** Both sides for a reader, the outcome in the first line. */
  | { equal: false; recorded: string; observed: string };

/** Relative to the larger of 1 and the recorded number. */
const TOLERANCE = 1e-6;

/**
 * Whether a script came to the same end as when it was recorded: the same outcome, and
 * for OUTCOME_OK the same text apart from blanks at both ends, or the same number;
 * for OUTCOME_FAILED the same exception class, where the record names one.
 */
export function isSameResult(
  recorded: CodeExecutionResult,
  observed: CodeExecutionResult,
): boolean {
  if (recorded.outcome !== observed.outcome) return false;
  if (recorded.outcome === 'OUTCOME_OK') return isSameOutput(recorded.output, observed.output);
  if (recorded.outcome !== 'OUTCOME_FAILED') return true;
  const name = exceptionName(recorded.output);
  return name === undefined || name === exceptionName(observed.output);
}

/** The same for a script that has just run; text on stderr, which records may lack, does not decide. */
export function compareResults(
  recorded: CodeExecutionResult,
  execution: ExecutionResult,
): Comparison {
  const observed = resultPart(execution).codeExecutionResult;
  if (isSameResult(recorded, observed)) return { equal: true, ignoresStderr: false };
  const isSamePrinted =
    execution.status === 'ok' &&
    recorded.outcome === observed.outcome &&
    printedOutputs(execution).some((output) => isSameOutput(recorded.output, output));
  if (isSamePrinted) return { equal: true, ignoresStderr: execution.stderr !== '' };
  return { equal: false, recorded: described(recorded), observed: described(observed) };
}

/** The output without stderr, as we write it and as it came; the two differ where nothing was printed. */
function printedOutputs(execution: ExecutionResult & { status: 'ok' }): string[] {
  const { stdout, value } = execution;
  const ours = resultPart({ ...execution, stderr: '' }).codeExecutionResult.output;
  return [ours, [stdout, value].filter((text) => text !== '').join('\n')];
}

/** Equal after trimming, save how many displays it counts, or both numbers (commas dropped, `a/b` divided out) that agree within the tolerance. */
export function isSameOutput(recorded: string, observed: string): boolean {
  const [before, now] = [recorded, observed].map((text) => withoutDisplayCounts(text).trim());
  if (before === now) return true;
  const a = numberOf(recorded);
  const b = numberOf(observed);
  if (a === undefined || b === undefined) return false;
  return Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(a));
}

const DECIMAL = String.raw`[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?`;
const NUMBER = new RegExp(`^(${DECIMAL})(?:\\s*/\\s*(${DECIMAL}))?$`);

/** Undefined also for what is no finite number, such as `1/0`. */
function numberOf(text: string): number | undefined {
  const match = NUMBER.exec(text.trim().replaceAll(',', ''));
  if (match === null) return undefined;
  const value = Number(match[1]) / Number(match[2] ?? 1);
  return Number.isFinite(value) ? value : undefined;
}

/** Of an error the last line says what it was; how it came about would hide that. */
function described({ outcome, output }: CodeExecutionResult): string {
  const lines = output.trim().split('\n');
  const shown = outcome === 'OUTCOME_FAILED' ? lines.slice(-1) : lines;
  return [outcome, ...shown].join('\n').trimEnd();
}

/** The lines in which two texts differ, `- ` before recorded ones and `+ ` before observed ones; cut when long. */
export function shortDiff(recorded: string, observed: string, maxLines = 6): string[] {
  const before = recorded.split('\n');
  const after = observed.split('\n');
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start])
    start += 1;
  const side = (sign: string, lines: readonly string[]): string[] => {
    const rest = lines.slice(start);
    const more = rest.length - maxLines;
    return [
      ...rest.slice(0, maxLines).map((line) => `${sign} ${line}`),
      ...(more > 0 ? [`${sign} … ${more} more`] : []),
    ];
  };
  return [...side('-', before), ...side('+', after)];
}
