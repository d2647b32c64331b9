import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { packageVersion } from '../package-version.js';
import { textOf } from '../parts/content.js';
import { notebookOf } from '../parts/notebook.js';
import type { RunDetails } from '../parts/run-details.js';
import type { AttachedFile } from './attached-file.js';
import type { SolveResult } from './events.js';
import type { RecordedRun } from './recorded-run.js';

interface Circumstances {
  model: string;
  runtime: string | undefined;
  startedAt: Date;
  /** Attached by the caller. */
  files: readonly AttachedFile[];
}

type Ended = Omit<SolveResult, 'toRecordedRun' | 'toNotebook'>;

/** A run that has ended, and how to write it down. Where it came from is told, paths of this machine are not. */
export function solveResult(ended: Ended, circumstances: Circumstances): SolveResult {
  const { contents } = ended;
  const metadata = details(ended, circumstances);
  const recorded: RecordedRun = {
    id: randomUUID(),
    prompt: textOf(contents[0]?.parts ?? []),
    contents,
    metadata,
  };
  return {
    ...ended,
    toRecordedRun: () => recorded,
    toNotebook: () => notebookOf(recorded),
  };
}

function details(
  { status, reason, usage, steps, executions, durationMs }: Ended,
  { model, runtime, startedAt, files }: Circumstances,
): RunDetails & Record<string, unknown> {
  return {
    model: withoutFolder(model),
    ...(runtime !== undefined && { runtime }),
    startedAt: startedAt.toISOString(),
    status,
    ...(reason !== undefined && { reason }),
    ...{ steps, executions, durationMs },
    usage: { ...usage },
    versions: { 'colab-solver': packageVersion(), node: process.versions.node },
    files: files.map(({ name, sizeBytes }) => ({ name, sizeBytes })),
  };
}

/** A `replay:` model's id holds a path. */
function withoutFolder(model: string): string {
  return model.startsWith('replay:') ? `replay:${basename(model)}` : model;
}
