import { z } from 'zod';
import type { RichOutput } from '../sandbox/execution.js';
import { codePart } from './code-part.js';
import type { Content } from './content.js';
import { NOTEBOOK_KEY } from './notebook.js';
import type { CodeExecutionResult, Outcome, Part } from './part.js';
import { resultPart } from './result-part.js';
import type { Transcript } from './transcript.js';

const TextSchema = z
  .union([z.string(), z.array(z.string()).transform((lines) => lines.join(''))])
  .default('');

const OutputSchema = z.looseObject({
  output_type: z.string(),
  name: z.string().default('stdout'),
  text: TextSchema,
  data: z.record(z.string(), z.unknown()).default({}),
  ename: z.string().default(''),
  evalue: z.string().default(''),
  traceback: z.array(z.string()).default([]),
});

const CellSchema = z.looseObject({
  cell_type: z.string(),
  source: TextSchema,
  execution_count: z.number().nullish(),
  outputs: z.array(OutputSchema).default([]),
  metadata: z
    .looseObject({
      [NOTEBOOK_KEY]: z.looseObject({ outcome: z.string(), role: z.string() }).partial().catch({}),
    })
    .catch({ [NOTEBOOK_KEY]: {} }),
});

const NotebookSchema = z.looseObject({
  nbformat: z.literal(4),
  metadata: z.record(z.string(), z.unknown()).default({}),
  cells: z.array(CellSchema),
});

type Cell = z.infer<typeof CellSchema>;
type Output = z.infer<typeof OutputSchema>;

/**
 * The transcript that a notebook holds, one of ours or any other of nbformat 4: each code cell is a script, its outputs
 * are the result; of the Markdown only what we wrote for a prompt or an answer counts. Charts are left behind.
 * @throws {z.ZodError} where it is no such notebook.
 */
export function transcriptOfNotebook(json: unknown): Transcript {
  const { metadata, cells } = NotebookSchema.parse(json);
  const { prompt, ...details } = z
    .looseObject({ prompt: z.string().catch('') })
    .catch({ prompt: '' })
    .parse(metadata[NOTEBOOK_KEY]);
  const contents: Content[] = [];
  for (const cell of cells) {
    const parts = partsOf(cell);
    const role = markOf(cell).role === 'user' ? 'user' : 'model';
    const last = contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else if (parts.length > 0) contents.push({ role, parts });
  }
  return { prompt, contents, metadata: details };
}

function partsOf(cell: Cell): Part[] {
  if (cell.cell_type === 'markdown') {
    return markOf(cell).role === undefined || cell.source === '' ? [] : [{ text: cell.source }];
  }
  if (cell.cell_type !== 'code' || cell.source.trim() === '') return [];
  return [codePart(cell.source), ...resultParts(cell)];
}

/** A cell without outputs ran all the same where it has a count. */
function resultParts(cell: Cell): Part[] {
  const { outputs, execution_count: count } = cell;
  if (outputs.length === 0 && (count ?? undefined) === undefined) return [];
  return [{ codeExecutionResult: resultOf(outputs, markOf(cell).outcome) }];
}

function resultOf(outputs: readonly Output[], outcome: string | undefined): CodeExecutionResult {
  const error = outputs.find((output) => output.output_type === 'error');
  const printed = {
    stdout: streamText(outputs, 'stdout'),
    stderr: streamText(outputs, 'stderr'),
    outputTruncated: false,
    richOutputs: displaysOf(outputs),
    durationMs: 0,
  };
  const result =
    error === undefined
      ? resultPart({ ...printed, status: 'ok', value: valueText(outputs) })
      : resultPart({
          ...printed,
          status: 'failed',
          error: { name: error.ename, value: error.evalue, traceback: error.traceback },
        });
  const isOutOfTime = outcome === ('OUTCOME_DEADLINE_EXCEEDED' satisfies Outcome);
  return {
    ...result.codeExecutionResult,
    ...(isOutOfTime && { outcome: 'OUTCOME_DEADLINE_EXCEEDED' }),
  };
}

function streamText(outputs: readonly Output[], name: string): string {
  return outputs
    .filter((output) => output.output_type === 'stream' && output.name === name)
    .map(({ text }) => text)
    .join('');
}

function valueText(outputs: readonly Output[]): string {
  const value = outputs.findLast(({ output_type }) => output_type === 'execute_result');
  return textIn(value?.data['text/plain']);
}

/** Displays count as they do when a script runs: their text is output, images are told. */
function displaysOf(outputs: readonly Output[]): RichOutput[] {
  const bundles = outputs.filter(({ output_type }) => output_type === 'display_data');
  return bundles.map(({ data }, index) => {
    const texts = Object.entries(data).map(([type, value]) => [type, textIn(value)] as const);
    return { index, mimeTypes: Object.keys(data), data: Object.fromEntries(texts) };
  });
}

function textIn(value: unknown): string {
  return TextSchema.catch('').parse(value);
}

function markOf(cell: Cell) {
  return cell.metadata[NOTEBOOK_KEY];
}
