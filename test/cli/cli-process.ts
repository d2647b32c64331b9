import { execFile, spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const MAIN = `${root}/src/cli/main.ts`;
/** What a person's shell may hold and a test must not depend on. */
const UNWANTED = /^(GEMINI_|GOOGLE_|COLAB_(?!SOLVER_)|NO_COLOR$|FORCE_COLOR$)/;

export interface CliOptions {
  env?: Record<string, string>;
  /** Standard input; default empty. */
  input?: string | Uint8Array;
  /** Standard output and standard error are one terminal of this many columns; its output comes as `stdout`. */
  terminal?: { columns: number };
  /** Standard output goes into this file. */
  stdoutPath?: string;
}

export interface CliEnd {
  /** Null where a signal ended it. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The real command line as a process of its own. */
export class CliProcess implements AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<CliEnd>;
  stdout = '';
  stderr = '';
  #onOutput: () => void = () => undefined;

  constructor(
    args: readonly string[],
    { env = {}, input = '', terminal, stdoutPath }: CliOptions = {},
  ) {
    const node = [process.execPath, '--import', 'tsx', MAIN, ...args];
    const command =
      stdoutPath === undefined ? node : ['sh', '-c', `exec "$@" >"$0"`, stdoutPath, ...node];
    const [program = '', ...rest] =
      terminal === undefined ? command : inTerminal(command, terminal);
    this.child = spawn(program, rest, { cwd: root, env: { ...cleanEnvironment(), ...env } });
    for (const name of ['stdout', 'stderr'] as const) {
      this.child[name].setEncoding('utf8').on('data', (text: string) => {
        this[name] += text;
        this.#onOutput();
      });
    }
    this.child.stdin.on('error', () => undefined);
    this.child.stdin.end(input);
    this.ended = once(this.child, 'close').then(([code]) => ({
      code: code as number | null,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Resolves as soon as one of the streams holds the pattern; rejects when the process ends without. */
  async printed(name: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray> {
    const matched = new Promise<RegExpExecArray>((resolve) => {
      this.#onOutput = () => {
        const match = pattern.exec(this[name]);
        if (match !== null) resolve(match);
      };
      this.#onOutput();
    });
    const ended = this.ended.then((end) => {
      throw new Error(`it ended without ${String(pattern)}: ${JSON.stringify(end)}`);
    });
    return Promise.race([matched, ended]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.kill('SIGKILL');
    await this.ended;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}

/** Python is needed anyway, and its standard library can open a terminal; Node's cannot. */
const OPEN_TERMINAL = `
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    os.write(1, data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

function inTerminal(command: readonly string[], { columns }: { columns: number }): string[] {
  return ['python3', '-c', OPEN_TERMINAL, String(columns), ...command];
}

export function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !UNWANTED.test(name)));
}

export interface ProcessRow {
  pid: number;
  parent: number;
  command: string;
}

export async function allProcesses(): Promise<ProcessRow[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args='], {
    maxBuffer: 16 * 1024 * 1024,
  });
  return stdout.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line);
    if (match === null) return [];
    return [{ pid: Number(match[1]), parent: Number(match[2]), command: match[3] ?? '' }];
  });
}

/** The processes that `pid` started, and those that they started. */
export async function descendantsOf(pid: number): Promise<ProcessRow[]> {
  const all = await allProcesses();
  const found: ProcessRow[] = [];
  for (let parents = [pid]; parents.length > 0;) {
    const children = all.filter(({ parent }) => parents.includes(parent));
    found.push(...children);
    parents = children.map((child) => child.pid);
  }
  return found;
}
