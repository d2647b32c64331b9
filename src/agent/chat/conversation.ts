import { randomUUID } from 'node:crypto';
import { linkSignal, onAbort } from '../../abort.js';
import type { LinkedSignal } from '../../abort.js';
import type { RunConfig, RunLimits } from '../../config.js';
import { ColabSolverError, ConfigError, ModelError } from '../../errors.js';
import { codePart } from '../../parts/code-part.js';
import type { Content } from '../../parts/content.js';
import type { CodeExecutionResult, Part } from '../../parts/part.js';
import type { Usage } from '../../parts/usage.js';
import { attachFiles } from '../attached-file.js';
import type { AttachedFile } from '../attached-file.js';
import { endOf } from '../end-of.js';
import type { RunEvent, SolveResult } from '../events.js';
import { ImageAllowance } from '../image-allowance.js';
import type { Model } from '../model.js';
import type { RecordedRun } from '../recorded-run.js';
import { logEvent } from '../run-log.js';
import { runScript } from '../run-script.js';
import { RunSession } from '../run-session.js';
import type { TurnRecord } from '../run-state.js';
import { checkPrompt } from '../solve.js';
import { turnEvents } from '../turn-events.js';
import type { Workshop } from '../workshop.js';
import type { CallOptions, Chat, ChatOptions, SendOptions } from './chat.js';
import { closeTurn } from './close-turn.js';
import { ConversationFile, readConversation, resolveConversation } from './conversation-file.js';
import type { ConversationLine } from './conversation-line.js';
import { applyLine, emptyState, shownContents } from './conversation-state.js';
import type { ChatTurn, ConversationState } from './conversation-state.js';
import { makeRoom } from './make-room.js';
import { recordedConversation } from './recorded-conversation.js';
import { scriptsToRerun } from './rerun-scripts.js';
import { ranByUser, stoppedScript, TurnWriter } from './turn-writer.js';
import type { TurnEnding } from './turn-writer.js';
import { listVariables } from './variables.js';
import type { VariableList } from './variables.js';
import { wireHistory } from './wire-history.js';

/** What a chat works with beside what a run does. */
export interface ChatWorkshop extends Workshop {
  /** Where conversations are stored. */
  folder: string;
  openModel(id: string): Promise<Model>;
  limitsFor(own: RunLimits): RunConfig;
  /** Writes in the form that the ending of the path names; returns the path it has. */
  saveTranscript(run: RecordedRun, path: string, options: { force: boolean }): Promise<string>;
}

const DEFAULT_CONTEXT_TOKENS = 800_000;

/** What goes on; ended by disposing it. */
interface Activity extends Disposable {
  signal: AbortSignal;
}

export class Conversation implements Chat {
  readonly #workshop: ChatWorkshop;
  readonly #contextTokens: number;
  readonly #state: ConversationState = emptyState();
  readonly #isStored: boolean;
  #file: ConversationFile | undefined;
  /** Written before the first thing that happens, so that a chat in which nothing does leaves no file. */
  #heading: ConversationLine | undefined;
  #files: AttachedFile[] = [];
  #session: RunSession;
  #model: Model;
  #abort: LinkedSignal | undefined;
  #ended: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;
  /** Files of the stored conversation that were not looked for yet. */
  #awaited: string[] = [];
  /** True where it can be stored no further. */
  #isBroken = false;
  /** To be told with the next events. */
  #notices: string[] = [];

  /** @throws {ConfigError} where there is no such conversation, or another process has it open. */
  constructor(workshop: ChatWorkshop, options: ChatOptions = {}) {
    const { resume, isStored = true, contextTokens = DEFAULT_CONTEXT_TOKENS } = options;
    this.#workshop = workshop;
    this.#contextTokens = contextTokens;
    this.#model = workshop.model;
    this.#session = this.#newSession();
    const startedAt = new Date().toISOString();
    const id =
      resume === undefined ? newId(startedAt) : resolveConversation(workshop.folder, resume);
    this.#isStored = isStored;
    if (resume === undefined) {
      this.#heading = { type: 'conversation', version: 1, id, startedAt };
      applyLine(this.#state, this.#heading);
    } else {
      if (isStored) this.#file = new ConversationFile(workshop.folder, id);
      this.#restore(id);
    }
  }

  get id(): string {
    return this.#state.id;
  }

  get model(): string {
    return this.#model.id;
  }

  get runtime(): string | undefined {
    return this.#workshop.runtime();
  }

  get turns(): readonly ChatTurn[] {
    return this.#state.turns;
  }

  get contents(): readonly Content[] {
    return shownContents(this.#state.turns);
  }

  get usage(): Usage {
    return this.#state.usage;
  }

  get files(): readonly AttachedFile[] {
    return this.#files;
  }

  get hasSession(): boolean {
    return this.#session.isOpen;
  }

  async send(prompt: string | readonly Part[], options?: SendOptions): Promise<SolveResult> {
    return endOf(this.stream(prompt, options));
  }

  async *stream(
    promptInput: string | readonly Part[],
    options: SendOptions = {},
  ): AsyncGenerator<RunEvent, SolveResult, undefined> {
    const prompt = checkPrompt(promptInput);
    const limits = this.#workshop.limitsFor(options);
    using activity = this.#begin(options.signal);
    const { signal } = activity;
    await this.#attach(options.files ?? [], signal);
    yield* this.#tellNotices();
    this.#openEarly(signal);
    yield* this.#makeRoom(signal);
    const writer = this.#newTurn('prompt', prompt);
    const events = turnEvents(
      { ...this.#workshop, model: this.#model, limits },
      {
        prompt,
        history: wireHistory(this.#state),
        session: this.#session,
        files: this.#files,
        signal,
        record: writer.record,
      },
    );
    try {
      this.#session.beginTurn();
      for (;;) {
        const next = await events.next();
        if (next.done === true) return next.value;
        logEvent(this.#workshop.logger, next.value);
        writer.take(next.value);
        if (next.value.type === 'run-end') this.#end(writer, next.value);
        yield* this.#tellNotices();
        yield next.value;
      }
    } catch (error) {
      this.#end(writer, endingOf(error, signal));
      throw error;
    } finally {
      await events.return(undefined as never);
      writer.end(LEFT);
    }
  }

  async *run(
    code: string,
    options: CallOptions = {},
  ): AsyncGenerator<RunEvent, CodeExecutionResult, undefined> {
    if (code.trim() === '') {
      throw new ConfigError('EMPTY_PROMPT', 'There is no Python to run. Write some.');
    }
    using activity = this.#begin(options.signal);
    await this.#attach([], activity.signal);
    yield* this.#tellNotices();
    const id = `python-${this.#state.turns.length + 1}`;
    const writer = this.#newTurn('python', [codePart(code, { id })]);
    const script = this.#execute({ id, code }, activity.signal);
    try {
      for (;;) {
        const next = await script.next();
        if (next.done === true) {
          writer.endScript(code, { status: 'ran' }, next.value);
          return next.value;
        }
        writer.take(next.value);
        yield next.value;
      }
    } catch (error) {
      writer.endScript(code, endingOf(error, activity.signal));
      throw error;
    } finally {
      await script.return(undefined as never);
      writer.endScript(code, LEFT);
    }
  }

  async *rerun(options: CallOptions = {}): AsyncGenerator<RunEvent, void, undefined> {
    using activity = this.#begin(options.signal);
    await this.#attach([], activity.signal);
    yield* this.#tellNotices();
    for (const script of scriptsToRerun(this.#state.turns)) {
      yield* this.#execute(script, activity.signal);
    }
  }

  async cancel(reason: Error = new DOMException('The turn was cancelled.', 'AbortError')) {
    this.#abort?.abort(reason);
    await this.#ended;
  }

  undo(): ChatTurn | undefined {
    this.#refuseWhileBusy();
    const last = this.#state.turns.at(-1);
    if (last !== undefined) this.#write({ type: 'undo' });
    return last;
  }

  async reset(): Promise<void> {
    this.#refuseWhileBusy();
    this.#write({ type: 'reset' });
    const old = this.#session;
    this.#session = this.#newSession();
    await old[Symbol.asyncDispose]();
  }

  async attach(paths: readonly string[], options: CallOptions = {}): Promise<void> {
    using activity = this.#begin(options.signal);
    await this.#attach(paths, activity.signal);
  }

  async variables(options: CallOptions = {}): Promise<VariableList> {
    if (!this.#session.isOpen) return { variables: [], left: 0 };
    using activity = this.#begin(options.signal);
    return await listVariables(await this.#session.current(activity.signal), activity.signal);
  }

  async useModel(model: string | Model): Promise<void> {
    const chosen = typeof model === 'string' ? await this.#workshop.openModel(model) : model;
    this.#refuseWhileBusy();
    this.#model = chosen;
  }

  toRecordedRun(): RecordedRun {
    return recordedConversation(this.#state, { model: this.model, runtime: this.runtime });
  }

  async save(path: string, { force = false }: { force?: boolean } = {}): Promise<string> {
    return this.#workshop.saveTranscript(this.toRecordedRun(), path, { force });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await this.cancel(new DOMException('The chat was closed.', 'AbortError'));
    try {
      await this.#session[Symbol.asyncDispose]();
    } finally {
      this.#file?.[Symbol.dispose]();
    }
  }

  #newSession(): RunSession {
    return new RunSession((signal) => this.#workshop.lease(signal), this.#files);
  }

  #refuseWhileBusy(): void {
    if (this.#closing !== undefined)
      throw new ConfigError('BAD_OPTION', 'The chat is closed. Resume it, or begin another one.');
    if (this.#abort === undefined) return;
    throw new ConfigError(
      'BAD_OPTION',
      'The chat is still busy with a turn. Wait for its end, or cancel() it.',
    );
  }

  #begin(signal: AbortSignal | undefined): Activity {
    this.#refuseWhileBusy();
    const { closed } = this.#workshop;
    closed.throwIfAborted();
    signal?.throwIfAborted();
    const controller = linkSignal(signal);
    const listener = onAbort(closed, () => {
      controller.abort(closed.reason);
    });
    let end: () => void = () => undefined;
    this.#ended = new Promise<void>((resolve) => (end = resolve));
    this.#abort = controller;
    return {
      signal: controller.signal,
      [Symbol.dispose]: () => {
        listener[Symbol.dispose]();
        controller[Symbol.dispose]();
        this.#abort = undefined;
        end();
      },
    };
  }

  /** A sandbox that cannot be opened ends the turn at once, not when the first script comes. */
  #openEarly(signal: AbortSignal): void {
    if (!this.#workshop.opensEarly || this.#session.isOpen) return;
    const controller = this.#abort;
    this.#session.current(signal).catch((error: unknown) => {
      controller?.abort(error);
    });
  }

  async *#execute(
    script: { id: string; code: string },
    signal: AbortSignal,
  ): AsyncGenerator<RunEvent, CodeExecutionResult, undefined> {
    const { executionTimeoutMs } = this.#workshop.limits;
    const rest = { sessions: this.#session, signal, cancelled: signal, endsAt: Infinity };
    const images = new ImageAllowance('none');
    const { result } = yield* runScript({ ...rest, executionTimeoutMs, images }, script);
    return result;
  }

  async #attach(paths: readonly string[], signal: AbortSignal): Promise<void> {
    for (const path of this.#awaited.splice(0)) {
      await attachFiles([path]).then(
        (found) => this.#files.push(...found),
        (error: unknown) => this.#notices.push((error as Error).message),
      );
    }
    const files = await attachFiles([...this.#files.map(({ path }) => path), ...paths]);
    const added = files.filter(({ path }) => !this.#files.some((file) => file.path === path));
    this.#files.push(...added);
    for (const file of added) {
      this.#write({ type: 'file', path: file.path });
      await this.#session.upload(file, signal);
    }
  }

  async *#makeRoom(signal: AbortSignal): AsyncGenerator<RunEvent, void, undefined> {
    const { functions } = this.#workshop;
    const room = makeRoom({
      model: this.#model,
      functions,
      state: this.#state,
      limitTokens: this.#contextTokens,
      signal,
    });
    for await (const { line, notice } of room) {
      this.#write(line);
      yield { type: 'notice', text: notice };
    }
  }

  *#tellNotices(): Generator<RunEvent, void, undefined> {
    for (const text of this.#notices.splice(0)) yield { type: 'notice', text };
  }

  #end(writer: TurnWriter, ending: TurnEnding): void {
    writer.end(ending);
    if (ending.status !== 'blocked' && ending.isUnsendable !== true) return;
    this.#notices.push('The model is not sent this turn again: it would be refused every time.');
  }

  #newTurn(kind: ChatTurn['kind'], prompt: Part[]): TurnWriter {
    this.#write({ type: 'turn', kind, startedAt: new Date().toISOString(), prompt });
    return new TurnWriter((line) => {
      this.#write(line);
    });
  }

  #restore(id: string): void {
    for (const line of readConversation(this.#workshop.folder, id)) applyLine(this.#state, line);
    this.#state.id = id;
    this.#awaited = [...this.#state.files];
    const open = this.#state.turns.at(-1);
    if (open?.status !== 'open') return;
    const reason = 'The program ended in the middle of it.';
    const { wire, shown } = closedAfterCrash(open, this.#state.printed, reason);
    this.#write({ type: 'progress', from: 0, wire, shown: shown.slice(open.shown.length) });
    const { usage, steps, executions, durationMs } = open;
    const counts = { usage, steps, executions, durationMs };
    this.#write({ type: 'turn-end', status: 'cancelled', reason, ...counts });
  }

  /** The state and the file come forward together; where the file cannot, the chat goes on and the user is told once. */
  #write(line: ConversationLine): void {
    applyLine(this.#state, line);
    if (!this.#isStored || this.#isBroken) return;
    try {
      this.#file ??= new ConversationFile(this.#workshop.folder, this.id);
      if (this.#heading !== undefined) this.#file.append(this.#heading);
      this.#heading = undefined;
      this.#file.append(line);
    } catch (error) {
      this.#isBroken = true;
      this.#file?.[Symbol.dispose]();
      this.#notices.push(
        `The conversation is not stored any more: ${String(error)}. Save it with save() before you leave.`,
      );
    }
  }
}

function newId(startedAt: string): string {
  const time = startedAt.slice(0, 19).replace(/[:-]/g, '').replace('T', '-');
  return `${time}-${randomUUID().slice(0, 8)}`;
}

/** How a turn ends that nobody listens to any more. */
const LEFT: TurnEnding = { status: 'cancelled', reason: 'The user stopped it.' };

/** How a turn ends that threw. What the API refuses once it would refuse in every later request, too. */
function endingOf(error: unknown, signal: AbortSignal): TurnEnding {
  const reason = error instanceof Error ? error.message : String(error);
  if (signal.aborted && !(error instanceof ColabSolverError)) {
    return LEFT;
  }
  const isRefused = error instanceof ModelError && error.code === 'INVALID_REQUEST';
  return { status: 'failed', reason, ...(isRefused && { isUnsendable: true }) };
}

function closedAfterCrash(
  { kind, prompt, wire, shown }: ChatTurn,
  printedById: ConversationState['printed'],
  reason: string,
): TurnRecord {
  const printed = (id: string): string => printedById.get(id)?.text ?? '';
  if (kind === 'prompt') {
    const begun: Content[] = wire.length > 0 ? wire : [{ role: 'user', parts: prompt }];
    return closeTurn({ wire: begun, shown, reason, printed });
  }
  const { code = '', id = '' } = prompt[0]?.executableCode ?? {};
  return ranByUser(code, { id, ...stoppedScript(printed(id), reason) });
}
