import type { ExecutionResult, OutputChunk, SandboxFile } from './execution.js';

export interface ExecuteOptions {
  /** Cancels the script: the kernel is interrupted, then the signal's reason is rethrown. */
  signal?: AbortSignal;
  /** The script's own limit in milliseconds; then it is interrupted and the result is `deadline-exceeded`. */
  timeoutMs: number;
  /** Called for each piece of output as it appears. */
  onOutput?: (chunk: OutputChunk) => void;
}

/** What a file is to hold: bytes, or what a file on this machine holds, which is never in memory as a whole. */
export type FileContent = Uint8Array | { path: string };

/** One kernel's state: variables, imports and working directory last from call to call. One call runs at a time. */
export interface Session {
  /** Resource name, `runtimes/{runtime}/sessions/{session}`. */
  readonly name: string;
  /**
   * Runs Python. Code that raises or runs too long is a value.
   * @throws {SandboxError} `SESSION_LOST` where the kernel or runtime is gone, `EXECUTION_UNKNOWN` where nobody can know
   * whether the code ran; other codes as in docs/errors.md.
   */
  execute(code: string, options: ExecuteOptions): Promise<ExecutionResult>;
  /**
   * Puts a file into the working directory under `path`, making folders as needed. That it arrived whole is checked from
   * inside the session, so this waits for a script that runs there.
   */
  uploadFile(path: string, content: FileContent, options?: { signal?: AbortSignal }): Promise<void>;
  /**
   * The working directory's files, those in folders included, sorted by path; hidden and unreadable ones are left out, and
   * of more than 10,000 files or 200 folders those that lie deepest.
   */
  listFiles(options?: { signal?: AbortSignal }): Promise<SandboxFile[]>;
  downloadFile(path: string, options?: { signal?: AbortSignal }): Promise<Uint8Array>;
  /** Downloads to the file `target` on this machine, piece by piece; it appears, or is replaced, when it is whole. */
  saveFile(path: string, target: string, options?: { signal?: AbortSignal }): Promise<void>;
  /** Deletes the session on the server; a second call does nothing. */
  close(): Promise<void>;
}

/** A place where code runs: a Colab runtime, ours or Google's. */
export interface Sandbox extends AsyncDisposable {
  /** For people, such as `local Jupyter (Python 3.12.4, isolated)`. */
  readonly description: string;
  openSession(options?: { signal?: AbortSignal }): Promise<Session>;
  /** Closes every session we opened and, for an embedded sandbox, ends its processes. */
  close(): Promise<void>;
}
