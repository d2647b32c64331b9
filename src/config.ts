import { z } from 'zod';
import { ConfigError } from './errors.js';
import { logLevels } from './logger.js';
import type { LogLevel } from './logger.js';
import { requireSafeUrl } from './safe-url.js';
import { stateFolder } from './state-folder.js';

/** What a solver may be told; everything has a default. Times are in milliseconds. */
export interface ConfigOptions {
  /** A Gemini model id, or `replay:<recorded.jsonl>`. Default `gemini-flash-latest`. */
  model?: string | undefined;
  /** Default `GOOGLE_API_KEY`, else `GEMINI_API_KEY` of the environment. */
  apiKey?: string | undefined;
  /** Default `GOOGLE_GEMINI_BASE_URL`, else Google's. */
  baseUrl?: string | undefined;
  /**
   * How the model is given the images that scripts display: inside the answer to its call (Gemini 3 and later), beside it
   * (Gemini 2.5), or not. Default `auto`: by the model's name.
   */
  images?: ImageOption | undefined;
  /** `local` (embedded, the default), `colab`, or the URL of a Colab MCP server. */
  sandbox?: string | undefined;
  /** Accelerator of the Colab runtime, such as `T4` or `L4:HIGHMEM`, or several in order: `A100,L4,T4`. Default `NONE`. */
  accelerator?: string | undefined;
  /** Use this runtime, `runtimes/{id}`, rather than finding or making one. */
  runtime?: string | undefined;
  /** Label of the Colab runtime's image, such as `2026.07`. Default: that of a runtime that is there, else the newest. */
  runtimeVersion?: string | undefined;
  /** Whether closing deletes the Colab runtime, where it was made for this solver. Default false. */
  deleteRuntime?: boolean | undefined;
  /** Steps that may run scripts. Default 20. */
  maxSteps?: number | undefined;
  /** Limit of a whole run. Default none. */
  timeoutMs?: number | undefined;
  /** Limit of one script. Default 300,000 (five minutes). */
  executionTimeoutMs?: number | undefined;
  /** Whether embedded scripts must be kept apart from the machine. Default `auto`. */
  isolation?: 'auto' | 'required' | 'none' | undefined;
  /** Lets isolated scripts use the network. Default false. */
  allowNetwork?: boolean | undefined;
  /** Default `warn`. */
  logLevel?: LogLevel | undefined;
  /** Default `process.env`. */
  env?: NodeJS.ProcessEnv | undefined;
}

export const imageOptions = ['auto', 'in-response', 'beside', 'none'] as const;
export type ImageOption = (typeof imageOptions)[number];

export type ModelConfig =
  | { kind: 'gemini'; id: string; apiKey: string; baseUrl?: string; images: ImageOption }
  | { kind: 'replay'; path: string };

export type SandboxConfig =
  | {
      kind: 'local';
      isolation: 'auto' | 'required' | 'none';
      allowNetwork: boolean;
      /** Where the interpreter and the cache folder are looked for; never handed to a kernel. */
      env: NodeJS.ProcessEnv;
    }
  | {
      kind: 'colab';
      url: string;
      /** Absent: Application Default Credentials. */
      accessToken?: string;
      quotaProject?: string;
      accelerator: string;
      runtime?: string;
      runtimeVersion?: string;
      deleteRuntime: boolean;
      /** Where the ledger of what we opened is. */
      stateFolder: string;
    };

/** What holds for every run of a solver. */
export interface RunConfig {
  readonly maxSteps: number;
  readonly timeoutMs: number | undefined;
  readonly executionTimeoutMs: number;
  readonly logLevel: LogLevel;
}

/** What a run may be told for itself. */
export interface RunLimits {
  /** Steps that may run scripts. Default: the solver's. */
  maxSteps?: number | undefined;
  /** Limit of this run in milliseconds. Default: the solver's. */
  timeoutMs?: number | undefined;
}

export const COLAB_MCP_URL = 'https://colaboratory.googleapis.com/mcp';
export const DEFAULT_MODEL = 'gemini-flash-latest';
export const DEFAULT_MAX_STEPS = 20;
export const DEFAULT_EXECUTION_TIMEOUT_MS = 300_000;
/** A script may run for a day. */
const MAX_EXECUTION_TIMEOUT_MS = 86_400_000;

const milliseconds = z.number().positive('must be more than 0');

/** Names, each with a shape where one is wanted; which there are, the server says. */
const ACCELERATORS = /^\s*[\w-]+(\s*:\s*[\w-]+)?(\s*,\s*[\w-]+(\s*:\s*[\w-]+)?)*\s*$/;

const OptionsSchema = z.strictObject({
  model: z.string().min(1, 'must not be empty').default(DEFAULT_MODEL),
  apiKey: z.string().optional(),
  baseUrl: z.string().optional(),
  images: z.enum(imageOptions).default('auto'),
  sandbox: z.string().min(1, 'must not be empty').default('local'),
  accelerator: z
    .string()
    .regex(ACCELERATORS, 'must be a name such as T4, L4:HIGHMEM, or several such as A100,L4,T4')
    .optional(),
  runtime: z
    .string()
    .regex(/^runtimes\/[^/]+$/, 'must look like runtimes/{id}')
    .optional(),
  runtimeVersion: z.string().regex(/^\S+$/, 'must be a label such as 2026.07').optional(),
  deleteRuntime: z.boolean().default(false),
  maxSteps: z
    .number()
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .default(DEFAULT_MAX_STEPS),
  timeoutMs: milliseconds.optional(),
  executionTimeoutMs: milliseconds
    .max(MAX_EXECUTION_TIMEOUT_MS, 'must be at most a day')
    .default(DEFAULT_EXECUTION_TIMEOUT_MS),
  isolation: z.enum(['auto', 'required', 'none']).default('auto'),
  allowNetwork: z.boolean().default(false),
  logLevel: z.enum(logLevels).default('warn'),
  env: z.custom<NodeJS.ProcessEnv>().optional(),
});
type CheckedOptions = z.infer<typeof OptionsSchema>;

/*
 * The three parts are resolved apart, since a command may need only one: replaying needs no key, a sandbox of the
 * caller's no URL. Each throws ConfigError naming the option and the remedy, and none opens anything.
 */

export function resolveRunConfig(options: ConfigOptions): RunConfig {
  const { maxSteps, timeoutMs, executionTimeoutMs, logLevel } = check(options);
  return Object.freeze({ maxSteps, timeoutMs, executionTimeoutMs, logLevel });
}

/** A solver's limits for one run, with the run's own in their place. */
export function narrowRunConfig(config: RunConfig, own: RunLimits): RunConfig {
  const { maxSteps = config.maxSteps, timeoutMs = config.timeoutMs } = own;
  return resolveRunConfig({ ...config, maxSteps, timeoutMs });
}

export function resolveModelConfig(options: ConfigOptions): ModelConfig {
  return Object.freeze(modelConfig(check(options), options.env ?? process.env));
}

export function resolveSandboxConfig(options: ConfigOptions): SandboxConfig {
  return Object.freeze(sandboxConfig(check(options), options.env ?? process.env));
}

function check(options: ConfigOptions): CheckedOptions {
  const parsed = OptionsSchema.safeParse(options);
  if (!parsed.success) throw badOption(parsed.error);
  return parsed.data;
}

function badOption(error: z.ZodError): ConfigError {
  const lines = error.issues.map(({ path, message }) => `${path.join('.')} ${message}`.trim());
  return new ConfigError('BAD_OPTION', `Bad option: ${lines.join('; ')}.`, { cause: error });
}

function modelConfig(options: CheckedOptions, env: NodeJS.ProcessEnv): ModelConfig {
  if (options.model.startsWith('replay:')) {
    const path = options.model.slice('replay:'.length);
    if (path === '') {
      throw new ConfigError(
        'BAD_OPTION',
        'model replay: names no file. Write replay:<recorded.jsonl>.',
      );
    }
    return { kind: 'replay', path };
  }
  const keys = [options.apiKey, env['GOOGLE_API_KEY'], env['GEMINI_API_KEY']];
  const apiKey = keys.map((key) => key?.trim()).find((key) => key !== undefined && key !== '');
  if (apiKey === undefined) {
    throw new ConfigError(
      'MISSING_KEY',
      `No API key for the model ${options.model}. Set GEMINI_API_KEY (get one at https://aistudio.google.com/apikey), ` +
        'or play recorded runs without a key: --model replay:<recorded.jsonl>.',
    );
  }
  const baseUrl = options.baseUrl ?? (env['GOOGLE_GEMINI_BASE_URL'] || undefined);
  if (baseUrl !== undefined)
    requireSafeUrl(baseUrl, 'The Gemini base URL (GOOGLE_GEMINI_BASE_URL)');
  return {
    kind: 'gemini',
    id: options.model,
    apiKey,
    images: options.images,
    ...(baseUrl !== undefined && { baseUrl }),
  };
}

/** Nobody should believe to compute on a GPU because an option was passed over in silence. */
function refuseColabOptions(options: CheckedOptions): void {
  const names = ['accelerator', 'runtime', 'runtimeVersion'] as const;
  const given = names.find((name) => options[name] !== undefined);
  if (given === undefined) return;
  throw new ConfigError(
    'BAD_OPTION',
    `${given} is for Colab runtimes; the local sandbox has none to choose from. Add sandbox colab, or leave it out.`,
  );
}

function sandboxConfig(options: CheckedOptions, env: NodeJS.ProcessEnv): SandboxConfig {
  if (options.sandbox === 'local') {
    refuseColabOptions(options);
    return { kind: 'local', isolation: options.isolation, allowNetwork: options.allowNetwork, env };
  }
  const url = options.sandbox === 'colab' ? env['COLAB_MCP_URL'] || COLAB_MCP_URL : options.sandbox;
  if (options.sandbox !== 'colab' && !/^https?:\/\//.test(url)) {
    throw new ConfigError(
      'BAD_OPTION',
      `sandbox "${options.sandbox}" is not known. Use local, colab, or the URL of a Colab MCP server (https://…/mcp).`,
    );
  }
  requireSafeUrl(url, 'The Colab MCP URL');
  const accessToken = env['COLAB_ACCESS_TOKEN']?.trim() || undefined;
  if (accessToken === undefined && !new URL(url).hostname.endsWith('.googleapis.com')) {
    throw new ConfigError(
      'MISSING_KEY',
      `No access token for ${url}. Set COLAB_ACCESS_TOKEN to the token that server printed; ` +
        'Google credentials are sent to Google only.',
    );
  }
  const quotaProject = env['GOOGLE_CLOUD_QUOTA_PROJECT']?.trim() || undefined;
  return {
    kind: 'colab',
    url,
    ...(accessToken !== undefined && { accessToken }),
    ...(quotaProject !== undefined && { quotaProject }),
    accelerator: options.accelerator ?? 'NONE',
    ...(options.runtime !== undefined && { runtime: options.runtime }),
    ...(options.runtimeVersion !== undefined && { runtimeVersion: options.runtimeVersion }),
    deleteRuntime: options.deleteRuntime,
    stateFolder: stateFolder(env),
  };
}
