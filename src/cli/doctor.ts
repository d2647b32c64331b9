import { printable } from './render/printable.js';
import { Screen } from './render/screen.js';
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
    const label = name.padEnd(NAME_COLUMNS);
    screen.resultLine(`${screen.paint(mark.text, mark.style)} ${label} ${printable(found)}`);
    if (remedy !== undefined) {
      screen.resultLine(`  ${' '.repeat(NAME_COLUMNS)} ${screen.paint(`→ ${remedy}`, 'dim')}`);
    }
  }
  screen.resultLine('');
  screen.resultLine(
    isReady
      ? 'Scripts can run on this machine. Try: colab-solver solve "How many primes are below one million?"'
      : 'Scripts cannot run on this machine yet; do what is said at ✗ first.',
  );
}
