import { z } from 'zod';
import { linkSignal, onAbort } from '../abort.js';
import type { RunConfig, RunLimits } from '../config.js';
import { ConfigError, SandboxError } from '../errors.js';
import type { Logger } from '../logger.js';
import { isEmpty } from '../parts/content.js';
import { PartSchema } from '../parts/part.js';
import type { Part } from '../parts/part.js';
import { attachFiles } from './attached-file.js';
import type { FunctionTable } from './caller-function.js';
import type { ResultFile, RunEvent, SolveResult } from './events.js';
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
  /** Fires when the solver is closed: runs that still go on fail with its reason. */
  closed: AbortSignal;
}

export interface SolveOptions extends RunLimits {
  /** Paths of files that scripts find in the working directory. */
  files?: readonly string[] | undefined;
  /** Cancels the run; its reason is rethrown once the kernel has been interrupted. */
  signal?: AbortSignal | undefined;
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
  const prompt = checkPrompt(promptInput);
  workshop.closed.throwIfAborted();
  using link = linkSignal(options.signal);
  using _ = onAbort(workshop.closed, () => {
    link.abort(workshop.closed.reason);
  });
  link.signal.throwIfAborted();
  const attached = await attachFiles(options.files ?? []);
  await using session = new RunSession((signal) => workshop.lease(signal), attached);
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
      files: attached.map(({ name, sizeBytes }) => `${name} (${sizeBytes} bytes)`),
    },
    maxSteps: limits.maxSteps,
    executionTimeoutMs: limits.executionTimeoutMs,
    timeoutMs: limits.timeoutMs,
    signal: link.signal,
  });
  const files = outcome.executions === 0 ? [] : yield* filesMade(session, link.signal);
  const result: SolveResult = {
    ...outcome,
    files,
    durationMs: Math.round(performance.now() - startedAt),
  };
  yield { type: 'run-end', ...result };
  return result;
}

/** An answer is not lost because the sandbox is. */
async function* filesMade(
  session: RunSession,
  signal: AbortSignal,
): AsyncGenerator<RunEvent, ResultFile[], undefined> {
  try {
    return await session.filesMade(signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SandboxError)) throw error;
    yield { type: 'notice', text: `What the scripts made could not be fetched. ${error.message}` };
    return [];
  }
}

const PromptSchema = z.union([z.string().transform((text) => [{ text }]), z.array(PartSchema)]);

function checkPrompt(prompt: string | readonly Part[]): Part[] {
  const parsed = PromptSchema.safeParse(prompt);
  if (!parsed.success) {
    throw new ConfigError(
      'BAD_OPTION',
      'The prompt is neither text nor a list of Gemini parts, such as { text } or { inlineData }.',
      { cause: parsed.error },
    );
  }
  if (isEmpty(parsed.data)) {
    throw new ConfigError(
      'EMPTY_PROMPT',
      'The prompt is empty. Write the question to be answered.',
    );
  }
  return parsed.data;
}
