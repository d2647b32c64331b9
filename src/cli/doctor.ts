import { printable } from './render/printable.js';
import { Screen } from './render/screen.js';
import { wrapText } from './render/text-flow.js';
import type { Check } from './checks/check.js';
import { checkColab } from './checks/colab-check.js';
import { checkGemini } from './checks/gemini-checks.js';
import { checkIsolation } from './checks/isolation-check.js';
import { checkNode } from './checks/node-check.js';
import { checkPython } from './checks/python-check.js';
import type { CommandContext } from './command-context.js';
import { exitCodes } from './exit-code.js';
import type { ExitCode } from './exit-code.js';

export interface DoctorFlags {
  json?: boolean;
}

const MARKS = {
  ok: { text: '✓', style: 'green' },
  failed: { text: '✗', style: 'red' },
  skipped: { text: '–', style: 'yellow' },
} as const;
const NAME_COLUMNS = 16;
const MARGIN = ' '.repeat(NAME_COLUMNS + 3);
const READY =
  'Scripts can run on this machine. With a Gemini key: colab-solver solve "How many primes are below one million?"';
const NOT_READY = 'Scripts cannot run on this machine yet; do what is said at ✗ first.';

/** Checks everything at once and reports in a fixed order. */
export async function doctorCommand(
  { json }: DoctorFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, stderr, env, signal } = context;
  using screen = new Screen({ log: stderr, text: stdout, env });
  screen.status((frame) => `${frame} checking`);
  const groups = await Promise.all([
    checkPython({ env, signal }),
    checkIsolation(),
    checkGemini({ env, signal }),
    checkColab({ env, signal }),
  ]);
  screen.clearStatus();
  const checks = [checkNode(), ...groups.flat()];
  const isReady = checks.every(({ isRequired, state }) => !isRequired || state === 'ok');
  if (json === true) stdout.write(`${JSON.stringify({ isReady, checks }, undefined, 2)}\n`);
  else show(checks, isReady, screen);
  return isReady ? exitCodes.done : exitCodes.fault;
}

function show(checks: readonly Check[], isReady: boolean, screen: Screen): void {
  for (const { name, state, found, remedy } of checks) {
    const mark = MARKS[state];
    const head = `${screen.paint(mark.text, mark.style)} ${name.padEnd(NAME_COLUMNS)} `;
    const columns = screen.columns - MARGIN.length;
    const rows = wrapText(printable(found), columns);
    const advice = remedy === undefined ? [] : wrapText(`→ ${remedy}`, columns);
    for (const [index, row] of rows.entries()) {
      screen.resultLine(`${index === 0 ? head : MARGIN}${row}`);
    }
    for (const row of advice) screen.resultLine(`${MARGIN}${screen.paint(row, 'dim')}`);
  }
  screen.resultLine('');
  for (const row of wrapText(isReady ? READY : NOT_READY, screen.columns)) screen.resultLine(row);
}
