import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { SandboxError } from '../../errors.js';
import { defer } from './deferred.js';
import { pythonFile } from './python-folder.js';

const FolderSchema = z.looseObject({
  event: z.literal('folder'),
  path: z.string(),
  pythonPaths: z.array(z.string()),
});
const ReadySchema = z.looseObject({
  event: z.literal('ready'),
  pythonVersion: z.string(),
  isHidden: z.boolean(),
});
const ExitedSchema = z.looseObject({ event: z.literal('exited'), status: z.number() });
const EventSchema = z.discriminatedUnion('event', [FolderSchema, ReadySchema, ExitedSchema]);

/** The temporary folder, and what the interpreter needs on disk to run. */
export type FolderEvent = z.infer<typeof FolderSchema>;
/** The command serves; `isHidden` where it cannot look into processes outside. */
export type ReadyEvent = z.infer<typeof ReadySchema>;

export interface Command {
  argv: string[];
  env: Record<string, string>;
  cwd: string;
  /** Written to the command's standard input, which then ends. */
  input: string;
}

/** How much of the end of stderr is kept to explain a failure. */
const STDERR_TAIL_CHARACTERS = 4_000;
/** How long after its own end a supervisor's pipes may stay open before we stop waiting. */
const CLOSE_GRACE_MS = 10_000;

/**
 * One `supervisor.py`: a temporary folder and a command in it. Both are gone, with every process the command started,
 * once `exited` has settled; the same happens when this process ends, in whatever way.
 */
export class Supervisor {
  readonly #folder = defer<FolderEvent>();
  readonly #ready = defer<ReadyEvent>();
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>;
  #stderrTail = '';
  #outcome: string | undefined;
  #isEnding = false;

  readonly folder = this.#folder.promise;
  readonly ready = this.#ready.promise;
  /** Settles, never rejects, when nothing is left; the text says how the command ended. */
  readonly exited: Promise<string>;

  constructor(pythonPath: string, env: Record<string, string>) {
    // A session of its own, so that Ctrl-C in a terminal reaches us alone and we decide.
    this.#process = spawn(pythonPath, ['-I', '-B', pythonFile('colab_runtime/supervisor.py')], {
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    // The supervisor may end before it has read everything.
    this.#process.stdin.on('error', () => undefined);
    this.#process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderrTail = (this.#stderrTail + text).slice(-STDERR_TAIL_CHARACTERS);
    });
    createInterface(this.#process.stdout).on('line', (line) => {
      this.#handle(line);
    });
    this.exited = this.#waitForEnd();
  }

  run(command: Command): void {
    this.#process.stdin.write(`${JSON.stringify(command)}\n`);
  }

  /** Ends the command with all its descendants; a second call waits for the first. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#process.stdin.end();
    await this.exited;
  }

  #handle(line: string): void {
    const event = EventSchema.parse(JSON.parse(line));
    if (event.event === 'folder') this.#folder.resolve(event);
    else if (event.event === 'ready') this.#ready.resolve(event);
    else this.#outcome = `its process ended with status ${event.status}`;
  }

  async #waitForEnd(): Promise<string> {
    const outcome = await this.#waitForProcess();
    const details = this.#isEnding ? '' : this.#stderrTail.trim();
    const text = details === '' ? outcome : `${outcome}:\n${details}`;
    const error = new SandboxError(
      'RUNTIME_START_FAILED',
      `The Jupyter runtime did not start: ${text}`,
    );
    this.#folder.reject(error);
    this.#ready.reject(error);
    // Only left over when both halves of the supervisor were killed.
    const folder = await this.#folder.promise.catch(() => undefined);
    if (folder) await rm(folder.path, { recursive: true, force: true }).catch(() => undefined);
    return text;
  }

  /** Ends when the pipes are closed too: then the supervisor's second half and the command are gone as well. */
  #waitForProcess(): Promise<string> {
    return new Promise((resolve) => {
      let grace: NodeJS.Timeout | undefined;
      this.#process.once('error', (error) => {
        resolve(`${this.#process.spawnfile} could not be started (${error.message})`);
      });
      this.#process.once('exit', () => {
        grace = setTimeout(() => this.#process.stdout.destroy(), CLOSE_GRACE_MS);
      });
      this.#process.once('close', (status, killedBy) => {
        clearTimeout(grace);
        const unexplained = `its supervisor ended with ${killedBy ?? `status ${status ?? 0}`}`;
        resolve(this.#isEnding ? 'it was closed' : (this.#outcome ?? unexplained));
      });
    });
  }
}
