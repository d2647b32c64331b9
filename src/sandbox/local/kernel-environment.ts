import type { RuntimeFolders } from './runtime-folders.js';

/** Names of ours that a kernel may see. Everything else, keys and tokens above all, stays out. */
const PASSED_ON =
  /^(LANG|LC_\w+|TZ|SSL_CERT_FILE|SSL_CERT_DIR|LD_LIBRARY_PATH|(OMP|MKL|OPENBLAS|NUMEXPR|VECLIB)_\w*THREADS|OPENBLAS_CORETYPE|OPENBLAS_L2_SIZE)$/;

const PROXY = /^(https?|no|all)_proxy$/i;

export interface KernelEnvironmentOptions {
  /** As scripts see them. */
  folders: RuntimeFolders;
  /** Search path for programs. */
  path: string;
}

/** The environment of Jupyter and its kernels: an allow list, never the parent's own. */
export function kernelEnvironment(
  env: NodeJS.ProcessEnv,
  { folders, path }: KernelEnvironmentOptions,
): Record<string, string> {
  return {
    ...pick(env, (name, value) => PASSED_ON.test(name) || (PROXY.test(name) && isOpen(value))),
    PATH: path,
    HOME: folders.home,
    TMPDIR: folders.temporary,
    IPYTHONDIR: `${folders.home}/.ipython`,
    JUPYTER_CONFIG_DIR: `${folders.home}/.jupyter`,
    JUPYTER_DATA_DIR: `${folders.home}/.local/share/jupyter`,
    JUPYTER_RUNTIME_DIR: folders.run,
    MPLCONFIGDIR: `${folders.home}/.config/matplotlib`,
    // What scripts install is theirs alone; the environment is shared with later runtimes.
    PIP_TARGET: `${folders.home}/site-packages`,
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
    PIP_NO_INPUT: '1',
    PYTHONPATH: `${folders.home}/site-packages`,
    PYTHONUTF8: '1',
  };
}

/** Certificates that an allowed name points to, to be shown where files of the machine are hidden. */
export function certificatePaths(env: NodeJS.ProcessEnv): string[] {
  return [env['SSL_CERT_FILE'], env['SSL_CERT_DIR']].filter((path) => path !== undefined);
}

/** What the supervisor gets: enough to find a temporary folder. */
export function supervisorEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  return pick(env, (name) => /^(PATH|LANG|LC_\w+|TMPDIR|LD_LIBRARY_PATH)$/.test(name));
}

function pick(
  env: NodeJS.ProcessEnv,
  isPicked: (name: string, value: string) => boolean,
): Record<string, string> {
  const entries = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && isPicked(entry[0], entry[1]),
  );
  return Object.fromEntries(entries);
}

/** A proxy's address can hold a password. */
function isOpen(address: string): boolean {
  return !address.includes('@');
}
