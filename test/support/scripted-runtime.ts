import { SandboxError } from '../../src/errors.js';
import type { OutputChunk } from '../../src/sandbox/execution.js';
import { defer } from '../../src/sandbox/local/deferred.js';
import type {
  JupyterRuntime,
  Kernel,
  KernelReply,
  OutputListener,
} from '../../src/sandbox/local/runtime.js';

/** What a script of the double can do. */
export interface ScriptedRun {
  readonly code: string;
  readonly sessionId: string;
  /** Settles when the server is ready for more. */
  print(text: string, stream?: OutputChunk['stream']): Promise<void>;
}

/** Stands for the code of that name; the string it returns is the last expression's value. */
export type Script = (run: ScriptedRun) => Promise<string | undefined> | string | undefined;

/** A runtime in memory: code is looked up in `scripts`; unknown code does nothing. */
export class ScriptedRuntime implements JupyterRuntime {
  readonly pythonVersion = '3.12.0';
  readonly isolation = { kind: 'none' as const, explanation: 'a double' };
  readonly workingDirectory = '/content';
  readonly api = { socketPath: '/nowhere', token: 'unused' };
  readonly scripts: Record<string, Script>;
  /** Code in the order in which it began to run. */
  readonly ran: string[] = [];
  interrupts = 0;
  ignoresInterrupts = false;
  readonly #kernels = new Map<string, ScriptedKernel>();
  readonly #exited = defer<string>();
  readonly exited = this.#exited.promise;

  constructor(scripts: Record<string, Script> = {}) {
    this.scripts = scripts;
  }

  async openSession(sessionId: string): Promise<Kernel> {
    await Promise.resolve();
    const kernel = this.#kernels.get(sessionId) ?? new ScriptedKernel(this, sessionId);
    this.#kernels.set(sessionId, kernel);
    return kernel;
  }

  listSessions(): Promise<string[]> {
    return Promise.resolve([...this.#kernels.keys()]);
  }

  async deleteSession(sessionId: string): Promise<void> {
    await Promise.resolve();
    if (!this.#kernels.has(sessionId))
      throw new SandboxError('NOT_FOUND', `There is no session ${sessionId}.`);
    this.killKernel(sessionId);
  }

  killKernel(sessionId: string): void {
    this.#kernels.get(sessionId)?.die();
    this.#kernels.delete(sessionId);
  }

  /** As if the process had ended by itself. */
  end(reason: string): void {
    for (const sessionId of [...this.#kernels.keys()]) this.killKernel(sessionId);
    this.#exited.resolve(reason);
  }

  close(): Promise<void> {
    this.end('closed');
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

class ScriptedKernel implements Kernel {
  readonly #runtime: ScriptedRuntime;
  readonly #sessionId: string;
  #count = 0;
  #running = defer<KernelReply>();

  constructor(runtime: ScriptedRuntime, sessionId: string) {
    this.#runtime = runtime;
    this.#sessionId = sessionId;
  }

  async execute(code: string, onOutput: OutputListener): Promise<KernelReply> {
    this.#runtime.ran.push(code);
    this.#count += 1;
    this.#running = defer();
    const script = this.#runtime.scripts[code] ?? (() => undefined);
    const run: ScriptedRun = {
      code,
      sessionId: this.#sessionId,
      async print(text, stream = 'stdout') {
        await onOutput({ stream, text });
      },
    };
    return await Promise.race([this.#evaluate(script, run), this.#running.promise]);
  }

  async #evaluate(script: Script, run: ScriptedRun): Promise<KernelReply> {
    try {
      const value = (await script(run)) ?? '';
      return { status: 'ok', value, executionCount: this.#count };
    } catch (error) {
      return this.#raised((error as Error).name, (error as Error).message);
    }
  }

  #raised(name: string, message: string): KernelReply {
    const traceback = [`${name}: ${message}`];
    return { status: 'error', name, message, traceback, executionCount: this.#count };
  }

  interrupt(): Promise<void> {
    this.#runtime.interrupts += 1;
    if (!this.#runtime.ignoresInterrupts)
      this.#running.resolve(this.#raised('KeyboardInterrupt', ''));
    return Promise.resolve();
  }

  die(): void {
    this.#running.promise.catch(() => undefined);
    this.#running.reject(new SandboxError('SESSION_LOST', 'The kernel died.'));
  }
}
