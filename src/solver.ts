import type { Chat, ChatOptions } from './agent/chat/chat.js';
import { conversationsFolder } from './agent/chat/conversation-file.js';
import { Conversation } from './agent/chat/conversation.js';
import type { ChatWorkshop } from './agent/chat/conversation.js';
import { functionTable } from './agent/caller-function.js';
import type { CallerFunction } from './agent/caller-function.js';
import type { RunEvent, SolveResult } from './agent/events.js';
import { endOf } from './agent/end-of.js';
import { createGeminiModel } from './agent/gemini-model.js';
import type { Model } from './agent/model.js';
import type { BatchOptions } from './batch/batch-options.js';
import type { BatchSummary } from './batch/batch-summary.js';
import type { SampleInput } from './batch/sample.js';
import { createReplayModel } from './agent/replay-model.js';
import { solveStream } from './agent/solve.js';
import type { SolveOptions } from './agent/solve.js';
import type { Workshop } from './agent/workshop.js';
import {
  narrowRunConfig,
  resolveModelConfig,
  resolveRunConfig,
  resolveSandboxConfig,
} from './config.js';
import type { ConfigOptions, ModelConfig, RunConfig, RunLimits, SandboxConfig } from './config.js';
import { ConfigError } from './errors.js';
import { createLogger, createScrubber } from './logger.js';
import type { Logger, LogLevel } from './logger.js';
import type { Part } from './parts/part.js';
import { connectColab } from './sandbox/colab/colab-sandbox.js';
import { signIn } from './sandbox/colab/sign-in.js';
import { openLedger } from './sandbox/ledger.js';
import { openLocalSandbox } from './sandbox/local/local-sandbox.js';
import type { Sandbox } from './sandbox/sandbox.js';
import { LazyPool } from './sandbox/lazy-pool.js';
import type { LazyPoolOptions } from './sandbox/lazy-pool.js';
import { stateFolder } from './state-folder.js';
import { saveTranscript } from './transcript/transcript-file.js';

export interface SolverOptions extends Omit<ConfigOptions, 'model' | 'sandbox'> {
  /** A Gemini model id (default `gemini-flash-latest`), `replay:<recorded.jsonl>`, or a model of your own. */
  model?: string | Model | undefined;
  /** `local` (default), `colab`, the URL of a Colab MCP server, or a sandbox of your own, which is left open. */
  sandbox?: string | Sandbox | undefined;
  /** Functions the model may call beside `execute_code`. */
  functions?: readonly CallerFunction[] | undefined;
  /** Runs that compute at once; further ones wait for a session. Default 4. */
  maxSessions?: number | undefined;
  /** Told what takes time before a run, such as making the Python environment, and what a person should know. */
  onNotice?: ((text: string) => void) | undefined;
}

/** Keeps a sandbox and its sessions over many runs. */
export interface Solver extends AsyncDisposable {
  /**
   * Runs a prompt to its end.
   * @throws {ConfigError} {@link ModelError} {@link SandboxError}, or the signal's reason when cancelled.
   */
  solve(prompt: string | readonly Part[], options?: SolveOptions): Promise<SolveResult>;
  /** The same, event by event; `run-end` is the last. Leaving the loop early cancels the run. */
  stream(
    prompt: string | readonly Part[],
    options?: SolveOptions,
  ): AsyncGenerator<RunEvent, SolveResult, undefined>;
  /**
   * A conversation over one session, which it keeps to itself until it is closed.
   * @throws {ConfigError} where the conversation to resume is not there, or open in another process.
   */
  chat(options?: ChatOptions): Chat;
  /**
   * Runs the samples of a data set (JSON Lines, JSON or CSV, or a list) and grades their answers. What is finished is in
   * the folder `out`, and the same call goes on from there, however the last one ended. At its end the folder holds
   * `report.md` and `report.html`.
   * @throws {ConfigError} before anything runs; else what would fail every sample, or the signal's reason.
   */
  batch(dataset: string | readonly SampleInput[], options: BatchOptions): Promise<BatchSummary>;
  /** Ends what is open. Runs that still go on fail with `CLOSED`, and so do later ones. */
  close(): Promise<void>;
}

/** @throws {ConfigError} for bad options or an unreadable recorded run, before a sandbox is opened. */
export async function createSolver(options: SolverOptions = {}): Promise<Solver> {
  const { model, sandbox, functions = [], maxSessions = 4, onNotice, ...rest } = options;
  const limits = resolveRunConfig(rest);
  const poolSize = checkMaxSessions(maxSessions);
  const logger = runLogger(limits.logLevel, rest);
  const table = functionTable(functions);
  const place =
    typeof sandbox === 'object'
      ? givenPlace(sandbox)
      : configuredPlace(resolveSandboxConfig({ ...rest, sandbox }), {
          logger,
          ...(onNotice !== undefined && { onNotice }),
        });
  const chosenModel =
    typeof model === 'object' ? model : await openModel(resolveModelConfig({ ...rest, model }));
  const tools = { model: chosenModel, functions: table, limits, logger };
  const { env = process.env } = rest;
  return solverIn(place, tools, {
    maxSessions: poolSize,
    folder: conversationsFolder(stateFolder(env)),
    saveTranscript,
    openModel: async (id) => openModel(resolveModelConfig({ ...rest, model: id })),
  });
}

function checkMaxSessions(count: number): number {
  if (Number.isInteger(count) && count >= 1) return count;
  throw new ConfigError('BAD_OPTION', 'Bad option: maxSessions must be a whole number from 1 on.');
}

/** One prompt with everything opened before and closed after it. */
export async function solve(
  prompt: string | readonly Part[],
  options: SolverOptions & SolveOptions = {},
): Promise<SolveResult> {
  const { files, keptBytes, signal, ...solverOptions } = options;
  const solver = await createSolver({ ...solverOptions, maxSessions: 1 });
  try {
    return await solver.solve(prompt, { files, keptBytes, signal });
  } finally {
    // What cannot be closed must not take the place of the answer, or of the error that says why there is none.
    await solver.close().catch((error: unknown) => {
      options.onNotice?.(`Not all could be closed. ${String(error)}`);
    });
  }
}

export interface OpenHooks {
  logger?: Logger;
  onNotice?: (text: string) => void;
  signal?: AbortSignal;
}

/** Opens the sandbox that the configuration names; closing it ends what was started for it. */
export async function openSandbox(config: SandboxConfig, hooks: OpenHooks = {}): Promise<Sandbox> {
  if (config.kind === 'local') return openLocalSandbox({ ...config, ...hooks });
  const { kind: _, accessToken, stateFolder: folder, ...rest } = config;
  const ledger = openLedger(folder, hooks.onNotice);
  return connectColab({ ...rest, ...hooks, ledger, signIn: signIn(accessToken) });
}

/** The model that the configuration names. */
export function openModel(config: ModelConfig): Promise<Model> | Model {
  if (config.kind === 'replay') return createReplayModel(config.path);
  const { id, apiKey, baseUrl, images } = config;
  return createGeminiModel({
    model: id,
    apiKey,
    ...(baseUrl !== undefined && { baseUrl }),
    ...(images !== 'auto' && { images }),
  });
}

/** Every secret we are told is known to the log, so that it takes it out wherever it turns up. */
function runLogger(level: LogLevel, { apiKey, env = process.env }: ConfigOptions): Logger {
  const secrets = [
    apiKey,
    ...['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'COLAB_ACCESS_TOKEN'].map((name) => env[name]),
  ];
  return createLogger({ level, scrubber: createScrubber(secrets) });
}

const PYTHON_FACT =
  'Python 3 with numpy, pandas, scipy, sympy, matplotlib, scikit-learn and statsmodels is installed.';
const NO_NETWORK_FACT = 'There is no network: nothing can be downloaded or installed.';
const NETWORK_FACT = 'The network can be used, also to install packages with pip.';

type Place = Pick<Workshop, 'facts' | 'opensEarly'> &
  Omit<LazyPoolOptions, 'size'> & {
    /** What transcripts say in place of the sandbox's own description. */
    runtime?: string;
    /** What results may depend on: the sort of sandbox, not where it happens to be. */
    kind: string;
  };

/** A sandbox of the caller's is used as it is and left open. */
function givenPlace(sandbox: Sandbox): Place {
  return {
    facts: { python: PYTHON_FACT, network: '' },
    opensEarly: false,
    open: () => Promise.resolve(sandbox),
    ownsSandbox: false,
    kind: 'given',
  };
}

function configuredPlace(config: SandboxConfig, hooks: OpenHooks): Place {
  const hasNetwork = config.kind === 'colab' || config.allowNetwork;
  return {
    facts: { python: PYTHON_FACT, network: hasNetwork ? NETWORK_FACT : NO_NETWORK_FACT },
    // A Colab runtime costs quota, so it is asked for only when there is code to run.
    opensEarly: config.kind === 'local',
    open: (signal) => openSandbox(config, { ...hooks, signal }),
    ownsSandbox: true,
    ...(config.kind === 'local' && { runtime: 'local sandbox' }),
    kind: config.kind === 'local' ? 'local' : `colab ${config.accelerator}`,
  };
}

function solverIn(
  { facts, opensEarly, open, ownsSandbox, runtime, kind }: Place,
  tools: Pick<Workshop, 'model' | 'functions' | 'limits' | 'logger'>,
  {
    maxSessions,
    ...ofChats
  }: Pick<ChatWorkshop, 'folder' | 'openModel' | 'saveTranscript'> & { maxSessions: number },
): Solver {
  const pool = new LazyPool({ open, ownsSandbox, size: maxSessions });
  const workshop = {
    ...tools,
    facts,
    opensEarly,
    runtime: () => runtime ?? pool.description,
    closed: pool.closed,
    lease: (signal: AbortSignal) => pool.lease(signal),
  };
  const limitsFor = (own: RunLimits): RunConfig => narrowRunConfig(tools.limits, own);
  const streamWith = (model: Model, prompt: string | readonly Part[], options: SolveOptions) =>
    solveStream({ ...workshop, model, limits: limitsFor(options) }, prompt, options);
  const stream: Solver['stream'] = (prompt, options = {}) =>
    streamWith(tools.model, prompt, options);
  return {
    solve: async (prompt, options) => endOf(stream(prompt, options)),
    stream,
    chat: (options) => new Conversation({ ...workshop, ...ofChats, limitsFor }, options),
    async batch(dataset, options) {
      // Only who evaluates pays for loading it.
      const { runBatch } = await import('./batch/batch.js');
      const { writeReport } = await import('./batch/report/write-report.js');
      const { maxSteps, timeoutMs = null, executionTimeoutMs } = tools.limits;
      const summary = await runBatch(dataset, options, {
        stream: (prompt, runOptions, meter) => streamWith(meter(tools.model), prompt, runOptions),
        model: tools.model,
        lease: workshop.lease,
        maxSessions,
        costOf: () => undefined,
        settings: { sandbox: kind, maxSteps, timeoutMs, executionTimeoutMs },
      });
      await writeReport(options.out, { signal: options.signal });
      return summary;
    },
    close: () => pool.close(),
    [Symbol.asyncDispose]: () => pool.close(),
  };
}
