/** A piece of text a running script printed, as it appeared. */
export interface OutputChunk {
  stream: 'stdout' | 'stderr';
  text: string;
}

/** Something a script displayed, as a notebook would show it: a chart, an image, a table, a formula. */
export interface RichOutput {
  /** Position among the execution's rich outputs, from 0. */
  index: number;
  mimeTypes: string[];
  /** Content by MIME type, a Jupyter MIME bundle: images but SVG in base64; absent where it was not kept or cannot be had. */
  data?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
  /** True for the value of the script's last expression, whose plain text is `value` of the result. */
  isValue?: boolean;
  /** Absolute path of the bundle on the runtime, where the server keeps it there. */
  filePath?: string;
  sizeBytes?: number;
  /** Why there is no `data`, as a sentence. */
  error?: string;
}

/** A file in a session's working directory. */
export interface SandboxFile {
  /** Relative to the working directory, with `/` between folders. */
  path: string;
  sizeBytes: number;
  /** RFC 3339. */
  modifiedAt: string;
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
  /** What was displayed, in order, in memory: at most 200 bundles and 64 MiB. */
  richOutputs: RichOutput[];
  /** Files in the working directory that are new or changed since the script began; absent where the sandbox does not tell. */
  changedFiles?: SandboxFile[];
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
