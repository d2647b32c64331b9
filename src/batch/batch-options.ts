import { z } from 'zod';
import { ConfigError } from '../errors.js';
import type { BatchEvent } from './batch-event.js';
import type { Grader, GraderOptions } from './grader.js';
import type { FieldNames } from './sample.js';
import type { Selection } from './selection.js';

export interface BatchOptions extends Selection {
  /** The folder of the batch; made where it is not there. The same call goes on with what it holds. */
  out: string;
  /** Paths of files that the scripts of every sample find, beside those of the sample. */
  files?: readonly string[] | undefined;
  /** Names of the data set's own fields. */
  fields?: FieldNames | undefined;
  /** How often each sample is run. Default 1. */
  epochs?: number | undefined;
  /** Name of the grader for all samples. Default: that of each sample, else its target decides. */
  grader?: string | undefined;
  /** Options of graders for all samples; they go before a sample's own. */
  graderOptions?: GraderOptions | undefined;
  /** Graders of your own, beside the built-in ones. */
  graders?: readonly Grader[] | undefined;
  /** Runs at once, at most; it begins with 4 and follows what the model's service bears. Default: the solver's `maxSessions`. */
  concurrency?: number | undefined;
  /** Times a sample's run is begun again because a service failed. Default 1. */
  retries?: number | undefined;
  /** Steps of one sample that may run scripts. Default: the solver's. */
  maxSteps?: number | undefined;
  /** Limit of one sample in milliseconds. Default: the solver's. */
  timeoutMs?: number | undefined;
  /** Tokens of one sample; no further step begins then. Default none. */
  maxSampleTokens?: number | undefined;
  /** US dollars of one sample; no further step begins then. Default none. */
  maxSampleCost?: number | undefined;
  /** US dollars of the whole batch; no further sample begins then. Default none. */
  maxCost?: number | undefined;
  /** Errors that are borne: a whole number of samples, or a share of all between 0 and 1. Default: any number. */
  failOnError?: number | undefined;
  /** Puts an earlier batch of the folder aside, into `earlier/`, and begins anew. Default false. */
  forceNew?: boolean | undefined;
  /** Stops: no further sample begins, and those that run are cancelled after `graceMs`. The same call goes on later. */
  signal?: AbortSignal | undefined;
  /** Default 10,000 milliseconds. */
  graceMs?: number | undefined;
  onEvent?: ((event: BatchEvent) => void) | undefined;
}

const count = z.int('must be a whole number').min(1, 'must be at least 1').optional();
const amount = z.number().positive('must be more than 0').optional();

const OptionsSchema = z.object({
  out: z.string('must name a folder').min(1, 'must name a folder'),
  limit: count,
  seed: z.int('must be a whole number').optional(),
  epochs: count,
  concurrency: count,
  retries: z.int('must be a whole number').min(0, 'must be at least 0').optional(),
  maxSteps: count,
  timeoutMs: amount,
  maxSampleTokens: count,
  maxSampleCost: amount,
  maxCost: amount,
  failOnError: z
    .number()
    .min(0, 'must not be below 0')
    .refine(
      (value) => value < 1 || Number.isInteger(value),
      'must be a whole number or a share below 1',
    )
    .optional(),
  graceMs: z.number().min(0, 'must not be below 0').optional(),
});

/** @throws {ConfigError} `BAD_OPTION` */
export function checkBatchOptions(options: BatchOptions): void {
  const parsed = OptionsSchema.safeParse(options);
  if (parsed.success) return;
  const lines = parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
  throw new ConfigError('BAD_OPTION', `Bad option: ${lines.join('; ')}.`, { cause: parsed.error });
}

/** How many errors a batch of `total` bears. */
export function errorsBorne(failOnError: number | undefined, total: number): number {
  if (failOnError === undefined) return Infinity;
  return failOnError > 0 && failOnError < 1 ? Math.floor(failOnError * total) : failOnError;
}
