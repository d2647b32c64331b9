import { readFile, writeFile } from 'node:fs/promises';
import { SandboxError } from '../../src/errors.js';
import type {
  ExecutionResult,
  OutputChunk,
  RichOutput,
  SandboxFile,
} from '../../src/sandbox/execution.js';
import type { ExecuteOptions, Sandbox, Session } from '../../src/sandbox/sandbox.js';

type Ending =
  | { value: string }
  | { error: { name: string; value: string; traceback?: string[] } }
  | { limitMs: number };

/** What it displays and writes beside that. */
interface Made {
  richOutputs?: RichOutput[];
  changedFiles?: SandboxFile[];
}

/** What a script does in the double: prints, then ends. Throwing stands for a failing sandbox. */
export type Script = (
  code: string,
  context: { print(text: string, stream?: OutputChunk['stream']): void; options: ExecuteOptions },
) => (Ending & Made) | Promise<Ending & Made>;

/** By which a pool takes note of a session's state and restores it; not of interest here. */
const POOL_SCRIPT = /session_reset|colab_session_baseline/;

/** A sandbox in memory that runs `script` in place of Python and keeps a record of what was asked of it. */
export class ScriptedSandbox implements Sandbox {
  readonly description = 'a scripted sandbox';
  readonly codes: string[] = [];
  /** What a session finds where it looks for a file. */
  readonly files = new Map<string, Uint8Array | Error>();
  readonly uploads: { session: string; path: string; text: string }[] = [];
  opened = 0;
  open = 0;
  readonly #script: Script;

  constructor(script: Script = () => ({ value: '' })) {
    this.#script = script;
  }

  openSession(): Promise<Session> {
    this.opened += 1;
    this.open += 1;
    const name = `runtimes/scripted/sessions/s${this.opened}`;
    let isOpen = true;
    return Promise.resolve({
      name,
      execute: (code, options) => this.#execute(code, options),
      uploadFile: async (path, content) => {
        const bytes = content instanceof Uint8Array ? content : await readFile(content.path);
        this.uploads.push({ session: name, path, text: Buffer.from(bytes).toString() });
      },
      listFiles: () => Promise.resolve([]),
      downloadFile: (path) => this.#read(path, isOpen),
      saveFile: async (path, target) => writeFile(target, await this.#read(path, isOpen)),
      close: () => {
        if (isOpen) this.open -= 1;
        isOpen = false;
        return Promise.resolve();
      },
    });
  }

  #read(path: string, isOpen: boolean): Promise<Uint8Array> {
    const content = this.files.get(path) ?? new SandboxError('NOT_FOUND', `No ${path}.`);
    if (!isOpen) return Promise.reject(new SandboxError('CLOSED', 'The session is closed.'));
    return content instanceof Error ? Promise.reject(content) : Promise.resolve(content);
  }

  async #execute(code: string, options: ExecuteOptions): Promise<ExecutionResult> {
    options.signal?.throwIfAborted();
    const printed = { stdout: '', stderr: '' };
    const bare = { outputTruncated: false, richOutputs: [], durationMs: 1 };
    if (POOL_SCRIPT.test(code)) {
      return { ...bare, status: 'ok', stdout: '{"problems":[]}', stderr: '', value: '' };
    }
    this.codes.push(code);
    const ending = await this.#script(code, {
      options,
      print(text, stream = 'stdout') {
        printed[stream] += text;
        options.onOutput?.({ stream, text });
      },
    });
    const { richOutputs = [], changedFiles = [] } = ending;
    const base = { ...bare, richOutputs, changedFiles };
    if ('value' in ending) return { ...base, ...printed, status: 'ok', value: ending.value };
    if ('limitMs' in ending)
      return { ...base, ...printed, status: 'deadline-exceeded', limitMs: ending.limitMs };
    const error = { traceback: [], ...ending.error };
    return { ...base, ...printed, status: 'failed', error };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
