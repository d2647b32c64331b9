import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Part } from '../../src/parts/part.js';

/** A folder of its own that goes when the test is over. */
export async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'colab-solver-cli-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

export const script = (code: string): Part => ({ executableCode: { language: 'PYTHON', code } });
export const result = (output: string, outcome = 'OUTCOME_OK'): Part => ({
  codeExecutionResult: { outcome: outcome as 'OUTCOME_OK', output },
});

/** A recorded run as a line of a file. */
export function runLine(id: string, parts: Part[]): string {
  const user = { role: 'user', parts: [{ text: id }] };
  return `${JSON.stringify({ id, prompt: id, contents: [user, { role: 'model', parts }] })}\n`;
}

/** A file of runs, the prompt of each being its id. */
export async function writeRuns(folder: string, runs: Record<string, Part[]>): Promise<string> {
  const path = join(folder, 'runs.jsonl');
  const lines = Object.entries(runs).map(([id, parts]) => runLine(id, parts));
  await writeFile(path, lines.join(''));
  return path;
}
