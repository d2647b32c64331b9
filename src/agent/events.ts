import type { Content } from '../parts/content.js';
import type { CodeExecutionResult, FunctionCall, FunctionResponse } from '../parts/part.js';
import type { Notebook } from '../parts/notebook-cell.js';
import type { Usage } from '../parts/usage.js';
import type { RecordedRun } from './recorded-run.js';

/** How a run ended. */
export type RunStatus = 'answered' | 'step-limit' | 'deadline' | 'blocked' | 'no-answer';

/** What is known of a file without its content. */
export interface FileNote {
  /** Relative to the working directory. */
  name: string;
  mimeType: string;
  sizeBytes: number;
}

/**
 * A file that scripts made or changed in their working directory, or something they displayed (`display-1.png`). Up to a
 * gibibyte a run is fetched when the run ends and can be had after everything is closed; what is larger is fetched when it
 * is asked for, while the solver is open.
 */
export interface ResultFile extends FileNote {
  /** The content, in memory. */
  bytes(): Promise<Uint8Array>;
  /**
   * Writes the content to a file on this machine, piece by piece; it appears when it is whole.
   * @throws {ConfigError} `FILE_EXISTS` unless `force`; {@link SandboxError} where it cannot be had, `DISK_FULL`.
   */
  saveTo(path: string, options?: { force?: boolean; signal?: AbortSignal }): Promise<void>;
}

export interface SolveResult {
  status: RunStatus;
  /** Text of the last step, thoughts left out; empty where there is none. */
  text: string;
  /** The user's prompt, then one model content with text, code, results and images in the order in which they happened. */
  contents: Content[];
  usage: Usage;
  files: ResultFile[];
  /** Steps begun, an unfinished last one included. */
  steps: number;
  /** Scripts run. */
  executions: number;
  durationMs: number;
  /** Why there is no answer, for people; absent when answered. */
  reason?: string;
  /** The run as it is stored: JSON that `replay` and `replay:` models read back, with model, runtime and versions. */
  toRecordedRun(): RecordedRun;
  /** The run as a Jupyter notebook (nbformat 4.5) that runs again: the object that an `.ipynb` file holds as JSON. */
  toNotebook(): Notebook;
}

/** What happens in a run, in order; `run-end` is last and always comes unless the run throws. */
export type RunEvent =
  | { type: 'run-start'; model: string; prompt: string }
  /** Something a person should know, such as what the sandbox is doing or that a session was replaced. */
  | { type: 'notice'; text: string }
  | { type: 'step-start'; step: number }
  | { type: 'text'; text: string; thought: boolean }
  /**
   * The model is asked again, for the `attempt`th time after `delayMs`; what it streamed since `step-start` or the last
   * `retry` counts no more. `code` is there where the service failed: `RATE_LIMITED`, say.
   */
  | { type: 'retry'; reason: string; attempt: number; delayMs: number; code?: string }
  | { type: 'code'; id: string; code: string }
  | { type: 'output'; id: string; stream: 'stdout' | 'stderr'; text: string }
  /** Something a script displayed: its file in the result. */
  | ({ type: 'display'; id: string } & FileNote)
  /** Files that a script made or changed. */
  | { type: 'files'; id: string; files: FileNote[] }
  | { type: 'code-result'; id: string; result: CodeExecutionResult; durationMs: number }
  | { type: 'function-call'; call: FunctionCall }
  | { type: 'function-response'; response: FunctionResponse }
  | { type: 'step-end'; step: number; usage: Usage }
  | ({ type: 'run-end' } & SolveResult);
