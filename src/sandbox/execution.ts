/** A piece of text a running script printed, as it appeared. */
export interface OutputChunk {
  stream: 'stdout' | 'stderr';
  text: string;
}

/** A non-text output (chart, table) that the server kept as a file on the runtime. */
export interface RichOutput {
  /** Position among the execution's rich outputs, from 0. */
  index: number;
  mimeTypes: string[];
  /** Absolute path on the runtime of a Jupyter MIME bundle; absent where the output was dropped. */
  filePath?: string;
  sizeBytes?: number;
  /** Why the output was dropped. */
  error?: string;
}

export interface PythonError {
  /** Exception class, such as `NameError`. */
  name: string;
  value: string;
  /** Formatted traceback as Jupyter gives it, possibly with ANSI codes. */
  traceback: string[];
}

interface ExecutionBase {
  stdout: string;
  stderr: string;
  /** True where the sandbox kept only the end of stdout or stderr. */
  outputTruncated: boolean;
  /** Jupyter's `In[n]`; informational. */
  executionCount?: number;
  richOutputs: RichOutput[];
  durationMs: number;
}

/** What became of one script. Failing code is a value; only a failing sandbox throws. */
export type ExecutionResult =
  | (ExecutionBase & {
      status: 'ok';
      /** text/plain of the last expression's value; empty where there is none. */
      value: string;
    })
  | (ExecutionBase & { status: 'failed'; error: PythonError })
  | (ExecutionBase & {
      status: 'deadline-exceeded';
      /** The limit that was reached, in milliseconds. */
      limitMs: number;
    });
