import type { OutputChunk } from '../execution.js';

/** How one script ended on a kernel, before Colab's own shaping. */
export type KernelReply =
  | { status: 'ok'; value: string; executionCount: number }
  | {
      status: 'error';
      name: string;
      message: string;
      traceback: string[];
      executionCount: number;
    };

/** Gets output as it appears; while its promise is pending, no more is read from the kernel. */
export type OutputListener = (chunk: OutputChunk) => void | Promise<void>;

/** One Jupyter kernel of a runtime. */
export interface Kernel {
  /**
   * Sends one execute request with stdin refused; calls must not overlap.
   * `onOutput` gets stdout and stderr as they appear; all output has been delivered when the promise settles.
   * @throws {SandboxError} `SESSION_LOST` when the kernel dies or restarts meanwhile.
   */
  execute(code: string, onOutput: OutputListener): Promise<KernelReply>;
  /** SIGINT to the kernel; does nothing when it is idle. */
  interrupt(): Promise<void>;
}

/** One real `jupyter_server` process with its kernels; the VM of the embedded sandbox. */
export interface JupyterRuntime extends AsyncDisposable {
  /** `major.minor.patch` of the interpreter. */
  readonly pythonVersion: string;
  /** How scripts are kept apart from the machine, for people. */
  readonly isolation: Isolation;
  /** Where scripts start: `/content` under isolation, else a folder of the runtime's own. Path as scripts see it. */
  readonly workingDirectory: string;
  /** Where Jupyter's HTTP API listens (a unix socket) and the token it wants; never shown to anybody. */
  readonly api: { socketPath: string; token: string };
  /** Create-or-get: Jupyter's session of that id and its kernel, connected and ready. */
  openSession(sessionId: string): Promise<Kernel>;
  /** Ids of all open Jupyter sessions, those that others opened included. */
  listSessions(): Promise<string[]>;
  /** Ends the session's kernel; an unknown id is an error `NOT_FOUND`. */
  deleteSession(sessionId: string): Promise<void>;
  /** Settles (never rejects) when the process has ended, by whatever cause; the text says why. */
  readonly exited: Promise<string>;
  /** Ends the process and everything it started, removes its folders. A second call waits for the first. */
  close(): Promise<void>;
}

export interface Isolation {
  kind: 'bubblewrap' | 'none';
  /** One line for people: what holds, or why there is none and what would mend it. */
  explanation: string;
}

export interface RuntimeOptions {
  /** Interpreter with jupyter_server and ipykernel. */
  pythonPath: string;
  isolation: 'auto' | 'required' | 'none';
  /** Only matters under isolation. */
  allowNetwork: boolean;
  signal?: AbortSignal;
}
