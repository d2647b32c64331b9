import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../../errors.js';
import { cacheFolder } from './cache-folder.js';
import { buildEnvironment } from './environment-builder.js';
import { pythonFile } from './python-folder.js';
import { findInterpreter, isExecutable, probeInterpreter } from './python-interpreter.js';
import type { Interpreter } from './python-interpreter.js';

/** What scripts may count on and what Jupyter needs, by module name. */
const REQUIRED_MODULES = [
  'jupyter_server',
  'ipykernel',
  'numpy',
  'pandas',
  'scipy',
  'sympy',
  'matplotlib',
  'sklearn',
  'statsmodels',
  'openpyxl',
  'PIL',
];
const HASH_CHARACTERS = 12;
/** Written by make_environment.py when all is there. */
const COMPLETE = 'complete';

export interface PythonEnvironmentOptions {
  env: NodeJS.ProcessEnv;
  /** Gets lines for people while the environment is being made. */
  onProgress?: (line: string) => void;
  signal?: AbortSignal;
  /** Default: the package's own pinned list. */
  requirementsPath?: string;
}

/** What there is, found without changing anything. */
export type PythonEnvironmentState =
  | { status: 'named' | 'made'; pythonPath: string }
  | { status: 'to-be-made'; folder: string; interpreter: Interpreter }
  | { status: 'unusable'; error: ConfigError };

/**
 * Path of an interpreter with Jupyter and the libraries scripts may count on: the one named by `COLAB_SOLVER_PYTHON`,
 * else that of an environment in the cache folder, which is made on first use (a download of some 150 MB).
 * @throws {ConfigError} `PYTHON_NOT_FOUND`.
 * @throws {SandboxError} `PYTHON_SETUP_FAILED`, `DISK_FULL`.
 */
export async function ensurePythonEnvironment(options: PythonEnvironmentOptions): Promise<string> {
  const { env, signal } = options;
  signal?.throwIfAborted();
  const state = await findState(options);
  if (state.status !== 'to-be-made') return state.pythonPath;
  const { folder, interpreter } = state;
  await buildEnvironment({
    pythonPath: interpreter.path,
    folder,
    requirementsPath: requirementsPathOf(options),
    env,
    onProgress: options.onProgress ?? (() => undefined),
    signal,
  });
  return pythonOf(folder);
}

/** For `doctor`: changes nothing, and reports a missing Python as a state. */
export async function inspectPythonEnvironment(
  options: PythonEnvironmentOptions,
): Promise<PythonEnvironmentState> {
  try {
    return await findState(options);
  } catch (error) {
    if (error instanceof ConfigError) return { status: 'unusable', error };
    throw error;
  }
}

async function findState(
  options: PythonEnvironmentOptions,
): Promise<Exclude<PythonEnvironmentState, { status: 'unusable' }>> {
  const named = options.env['COLAB_SOLVER_PYTHON'];
  if (named !== undefined && named !== '') {
    await checkNamed(named, options);
    return { status: 'named', pythonPath: named };
  }
  const parent = cacheFolder(options.env);
  const hash = await hashOf(requirementsPathOf(options));
  const made = await findMade(parent, hash);
  if (made !== undefined) return { status: 'made', pythonPath: made };
  const interpreter = await findInterpreter(options);
  return { status: 'to-be-made', folder: join(parent, folderName(interpreter, hash)), interpreter };
}

async function checkNamed(path: string, options: PythonEnvironmentOptions): Promise<void> {
  const probe = await probeInterpreter(path, REQUIRED_MODULES, options);
  if (probe === undefined) {
    throw new ConfigError(
      'PYTHON_NOT_FOUND',
      `COLAB_SOLVER_PYTHON names ${path}, which does not run; name a Python 3.10 or newer, or unset it.`,
    );
  }
  if (probe.missing.length === 0) return;
  throw new ConfigError(
    'PYTHON_NOT_FOUND',
    `COLAB_SOLVER_PYTHON names ${path}, which lacks ${probe.missing.join(', ')}. ` +
      `Install them with: ${path} -m pip install -r ${pythonFile('requirements.in')} - or unset it.`,
  );
}

/** Any complete environment of these requirements will do; the newest Python first. No interpreter is started. */
async function findMade(parent: string, hash: string): Promise<string | undefined> {
  const names = await readdir(parent).catch(() => []);
  const pattern = new RegExp(`^python-3\\.(\\d+)-${hash}$`);
  const minors = names.flatMap((name) => pattern.exec(name)?.[1] ?? []).map(Number);
  for (const minor of minors.sort((a, b) => b - a)) {
    const folder = join(parent, `python-3.${minor}-${hash}`);
    // The interpreter is a link to the one it was made with, which may be gone by now.
    if ((await isComplete(folder)) && (await isExecutable(pythonOf(folder)))) {
      return pythonOf(folder);
    }
  }
  return undefined;
}

async function isComplete(folder: string): Promise<boolean> {
  return readFile(join(folder, COMPLETE)).then(
    () => true,
    () => false,
  );
}

async function hashOf(path: string): Promise<string> {
  const content = await readFile(path);
  return createHash('sha256').update(content).digest('hex').slice(0, HASH_CHARACTERS);
}

function folderName(interpreter: Interpreter, hash: string): string {
  const [major, minor] = interpreter.version.split('.');
  return `python-${major ?? ''}.${minor ?? ''}-${hash}`;
}

function pythonOf(folder: string): string {
  return join(folder, 'bin', 'python');
}

function requirementsPathOf(options: PythonEnvironmentOptions): string {
  return options.requirementsPath ?? pythonFile('requirements.txt');
}
