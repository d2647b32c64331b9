import { DeadlineReached, linkSignal } from '../abort.js';
import { textOf } from '../parts/content.js';
import type { Content } from '../parts/content.js';
import type { Part } from '../parts/part.js';
import { addUsage, emptyUsage } from '../parts/usage.js';
import type { Usage } from '../parts/usage.js';
import { ask } from './ask.js';
import type { RunEvent, RunStatus } from './events.js';
import { ImageAllowance, imagesIn } from './image-allowance.js';
import { performCalls } from './perform-calls.js';
import { modelRequest } from './request.js';
import type { Run, RunOptions } from './run-state.js';
import { REPEATED_FAILURES, watchFailures } from './stop-conditions.js';
import { wireContent } from './wire.js';

/** What a run came to; files are the solver's affair. */
export interface RunOutcome {
  status: RunStatus;
  text: string;
  contents: Content[];
  usage: Usage;
  steps: number;
  executions: number;
  reason?: string;
}

/** The history is sent with every request, its images too. */
function imagesOf({ model, history }: RunOptions): ImageAllowance {
  const sent = history.flatMap(({ parts }) => parts).flatMap(imagesIn);
  return new ImageAllowance(model.images ?? 'none', sent);
}

type Ending = Pick<RunOutcome, 'status' | 'text' | 'reason'>;

/**
 * One turn: asks the model, runs what it asks for, and hands back the results until it answers.
 * @throws {ModelError} {@link SandboxError} when a service fails; the signal's reason when cancelled.
 */
export async function* run(options: RunOptions): AsyncGenerator<RunEvent, RunOutcome, undefined> {
  using link = linkSignal(options.signal, options.timeoutMs);
  const state: Run = {
    ...options,
    cancelled: options.signal ?? new AbortController().signal,
    signal: link.signal,
    endsAt: performance.now() + (options.timeoutMs ?? Infinity),
    mode: 'call',
    usage: emptyUsage(),
    steps: 0,
    executions: 0,
    failures: watchFailures(),
    images: imagesOf(options),
    turn: options.record?.wire ?? [],
    transcript: options.record?.shown ?? [],
  };
  state.turn.push({ role: 'user', parts: [...options.prompt] });
  yield { type: 'run-start', model: options.model.id, prompt: textOf(options.prompt) };
  let ending: Ending;
  try {
    ending = yield* steps(state);
  } catch (error) {
    // The caller's signal may bring the deadline of a run around this one.
    const isOwn = error === link.signal.reason && error !== options.signal?.reason;
    if (!(error instanceof DeadlineReached) || !isOwn) throw error;
    ending = { status: 'deadline', text: '', reason: error.message };
  } finally {
    // Functions of the caller may still be under way where nobody waits for the run any more.
    link.abort(new Error('The run is over.'));
  }
  return {
    ...ending,
    contents: [
      { role: 'user', parts: [...options.prompt] },
      { role: 'model', parts: state.transcript },
    ],
    usage: state.usage,
    steps: state.steps,
    executions: state.executions,
  };
}

async function* steps(run: Run): AsyncGenerator<RunEvent, Ending, undefined> {
  for (;;) {
    run.steps += 1;
    yield { type: 'step-start', step: run.steps };
    const limit = limitReached(run);
    const answer = yield* ask({
      model: run.model,
      mode: limit === undefined ? run.mode : 'none',
      request: (mode) => modelRequest(run, mode, limit?.reason),
      onUsage: (usage) => {
        run.usage = addUsage(run.usage, usage);
      },
    });
    if (answer.kind === 'blocked') return { status: 'blocked', text: '', reason: answer.reason };
    if (answer.kind === 'none') {
      if (answer.text !== '') run.transcript.push({ text: answer.text });
      return { status: 'no-answer', reason: answer.reason, ...limit, text: answer.text };
    }

    const { content } = answer.response;
    if (answer.mode !== 'none') run.mode = answer.mode;
    const wire = wireContent(content, answer.mode);
    if (wire.parts.length > 0) run.turn.push(wire);
    const answers: Part[] = [];
    yield* performCalls(run, content.parts, answer.mode, (part) => {
      if (answers.length === 0) run.turn.push({ role: 'user', parts: answers });
      answers.push(part);
    });
    yield { type: 'step-end', step: run.steps, usage: run.usage };
    if (answers.length === 0) return ended(run, textOf(content.parts), limit);
    run.signal.throwIfAborted();
  }
}

interface Limit {
  /** How the run ends if the model has no answer without a further script. */
  status: 'step-limit' | 'no-answer';
  reason: string;
}

function limitReached(run: Run): Limit | undefined {
  if (run.failures.isStuck) {
    return {
      status: 'no-answer',
      reason: `The same script failed in the same way ${REPEATED_FAILURES} times in a row.`,
    };
  }
  if (run.steps > run.maxSteps) {
    const steps = run.maxSteps === 1 ? '1 step' : `${run.maxSteps} steps`;
    return { status: 'step-limit', reason: `The limit of ${steps} was reached.` };
  }
  return undefined;
}

function ended(run: Run, text: string, limit: Limit | undefined): Ending {
  run.history.push(...run.turn);
  if (text.trim() !== '') return { status: 'answered', text };
  return { status: 'no-answer', reason: 'The last response held no text.', ...limit, text };
}
