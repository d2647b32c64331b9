import type { RunEvent, SolveResult } from '../agent/events.js';
import type { LogLevel } from '../logger.js';
import type { CommandContext } from './command-context.js';
import { faultRecord } from './fault-text.js';
import { printable } from './render/printable.js';
import { RunView } from './render/run-view.js';
import { NOWHERE, Screen } from './render/screen.js';
import { eventLine, resultRecord } from './result-record.js';
import type { SavedPaths } from './result-record.js';

export interface SolveOutputFlags {
  json?: boolean;
  events?: boolean;
  logLevel: LogLevel;
}

/**
 * Shows a run to a person on standard error and gives the answer on standard output: as text, as one JSON
 * object, or as JSON lines. Where both are one terminal the answer streams and is not printed again.
 */
export class SolveOutput implements Disposable {
  readonly #flags: SolveOutputFlags;
  readonly #context: CommandContext;
  readonly #screen: Screen;
  readonly #view: RunView;
  readonly #streamsAnswer: boolean;
  /** A program that reads JSON and keeps our standard error wants it short. */
  readonly #isBrief: boolean;
  readonly #onAbort = (): void => {
    this.#view.waitFor('stopping; Ctrl-C again to leave at once');
  };

  constructor(flags: SolveOutputFlags, context: CommandContext) {
    const { stdout, stderr, env, signal } = context;
    const isForPrograms = flags.json === true || flags.events === true;
    const isLive = stderr.isTTY && flags.logLevel !== 'silent';
    this.#flags = flags;
    this.#context = context;
    this.#streamsAnswer = isLive && stdout.isTTY && !isForPrograms;
    this.#isBrief = isForPrograms && !isLive;
    this.#screen = new Screen({
      log: flags.logLevel === 'silent' ? NOWHERE : stderr,
      ...(this.#streamsAnswer && { text: stdout }),
      env,
    });
    this.#view = new RunView(this.#screen, { holdsAnswer: !isLive });
    this.#view.waitFor('starting');
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  notice(text: string): void {
    this.#view.notice(text);
  }

  /** Everything but the run's end. */
  show(event: RunEvent): void {
    if (this.#flags.events === true) this.#context.stdout.write(eventLine(event));
    if (this.#isBrief && event.type !== 'notice' && event.type !== 'retry') return;
    this.#view.show(event);
  }

  end(result: SolveResult, saved: SavedPaths): void {
    if (!this.#isBrief) this.#view.show({ type: 'run-end', ...result });
    for (const path of [...saved.files.values(), ...saved.transcripts])
      this.#view.notice(`saved ${path}`);
    this.#screen[Symbol.dispose]();
    this.#context.stdout.write(this.#answer(result, saved));
  }

  fail(error: unknown): void {
    this.#view.cut();
    if (this.#flags.events !== true) return;
    this.#context.stdout.write(`${JSON.stringify(faultRecord(error))}\n`);
  }

  [Symbol.dispose](): void {
    this.#context.signal.removeEventListener('abort', this.#onAbort);
    this.#screen[Symbol.dispose]();
  }

  #answer(result: SolveResult, saved: SavedPaths): string {
    const record = resultRecord(result, saved.files);
    if (this.#flags.events === true) return `${JSON.stringify({ type: 'run-end', ...record })}\n`;
    if (this.#flags.json === true) return `${JSON.stringify(record, undefined, 2)}\n`;
    const isShown = this.#streamsAnswer && this.#view.shownText.trim() === result.text.trim();
    if (isShown || result.status !== 'answered') return '';
    const text = this.#context.stdout.isTTY ? printable(result.text) : result.text;
    return text.endsWith('\n') ? text : `${text}\n`;
  }
}
