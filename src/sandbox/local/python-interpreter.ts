import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { ConfigError } from '../../errors.js';
import { installerEnvironment } from './installer-environment.js';

const OLDEST_MINOR = 10;
/** The newest with prebuilt packages for every pinned version. */
const NEWEST_MINOR = 14;
const PROBE_TIMEOUT_MS = 20_000;
const REMEDY =
  `Install Python 3.${OLDEST_MINOR} to 3.${NEWEST_MINOR} (Debian, Ubuntu: apt install python3 python3-venv; ` +
  'macOS: brew install python), or name an interpreter that has the packages in COLAB_SOLVER_PYTHON.';

const PROBE = `
import importlib.util, json, platform, sys, sysconfig
print(json.dumps({
  "path": sys.executable,
  "version": ".".join(map(str, sys.version_info[:3])),
  "implementation": platform.python_implementation(),
  "isFreeThreaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
  "missing": [name for name in sys.argv[1:] if importlib.util.find_spec(name) is None],
}))`;

const ProbeSchema = z.object({
  path: z.string(),
  version: z.string(),
  implementation: z.string(),
  isFreeThreaded: z.boolean(),
  missing: z.array(z.string()),
});
export type Interpreter = z.infer<typeof ProbeSchema>;

export interface InterpreterOptions {
  env: NodeJS.ProcessEnv;
  signal?: AbortSignal | undefined;
}

/**
 * The first CPython in PATH that an environment can be made with.
 * @throws {ConfigError} `PYTHON_NOT_FOUND`, saying what was found instead.
 */
export async function findInterpreter(options: InterpreterOptions): Promise<Interpreter> {
  const uvPath = await findProgram('uv', options.env);
  const rejected = new Set<string>();
  for (const path of await candidates(options.env)) {
    const probe = await probeInterpreter(path, ['venv', 'ensurepip'], options);
    const objection = probe && objectionTo(probe, uvPath !== undefined);
    if (probe && objection === undefined) return probe;
    rejected.add(probe ? `${probe.path} ${objection ?? ''}` : `${path} does not run`);
  }
  const found = rejected.size === 0 ? 'none is in PATH' : `found only ${[...rejected].join('; ')}`;
  throw new ConfigError('PYTHON_NOT_FOUND', `No usable Python: ${found}. ${REMEDY}`);
}

/** Undefined where it does not run. */
export async function probeInterpreter(
  path: string,
  modules: string[],
  { env, signal }: InterpreterOptions,
): Promise<Interpreter | undefined> {
  try {
    const { stdout } = await promisify(execFile)(path, ['-I', '-c', PROBE, ...modules], {
      env: installerEnvironment(env),
      timeout: PROBE_TIMEOUT_MS,
      ...(signal && { signal }),
    });
    return ProbeSchema.parse(JSON.parse(stdout));
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
}

export async function findProgram(
  name: string,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  for (const folder of searchPath(env)) {
    const path = join(folder, name);
    if (await isExecutable(path)) return path;
  }
  return undefined;
}

export async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** python3 before any numbered one, then the newest first; in each case in the order of PATH. */
async function candidates(env: NodeJS.ProcessEnv): Promise<string[]> {
  const minors = Array.from(
    { length: NEWEST_MINOR - OLDEST_MINOR + 1 },
    (_, index) => NEWEST_MINOR - index,
  );
  const paths: string[] = [];
  for (const name of ['python3', ...minors.map((minor) => `python3.${minor}`), 'python']) {
    for (const folder of searchPath(env)) {
      const path = join(folder, name);
      if (await isExecutable(path)) paths.push(path);
    }
  }
  return paths;
}

function searchPath(env: NodeJS.ProcessEnv): string[] {
  return [...new Set((env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== ''))];
}

function objectionTo(probe: Interpreter, hasUv: boolean): string | undefined {
  const [major = 0, minor = 0] = probe.version.split('.').map(Number);
  if (probe.implementation !== 'CPython') return `(${probe.implementation}, not CPython)`;
  if (probe.isFreeThreaded) return `(${probe.version} free-threaded, without prebuilt packages)`;
  if (major !== 3 || minor < OLDEST_MINOR) return `(${probe.version}, too old)`;
  if (minor > NEWEST_MINOR) return `(${probe.version}, too new for the pinned packages)`;
  if (!hasUv && probe.missing.length > 0) {
    return `(${probe.version} without ${probe.missing.join(', ')}; Debian and Ubuntu keep it in the package python3-venv)`;
  }
  return undefined;
}
