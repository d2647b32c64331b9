import { linkSignal } from '../abort.js';
import type { RunEvent, SolveResult } from '../agent/events.js';
import type { Model } from '../agent/model.js';
import { recordedRunLine } from '../agent/recorded-run.js';
import type { SolveOptions } from '../agent/solve.js';
import { BatchError, ColabSolverError, ConfigError, InternalError } from '../errors.js';
import type { Content } from '../parts/content.js';
import { addUsage, emptyUsage } from '../parts/usage.js';
import type { Usage } from '../parts/usage.js';
import { backOffMs, DEFAULT_RETRY_POLICY, pause } from '../retry.js';
import type { RetryPolicy } from '../retry.js';
import type { Graded, Grading } from './grading.js';
import type { UnplacedRecord } from './journal.js';
import { RunWatch } from './run-watch.js';
import type { Sample } from './sample.js';
import type { SampleStatus } from './sample-record.js';

/** One sample in one epoch, with all that running it takes to know; it could be sent elsewhere. */
export interface SampleJob {
  sample: Sample;
  /** From 1. */
  epoch: number;
  limits: SampleLimits;
}

/** Of one sample; absent ones do not hold. */
export interface SampleLimits {
  maxSteps?: number;
  timeoutMs?: number;
  /** Tokens of all requests. */
  maxTokens?: number;
  /** In US dollars. */
  maxCost?: number;
  /** Runs that are begun again because a service failed. */
  retries: number;
}

/** What samples run on. */
export interface SampleWorkshop {
  /** A run whose model is the one that `meter` makes of it. */
  stream(
    prompt: string,
    options: SolveOptions,
    meter: (model: Model) => Model,
  ): AsyncGenerator<RunEvent, SolveResult, undefined>;
  grading: Grading;
  /** US dollars; undefined where the model's price is not known. */
  costOf: (usage: Usage) => number | undefined;
  retry?: RetryPolicy;
}

export interface SampleRun {
  record: UnplacedRecord;
  /** A recorded run as a line with its line break. */
  transcript: string;
}

export interface RunSampleOptions {
  signal: AbortSignal;
  onEvent?: (event: RunEvent) => void;
}

/** What a run came to, whether or not it came to its end. */
interface Outcome {
  status: SampleStatus;
  text: string;
  contents: Content[];
  reason?: string;
  error?: NonNullable<UnplacedRecord['error']>;
}

/**
 * Runs a sample and grades its answer. What fails in the run of this sample becomes a record with the status `error`.
 * @throws what would fail every other sample too, such as a quota by the day or a refused key; the signal's reason.
 */
export async function runSample(
  job: SampleJob,
  workshop: SampleWorkshop,
  options: RunSampleOptions,
): Promise<SampleRun> {
  const { sample, epoch, limits } = job;
  const policy = workshop.retry ?? DEFAULT_RETRY_POLICY;
  let spent = emptyUsage();
  let requests = 0;
  for (let runs = 0; ; runs += 1) {
    const watch = new RunWatch();
    try {
      const outcome = await runOnce(job, workshop, watch, options);
      const retries = { requests: requests + watch.requestRetries, runs };
      return await graded(outcome, { watch, spent, retries });
    } catch (error) {
      options.signal.throwIfAborted();
      if (stopsAll(error)) throw error;
      if (runs < limits.retries && isRetryable(error)) {
        spent = addUsage(spent, watch.usage);
        requests += watch.requestRetries;
        await pause(backOffMs(runs + 1, policy, retryAfterMs(error)), policy, options.signal);
        continue;
      }
      const retries = { requests: requests + watch.requestRetries, runs };
      const outcome = failed(error, 'run', { text: '', contents: watch.contents(sample.prompt) });
      return finished(outcome, NO_VERDICT, { watch, spent, retries });
    }
  }

  async function graded(outcome: Outcome, effort: Effort): Promise<SampleRun> {
    if (outcome.status !== 'answered')
      return finished(outcome, unanswered(workshop.grading.graderOf(sample), outcome), effort);
    try {
      const verdict = await workshop.grading.grade(sample, outcome.text, options);
      return finished(outcome, verdict, effort);
    } catch (error) {
      options.signal.throwIfAborted();
      if (stopsAll(error)) throw error;
      return finished(failed(error, 'grading', outcome), NO_VERDICT, effort);
    }
  }

  function finished(outcome: Outcome, verdict: Graded, effort: Effort): SampleRun {
    const { watch, spent: before, retries } = effort;
    const { status, text, contents, error } = outcome;
    const target = sample.target ?? null;
    return {
      record: {
        id: sample.id,
        epoch,
        status,
        answer: verdict.answer,
        target,
        correct: verdict.correct,
        explanation: error?.message ?? verdict.explanation,
        ...(error !== undefined && { error }),
        grader: verdict.grader,
        ...watch.figures(),
        usage: addUsage(before, watch.usage),
        ...(verdict.usage !== undefined && { gradingUsage: verdict.usage }),
        retries,
        metadata: sample.metadata,
        finishedAt: new Date().toISOString(),
      },
      transcript: recordedRunLine({
        id: sample.id,
        epoch,
        prompt: sample.prompt,
        ...(sample.target !== undefined && { target: sample.target }),
        ...(sample.grader !== undefined && { grader: sample.grader }),
        ...(sample.options !== undefined && { options: sample.options }),
        status,
        text,
        contents,
        metadata: sample.metadata,
      }),
    };
  }
}

interface Effort {
  watch: RunWatch;
  /** By runs that failed before. */
  spent: Usage;
  retries: UnplacedRecord['retries'];
}

const NO_VERDICT: Graded = { correct: null, answer: null, explanation: '', grader: null };

/** A run that broke off at a limit of ours. */
class LimitPassed extends Error {
  readonly status: 'token-limit' | 'cost-limit';

  constructor(status: 'token-limit' | 'cost-limit', message: string) {
    super(message);
    this.status = status;
  }
}

async function runOnce(
  { sample, limits }: SampleJob,
  workshop: SampleWorkshop,
  watch: RunWatch,
  { signal, onEvent }: RunSampleOptions,
): Promise<Outcome> {
  using link = linkSignal(signal);
  const { maxSteps, timeoutMs } = limits;
  const runOptions = {
    files: sample.files,
    signal: link.signal,
    ...(maxSteps !== undefined && { maxSteps }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
  const events = workshop.stream(sample.prompt, runOptions, (model) => watch.metered(model));
  try {
    for await (const event of events) {
      watch.see(event);
      onEvent?.(event);
      // An answer that is there counts, whatever it took; a further step is what goes too far.
      if (event.type === 'step-start') checkSpending(watch.usage, limits, workshop);
      if (event.type === 'run-end') {
        const { status, text, contents, reason } = event;
        return { status, text, contents, ...(reason !== undefined && { reason }) };
      }
    }
  } catch (error) {
    if (!(error instanceof LimitPassed)) throw error;
    const contents = watch.contents(sample.prompt);
    return { status: error.status, text: '', contents, reason: error.message };
  }
  throw new InternalError('A run ended without its result.');
}

function checkSpending(
  usage: Usage,
  { maxTokens = Infinity, maxCost = Infinity }: SampleLimits,
  { costOf }: SampleWorkshop,
): void {
  if (usage.totalTokenCount >= maxTokens)
    throw new LimitPassed('token-limit', `The limit of ${maxTokens} tokens was reached.`);
  if ((costOf(usage) ?? 0) >= maxCost)
    throw new LimitPassed('cost-limit', `The limit of $${maxCost} was reached.`);
}

/** A run without an answer is wrong where there was something to find. */
function unanswered(grader: string | null, { status, reason }: Outcome): Graded {
  const explanation = `There is no answer (${status})${reason === undefined ? '.' : `: ${reason}`}`;
  return { correct: grader === null ? null : false, answer: null, explanation, grader };
}

function failed(
  error: unknown,
  during: 'run' | 'grading',
  { text, contents }: Pick<Outcome, 'text' | 'contents'>,
): Outcome {
  return { status: 'error', text, contents, error: errorOf(error, during) };
}

/** What a record keeps of a failure. */
export function errorOf(
  error: unknown,
  during: 'run' | 'grading',
): NonNullable<UnplacedRecord['error']> {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof ColabSolverError ? String(error.code) : 'UNEXPECTED';
  return { code, message, during };
}

/** Failures that would befall every other sample as well: somebody has to act first. */
const FOR_ALL: ReadonlySet<string> = new Set([
  ...['API_KEY_INVALID', 'PERMISSION_DENIED', 'MODEL_NOT_FOUND', 'QUOTA_EXHAUSTED', 'NOT_GEMINI'],
  ...['UNAUTHENTICATED', 'TOO_MANY_RUNTIMES', 'NO_CAPACITY', 'ACCOUNT_BLOCKED', 'NOT_COLAB'],
  ...['RUNTIME_START_FAILED', 'PYTHON_SETUP_FAILED', 'DISK_FULL', 'CLOSED'],
]);

/** Whether every other sample would fail in the same way. */
export function stopsAll(error: unknown): boolean {
  if (error instanceof ConfigError || error instanceof BatchError) return true;
  return error instanceof ColabSolverError && FOR_ALL.has(String(error.code));
}

function isRetryable(error: unknown): boolean {
  return error instanceof ColabSolverError && error.isRetryable;
}

function retryAfterMs(error: unknown): number | undefined {
  return error instanceof ColabSolverError ? error.retryAfterMs : undefined;
}
