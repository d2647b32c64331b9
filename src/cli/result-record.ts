import type { RunEvent, SolveResult } from '../agent/events.js';

/** Where a result's files were saved, by their names; empty without `--out-dir`. */
export type SavedFiles = ReadonlyMap<string, string>;

export interface SavedPaths {
  files: SavedFiles;
  /** Of `--notebook` and `--save`. */
  transcripts: readonly string[];
}

/** What `--json` prints and what ends `--events`: a result whose files are paths. */
export function resultRecord(result: SolveResult, saved: SavedFiles) {
  const { status, text, contents, usage, files, steps, executions, durationMs, reason } = result;
  return {
    status,
    text,
    contents,
    usage,
    files: files.map(({ name, mimeType, sizeBytes }) => ({
      name,
      mimeType,
      sizeBytes,
      path: saved.get(name) ?? null,
    })),
    steps,
    executions,
    durationMs: Math.round(durationMs),
    ...(reason !== undefined && { reason }),
  };
}

/** One line of `--events`. */
export function eventLine(event: RunEvent): string {
  return `${JSON.stringify(event)}\n`;
}
