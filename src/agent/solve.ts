import { linkSignal } from '../abort.js';
import type { RunConfig } from '../config.js';
import { ConfigError } from '../errors.js';
import type { Logger } from '../logger.js';
import { textOf } from '../parts/content.js';
import type { Part } from '../parts/part.js';
import { attachFiles } from './attached-file.js';
import type { FunctionTable } from './caller-function.js';
import type { RunEvent, SolveResult } from './events.js';
import { run } from './loop.js';
import { logEvent } from './run-log.js';
import type { Model } from './model.js';
import type { SandboxFacts } from './request.js';
import { RunSession } from './run-session.js';
import type { SessionLease } from './session-source.js';

/** What a run works with. */
export interface Workshop {
  model: Model;
  functions: FunctionTable;
  facts: Omit<SandboxFacts, 'files'>;
  limits: RunConfig;
  logger: Logger;
  lease(signal: AbortSignal): Promise<SessionLease>;
  /** Whether a session is opened while the model still writes its first response. */
  opensEarly: boolean;
}

export interface SolveOptions {
  /** Paths of files that scripts find in the working directory. */
  files?: readonly string[];
  /** Steps that may run scripts. Default: the solver's. */
  maxSteps?: number;
  /** Limit of this run in milliseconds. Default: the solver's. */
  timeoutMs?: number;
  /** Cancels the run; its reason is rethrown once the kernel has been interrupted. */
  signal?: AbortSignal;
}

/** One prompt from the files on this machine to the files of the result, event by event. */
export async function* solveStream(
  workshop: Workshop,
  prompt: string | readonly Part[],
  options: SolveOptions = {},
): AsyncGenerator<RunEvent, SolveResult, undefined> {
  const events = solveEvents(workshop, prompt, options);
  try {
    for (;;) {
      const next = await events.next();
      if (next.done === true) return next.value;
      logEvent(workshop.logger, next.value);
      yield next.value;
    }
  } finally {
    await events.return(undefined as never);
  }
}

async function* solveEvents(
  workshop: Workshop,
  promptInput: string | readonly Part[],
  options: SolveOptions,
): AsyncGenerator<RunEvent, SolveResult, undefined> {
  const startedAt = performance.now();
  const prompt = typeof promptInput === 'string' ? [{ text: promptInput }] : promptInput;
  refuseEmpty(prompt);
  const files = await attachFiles(options.files ?? []);
  using link = linkSignal(options.signal);
  await using session = new RunSession((signal) => workshop.lease(signal), files);
  if (workshop.opensEarly) {
    // A sandbox that cannot be opened ends the run at once, not when the first script comes.
    session.current(link.signal).catch((error: unknown) => {
      link.abort(error);
    });
  }
  const { limits } = workshop;
  const outcome = yield* run({
    model: workshop.model,
    prompt,
    history: [],
    sessions: session,
    functions: workshop.functions,
    facts: {
      ...workshop.facts,
      files: files.map(({ name, sizeBytes }) => `${name} (${sizeBytes} bytes)`),
    },
    maxSteps: options.maxSteps ?? limits.maxSteps,
    executionTimeoutMs: limits.executionTimeoutMs,
    timeoutMs: options.timeoutMs ?? limits.timeoutMs,
    signal: link.signal,
  });
  const result: SolveResult = {
    ...outcome,
    files: outcome.executions === 0 ? [] : await session.filesMade(link.signal),
    durationMs: performance.now() - startedAt,
  };
  yield { type: 'run-end', ...result };
  return result;
}

function refuseEmpty(prompt: readonly Part[]): void {
  const isEmpty = textOf(prompt).trim() === '' && prompt.every((part) => part.text !== undefined);
  if (isEmpty)
    throw new ConfigError(
      'EMPTY_PROMPT',
      'The prompt is empty. Write the question to be answered.',
    );
}
