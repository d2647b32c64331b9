/**
 * Plays three recorded runs: the model's turns come from runs.jsonl, but every script really runs, in a
 * Jupyter session on this machine, and must come to its recorded result. Needs no key.
 */
import { fileURLToPath } from 'node:url';
import { readRecordedRuns, recordedExecutions } from '../../src/agent/recorded-run.js';
import type { RecordedRun } from '../../src/agent/recorded-run.js';
import { cancelOnSignals } from '../../src/cli/cancellation.js';
import { exitCodeOfError, exitCodes } from '../../src/cli/exit-code.js';
import { faultText } from '../../src/cli/fault-text.js';
import { countOf, formatDuration } from '../../src/cli/render/amounts.js';
import { RunView } from '../../src/cli/render/run-view.js';
import { Screen } from '../../src/cli/render/screen.js';
import { isSameResult } from '../../src/cli/replay-compare.js';
import { createSolver } from '../../src/index.js';
import type { Solver, SolveResult } from '../../src/index.js';

const RUNS = fileURLToPath(new URL('runs.jsonl', import.meta.url));

using cancellation = cancelOnSignals({
  onInsist: () => {
    process.exit(exitCodes.cancelled);
  },
});
const { signal } = cancellation;
using screen = new Screen({ log: process.stdout });
const { paint } = screen;
const startedAt = performance.now();
let view = new RunView(screen);

try {
  const problems = await playAll();
  screen.gap();
  screen.line(paint('═'.repeat(Math.min(screen.columns, 72)), 'dim'));
  for (const problem of problems) screen.line(paint(`✗ ${problem}`, 'red'));
  if (problems.length === 0) screen.paragraph(`✓ ${await success()}`, { style: 'green' });
  screen.line();
  screen.paragraph('Ask something yourself, with a key from https://aistudio.google.com/apikey:');
  screen.line(
    paint('  GEMINI_API_KEY=… npm start -- solve "How many primes are below one million?"', 'cyan'),
  );
  process.exitCode = problems.length === 0 ? exitCodes.done : exitCodes.fault;
} catch (error) {
  screen.clearStatus();
  process.stderr.write(`${faultText(error)}\n`);
  process.exitCode = signal.aborted ? exitCodes.cancelled : exitCodeOfError(error);
}

/** What did not come out as recorded; empty when all is well. */
async function playAll(): Promise<string[]> {
  screen.line(paint('colab-solver demo', 'bold'));
  screen.note(
    'Three recorded runs. The model’s words come from a file, so no key is needed; the scripts run now, in a Jupyter session on this machine.',
  );
  const problems: string[] = [];
  await using solver = await createSolver({
    model: `replay:${RUNS}`,
    onNotice: (text) => {
      view.notice(text);
    },
  });
  for await (const run of readRecordedRuns(RUNS, { signal })) {
    problems.push(...differences(run, await play(run, solver)));
  }
  return problems;
}

async function play(run: RecordedRun, solver: Solver): Promise<SolveResult | undefined> {
  view = new RunView(screen, { showsPrompt: true });
  view.waitFor('starting');
  const files = attachedFiles(run).map((name) => fileURLToPath(new URL(name, import.meta.url)));
  let result: SolveResult | undefined;
  for await (const event of solver.stream(run.prompt, { files, signal })) {
    view.show(event);
    if (event.type === 'run-end') result = event;
  }
  return result;
}

function attachedFiles(run: RecordedRun): string[] {
  const files = run.metadata?.['files'];
  return Array.isArray(files) ? files.map(String) : [];
}

function differences(run: RecordedRun, result: SolveResult | undefined): string[] {
  if (result?.status !== 'answered')
    return [`${run.id}: no answer (${result?.reason ?? 'it broke'})`];
  const played = recordedExecutions({ ...run, contents: result.contents });
  return recordedExecutions(run).flatMap(({ results: [recorded] }, index) => {
    const observed = played[index]?.results[0];
    if (recorded === undefined) return [];
    if (observed !== undefined && isSameResult(recorded, observed)) return [];
    return [`${run.id}, script ${index + 1}: the result is not the recorded one`];
  });
}

async function success(): Promise<string> {
  let runs = 0;
  let scripts = 0;
  for await (const run of readRecordedRuns(RUNS)) {
    runs += 1;
    scripts += recordedExecutions(run).length;
  }
  return `${countOf(runs, 'run')} answered, ${countOf(scripts, 'script')} run, every result as recorded, in ${formatDuration(performance.now() - startedAt)}`;
}
