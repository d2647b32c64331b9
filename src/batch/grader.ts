import type { Usage } from '../parts/usage.js';
import type { Session } from '../sandbox/sandbox.js';
import type { Sample } from './sample.js';

/** What a grader came to, and why. */
export interface Verdict {
  correct: boolean;
  /** What was taken for the answer; null where none was found. */
  answer: string | null;
  /** One line for people. */
  explanation: string;
  /** Of a grader that asks a model. */
  usage?: Usage;
}

/** Settings of a grader as a data set gives them: `tolerance`, `unit`, `choices`, … */
export type GraderOptions = Readonly<Record<string, unknown>>;

/** Answers one prompt; where `model` graders get their judgement. */
export type Judge = (
  prompt: string,
  options: { signal: AbortSignal },
) => Promise<{ text: string; usage: Usage }>;

export interface GradingContext {
  signal: AbortSignal;
  sample: Readonly<Sample>;
  /** Those of the sample, and `unit`, `tolerance`, `choices` of its metadata where it has no options of that name. */
  options: GraderOptions;
  /** A session for scripts of graders, opened when first asked for; absent where nothing may run. */
  session?: ((options: { signal: AbortSignal }) => Promise<Session>) | undefined;
  /** Absent where no model may be asked. */
  judge?: Judge | undefined;
}

/** What is wrong with a sample's target or options. */
export interface GraderFault {
  /** Such as `options.tolerance`. */
  field: string;
  /** Completes "the field …": `must be a number`. */
  problem: string;
}

/** Judges the final text of a run. Graders hold no state, so that one serves a whole batch. */
export interface Grader {
  readonly name: string;
  /** What it asks for beside the text; without it, `grade` throws. */
  readonly needs?: 'session' | 'judge';
  /** True where it can judge a sample that has no target. */
  readonly withoutTarget?: boolean;
  /** Called for each sample before anything runs. */
  check?(target: unknown, options: GraderOptions): GraderFault | undefined;
  /**
   * Whatever the text is, there is a verdict. What the grader needs may fail: that is thrown, and is never a wrong answer.
   * @throws {SandboxError} {@link ModelError} {@link BatchError} `GRADER_FAILED`; the signal's reason when cancelled.
   */
  grade(text: string, target: unknown, context: GradingContext): Promise<Verdict>;
}
