import { join } from 'node:path';
import type { Chat } from '../../agent/chat/chat.js';
import { conversationsFolder } from '../../agent/chat/conversation-file.js';
import type { ResultFile, RunEvent, SolveResult } from '../../agent/events.js';
import { textOf } from '../../parts/content.js';
import type { Part } from '../../parts/part.js';
import { stateFolder } from '../../state-folder.js';
import type { CommandContext } from '../command-context.js';
import { exitCodes } from '../exit-code.js';
import type { ExitCode } from '../exit-code.js';
import { faultText } from '../fault-text.js';
import { countOf, formatBytes } from '../render/amounts.js';
import { printable } from '../render/printable.js';
import type { RunView } from '../render/run-view.js';
import type { RunScreen } from '../render/screen.js';
import { saveFiles } from '../save-files.js';
import { findCommand } from './chat-commands.js';
import type { ChatFlags, ChatHost } from './chat-host.js';
import type { CommandDesk } from './command-desk.js';
import { readMentions } from './mentions.js';
import { ScriptOutputs } from './script-outputs.js';
import { headline } from './turn-headline.js';

/** What differs between a terminal and a pipe. */
export interface ChatSurface {
  screen: RunScreen;
  view: RunView;
  /** A line of what a command shows. */
  print(line: string): void;
  /** The answer, where it has not been shown as it came. */
  showAnswer(text: string): void;
  showImage(file: ResultFile): Promise<void>;
  /** Lets the user write a message elsewhere; undefined where that cannot be. */
  edit: (() => Promise<void>) | undefined;
}

/** A message is stopped by the user; the chat goes on. */
class TurnStopped extends Error {
  constructor() {
    super('Stopped.');
    this.name = 'TurnStopped';
  }
}

/** Performs what the user types, one message after another, and shows what comes of it. */
export class ChatSession implements CommandDesk {
  readonly host: ChatHost;
  readonly outputs = new ScriptOutputs();
  readonly savedFiles = new Map<string, string>();
  readonly conversations: string;
  readonly #surface: ChatSurface;
  readonly #context: CommandContext;
  readonly #outDir: string | undefined;
  #controller: AbortController | undefined;
  #hasLeft = false;
  #exitCode: ExitCode = exitCodes.done;

  constructor(host: ChatHost, surface: ChatSurface, flags: ChatFlags, context: CommandContext) {
    this.host = host;
    this.#surface = surface;
    this.#context = context;
    this.#outDir = flags.outDir;
    this.conversations = conversationsFolder(stateFolder(context.env));
  }

  get chat(): Chat {
    return this.host.chat;
  }

  get columns(): number {
    return this.#surface.screen.columns;
  }

  get isBusy(): boolean {
    return this.#controller !== undefined;
  }

  get isStopping(): boolean {
    return this.#controller?.signal.aborted === true;
  }

  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** Of the last message that was sent to the model. */
  get exitCode(): ExitCode {
    return this.#exitCode;
  }

  print(line: string): void {
    this.#surface.print(line);
  }

  note(text: string): void {
    this.#surface.view.notice(text);
  }

  leave(): void {
    this.#hasLeft = true;
  }

  /** Stops the message that is being performed. */
  stop(): void {
    this.#controller?.abort(new TurnStopped());
    this.#surface.view.waitFor('stopping; Ctrl-C again to leave at once');
  }

  /** A message is a command or goes to the model. What fails is told, and the chat goes on. */
  async perform(message: string): Promise<void> {
    const controller = new AbortController();
    this.#controller = controller;
    try {
      await this.#perform(message);
    } catch (error) {
      this.#surface.view.cut();
      this.#context.signal.throwIfAborted();
      if (error instanceof TurnStopped) this.note('Stopped. Variables are still there.');
      else {
        this.#exitCode = exitCodes.fault;
        this.#surface.screen.gap();
        for (const line of faultText(error)
          .replace(/^colab-solver: /, '✗ ')
          .split('\n')) {
          this.#surface.screen.paragraph(line, { style: 'red' });
        }
      }
    } finally {
      this.#controller = undefined;
      this.#surface.screen.clearStatus();
    }
  }

  async #perform(message: string): Promise<void> {
    const found = findCommand(message);
    if (found !== undefined) {
      const name = message.trim().split(/\s/)[0] ?? '';
      if (found.command === undefined) this.note(`There is no ${name}. /help lists the commands.`);
      else await found.command.perform(this, found.argument);
      return;
    }
    const { text, paths } = readMentions(message);
    if (paths.length > 0) await this.attach(paths);
    await this.ask([{ text }]);
  }

  async ask(prompt: readonly Part[]): Promise<void> {
    for await (const event of this.chat.stream(prompt, { signal: this.#signal })) {
      if (event.type === 'run-end') await this.#end(event);
      else this.#show(event);
    }
  }

  async runPython(code: string): Promise<void> {
    await this.#showAll(this.chat.run(code, { signal: this.#signal }));
  }

  async rerun(): Promise<void> {
    await this.#showAll(this.chat.rerun({ signal: this.#signal }));
    this.note('The scripts so far have run again.');
  }

  async attach(paths: readonly string[]): Promise<void> {
    const before = new Set(this.chat.files.map(({ path }) => path));
    await this.waiting('attaching', (signal) => this.chat.attach(paths, { signal }));
    for (const { name, path, sizeBytes } of this.chat.files) {
      if (!before.has(path)) this.note(`attached ${printable(name)} · ${formatBytes(sizeBytes)}`);
    }
  }

  async edit(): Promise<void> {
    if (this.#surface.edit === undefined) this.note('There is no terminal to edit in.');
    else await this.#surface.edit();
  }

  /** Shows on the status line what is being waited for. */
  async waiting<T>(what: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#surface.view.waitFor(what);
    try {
      return await work(this.#signal);
    } finally {
      this.#surface.screen.clearStatus();
    }
  }

  /** The end of a conversation that is taken up again, and what is missing. */
  showResumed(): void {
    const { turns, id } = this.chat;
    for (const turn of turns.slice(-3)) {
      this.#surface.screen.gap();
      this.print(`› ${headline(turn).slice(0, 500)}`);
      const said = textOf(turn.shown).trim();
      if (said === '') continue;
      this.#surface.screen.gap();
      this.#surface.screen.flow(printable(said));
      this.#surface.screen.gap();
    }
    const scripts = turns.reduce((sum, { executions }) => sum + executions, 0);
    this.#surface.screen.gap();
    this.note(`Resumed ${id}: ${countOf(turns.length, 'turn')}, ${countOf(scripts, 'script')}.`);
    if (scripts > 0) {
      this.note(
        'Its variables are gone with its session; /rerun runs the scripts again to have them back.',
      );
    }
  }

  get #signal(): AbortSignal {
    const { signal } = this.#context;
    return this.#controller === undefined
      ? signal
      : AbortSignal.any([signal, this.#controller.signal]);
  }

  async #showAll(events: AsyncIterable<RunEvent>): Promise<void> {
    for await (const event of events) this.#show(event);
  }

  #show(event: RunEvent): void {
    this.outputs.take(event);
    this.#surface.view.show(event);
  }

  async #end(result: Extract<RunEvent, { type: 'run-end' }>): Promise<void> {
    this.#exitCode = result.status === 'answered' ? exitCodes.done : exitCodes.unanswered;
    const saved = await this.#save(result);
    this.#surface.view.show({ ...result, files: [] });
    for (const file of result.files) {
      const path = saved.get(file.name);
      const where = path === undefined ? 'could not be saved' : path;
      this.note(`${printable(file.name)} · ${formatBytes(file.sizeBytes)} · ${where}`);
      if (path !== undefined && file.mimeType.startsWith('image/'))
        await this.#surface.showImage(file);
    }
    this.#surface.showAnswer(result.text);
  }

  async #save({ files }: SolveResult): Promise<Map<string, string>> {
    const folder = this.#outDir ?? join(this.conversations, `${this.chat.id}-files`);
    const saved = new Map<string, string>();
    for (const file of files) {
      try {
        for (const [name, path] of await saveFiles([file], folder)) saved.set(name, path);
      } catch (error) {
        this.note(`${file.name} could not be saved: ${String(error)}`);
      }
    }
    for (const [name, path] of saved) this.savedFiles.set(name, path);
    return saved;
  }
}
