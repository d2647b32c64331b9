import type { Content } from '../parts/content.js';
import type { Part } from '../parts/part.js';
import type { Usage } from '../parts/usage.js';
import type { CodeMode } from './ask.js';
import type { FunctionTable } from './caller-function.js';
import type { ImageAllowance } from './image-allowance.js';
import type { Model } from './model.js';
import type { SandboxFacts } from './request.js';
import type { SessionSource } from './session-source.js';
import type { watchFailures } from './stop-conditions.js';

/** What a turn has come to; filled while the run goes on, it stays behind when the run throws. */
export interface TurnRecord {
  /** Wire form: the prompt, then model and user contents in turn. Calls may still be unanswered. */
  wire: Content[];
  /** What people are shown, in the order in which it happened. */
  shown: Part[];
}

export interface RunOptions {
  model: Model;
  prompt: readonly Part[];
  /** The conversation so far in wire form; a turn that ends is appended, a broken one is not. */
  history: Content[];
  sessions: SessionSource;
  functions: FunctionTable;
  facts: SandboxFacts;
  maxSteps: number;
  executionTimeoutMs: number;
  /** Of the whole run. */
  timeoutMs: number | undefined;
  signal?: AbortSignal;
  /** Empty; for callers who want what a run that was cut short had come to. */
  record?: TurnRecord;
}

/** A run while it goes on. */
export interface Run extends Omit<RunOptions, 'signal' | 'record'> {
  /** Fires when the caller cancels. */
  cancelled: AbortSignal;
  /** Fires when the caller cancels or the run's time is up. */
  signal: AbortSignal;
  /** When the run's time is up, by `performance.now()`; infinite without a limit. */
  endsAt: number;
  mode: CodeMode;
  usage: Usage;
  steps: number;
  executions: number;
  failures: ReturnType<typeof watchFailures>;
  images: ImageAllowance;
  /** Wire form of this turn: the prompt, then model and user contents in turn. */
  turn: Content[];
  /** What people are shown, in the order in which it happened. */
  transcript: Part[];
}
