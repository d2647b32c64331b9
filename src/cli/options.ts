import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import {
  DEFAULT_EXECUTION_TIMEOUT_MS,
  DEFAULT_MAX_STEPS,
  DEFAULT_MODEL,
  imageOptions,
} from '../config.js';
import type { ImageOption } from '../config.js';
import { logLevels } from '../logger.js';
import type { LogLevel } from '../logger.js';
import type { SolverOptions } from '../solver.js';

export interface SandboxFlags {
  sandbox: string;
  accelerator?: string;
  runtime?: string;
  runtimeVersion?: string;
  deleteRuntime?: boolean;
  isolation: 'auto' | 'required' | 'none';
  allowNetwork?: boolean;
  executionTimeout: number;
  logLevel: LogLevel;
}

export interface RunFlags extends SandboxFlags {
  model: string;
  images: ImageOption;
  file?: string[];
  maxSteps: number;
  timeout?: number;
}

/** Seconds, fractions allowed. */
export function seconds(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('Give seconds as a number above 0, such as 90 or 0.5.');
}

export function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a whole number from 1 upwards.');
}

export function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('Give a port from 1 to 65535, or 0 for any that is free.');
}

function oneMore(path: string, paths: string[] = []): string[] {
  return [...paths, path];
}

export function addModelOptions(command: Command): Command {
  return command
    .optionsGroup('Model:')
    .option(
      '--model <id>',
      'a Gemini model, or replay:<recorded.jsonl> to take its turns from recorded runs',
      DEFAULT_MODEL,
    )
    .addOption(
      new Option('--images <how>', 'how the model is given charts that scripts display')
        .choices(imageOptions)
        .default('auto'),
    );
}

export function addFileOption(command: Command): Command {
  return command.option(
    '--file <path>',
    'a file that scripts find in their working directory (repeatable)',
    oneMore,
  );
}

/** Where code runs, for every command that runs some. */
export function addSandboxOptions(command: Command): Command {
  return addIsolationOptions(
    command
      .optionsGroup('Sandbox:')
      .option('--sandbox <where>', WHERE, 'local')
      .option(
        '--accelerator <names>',
        'accelerator of the Colab runtime: T4, L4:HIGHMEM, or A100,L4,T4 to try in order',
      )
      .option('--runtime <name>', 'the Colab runtime to use, runtimes/{id}')
      .option('--runtime-version <label>', 'image of the Colab runtime, such as 2026.07')
      .option(
        '--delete-runtime',
        'delete the Colab runtime at the end, if it was made for this run',
      ),
  );
}

const WHERE = 'local, colab, or the URL of a Colab MCP server';

/** Which endpoint, for commands that run nothing there. */
export function addEndpointOption(command: Command): Command {
  return command.option('--sandbox <where>', WHERE, 'local');
}

export function addIsolationOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--isolation <how>', 'keep local scripts apart from this machine')
        .choices(['auto', 'required', 'none'])
        .default('auto'),
    )
    .option('--allow-network', 'let isolated local scripts use the network');
}

export function addExecutionTimeoutOption(command: Command): Command {
  return command.option(
    '--execution-timeout <seconds>',
    'limit of one script',
    seconds,
    DEFAULT_EXECUTION_TIMEOUT_MS / 1000,
  );
}

export function addLimitOptions(command: Command): Command {
  return addExecutionTimeoutOption(
    command
      .optionsGroup('Limits:')
      .option('--max-steps <n>', 'steps that may run scripts', wholeNumber, DEFAULT_MAX_STEPS)
      .option('--timeout <seconds>', 'limit of the whole run (default: none)', seconds),
  );
}

export function addLogLevelOption(command: Command): Command {
  return command.addOption(
    new Option('--log-level <level>', 'what is logged to standard error; silent hides progress too')
      .choices(logLevels)
      .default('warn'),
  );
}

export function sandboxOptions(flags: SandboxFlags, env: NodeJS.ProcessEnv) {
  return {
    sandbox: flags.sandbox,
    ...(flags.accelerator !== undefined && { accelerator: flags.accelerator }),
    ...(flags.runtime !== undefined && { runtime: flags.runtime }),
    ...(flags.runtimeVersion !== undefined && { runtimeVersion: flags.runtimeVersion }),
    deleteRuntime: flags.deleteRuntime ?? false,
    isolation: flags.isolation,
    allowNetwork: flags.allowNetwork ?? false,
    executionTimeoutMs: flags.executionTimeout * 1000,
    logLevel: flags.logLevel,
    env,
  } satisfies SolverOptions;
}

export function runOptions(flags: RunFlags, env: NodeJS.ProcessEnv) {
  return {
    ...sandboxOptions(flags, env),
    model: flags.model,
    images: flags.images,
    maxSteps: flags.maxSteps,
    ...(flags.timeout !== undefined && { timeoutMs: flags.timeout * 1000 }),
  } satisfies SolverOptions;
}
