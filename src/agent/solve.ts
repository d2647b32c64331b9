import { z } from 'zod';
import { linkSignal, onAbort } from '../abort.js';
import type { RunLimits } from '../config.js';
import { ConfigError } from '../errors.js';
import { isEmpty } from '../parts/content.js';
import { PartSchema } from '../parts/part.js';
import type { Part } from '../parts/part.js';
import { attachFiles } from './attached-file.js';
import type { RunEvent, SolveResult } from './events.js';
import { logEvent } from './run-log.js';
import { RunSession } from './run-session.js';
import { turnEvents } from './turn-events.js';
import type { Workshop } from './workshop.js';

export interface SolveOptions extends RunLimits {
  /** Paths of files that scripts find in the working directory. */
  files?: readonly string[] | undefined;
  /**
   * How many bytes of the files that scripts made are fetched when the run ends, to be had after the solver is closed.
   * Default 1 GiB.
   */
  keptBytes?: number | undefined;
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
  const prompt = checkPrompt(promptInput);
  workshop.closed.throwIfAborted();
  using link = linkSignal(options.signal);
  using _ = onAbort(workshop.closed, () => {
    link.abort(workshop.closed.reason);
  });
  link.signal.throwIfAborted();
  const attached = await attachFiles(options.files ?? []);
  await using session = new RunSession((signal) => workshop.lease(signal), attached, options);
  if (workshop.opensEarly) {
    // A sandbox that cannot be opened ends the run at once, not when the first script comes.
    session.current(link.signal).catch((error: unknown) => {
      link.abort(error);
    });
  }
  return yield* turnEvents(workshop, {
    prompt,
    history: [],
    session,
    files: attached,
    signal: link.signal,
  });
}

const PromptSchema = z.union([z.string().transform((text) => [{ text }]), z.array(PartSchema)]);

/** @throws {ConfigError} `BAD_OPTION`, `EMPTY_PROMPT`. */
export function checkPrompt(prompt: string | readonly Part[]): Part[] {
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
