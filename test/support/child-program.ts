import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** A program of this folder as a process of its own; disposing kills it with SIGKILL. */
export class ChildProgram implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<null, Readable, null>;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;

  constructor(name: string, args: readonly string[]) {
    const path = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
    this.#child = spawn(process.execPath, ['--import', 'tsx', path, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#ended = once(this.#child, 'exit');
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The next line it prints. */
  async line(): Promise<string> {
    const next = await this.#lines.next();
    if (next.done === true) throw new Error('It ended without printing a further line.');
    return next.value;
  }

  /** Resolves when it has gone. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
