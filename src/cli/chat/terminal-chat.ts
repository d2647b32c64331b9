import { emitKeypressEvents } from 'node:readline';
import type { Key } from 'node:readline';
import type { ResultFile } from '../../agent/events.js';
import { onAbort } from '../../abort.js';
import { stateFolder } from '../../state-folder.js';
import type { CommandContext } from '../command-context.js';
import { exitCodes } from '../exit-code.js';
import type { ExitCode } from '../exit-code.js';
import { imageProtocol, imageSequence } from '../render/inline-image.js';
import { LiveScreen } from '../render/live-screen.js';
import { RunView } from '../render/run-view.js';
import { wrapText } from '../render/text-flow.js';
import { chatCommands } from './chat-commands.js';
import { ChatHost } from './chat-host.js';
import type { ChatFlags } from './chat-host.js';
import { ChatSession } from './chat-session.js';
import { completeInput } from './complete.js';
import { editText } from './edit-text.js';
import { InputHistory } from './input-history.js';
import { LineEditor } from './line-editor.js';

const PASTE_ON = '\u001B[?2004h';
const PASTE_OFF = '\u001B[?2004l';
/** Of a long message so many rows are shown again when it has been sent. */
const ECHO_ROWS = 12;
const MAX_IMAGE_COLUMNS = 80;
const REPEAT_MS = 500;
/** A signal to stop has arrived by then. */
const RETURN_MS = 100;

/** The chat on a terminal: output above, the line being typed always below it, also while something runs. */
export class TerminalChat implements Disposable {
  readonly #context: CommandContext;
  readonly #flags: ChatFlags;
  readonly #screen: LiveScreen;
  readonly #view: RunView;
  readonly #history: InputHistory;
  readonly #editor: LineEditor;
  readonly #messages: string[] = [];
  #session: ChatSession | undefined;
  #wake: () => void = () => undefined;
  #isRaw = false;
  #stoppedAt = -Infinity;
  #leaveHint = false;

  constructor(flags: ChatFlags, context: CommandContext) {
    this.#flags = flags;
    this.#context = context;
    this.#screen = new LiveScreen(context.stdout, context.env);
    this.#view = new RunView(this.#screen, { isChat: true });
    this.#history = new InputHistory(stateFolder(context.env));
    this.#editor = new LineEditor({
      history: this.#history.read(),
      complete: (before) =>
        completeInput(
          before,
          chatCommands.map(({ name }) => name),
        ),
      onSubmit: (text) => {
        this.#submit(text);
      },
      onChange: () => {
        this.#showInput();
      },
    });
  }

  async run(files: readonly string[]): Promise<ExitCode> {
    const { signal, interrupts } = this.#context;
    using _interrupts = interrupts.take(() => {
      this.#interrupt();
    });
    this.#takeTerminal();
    await using host = await ChatHost.open(this.#flags, this.#context, (text) => {
      this.#view.notice(text);
    });
    const session = new ChatSession(host, this.#surface(), this.#flags, this.#context);
    this.#session = session;
    using _wake = onAbort(signal, () => {
      this.#wake();
    });
    await this.#greet(session, files);
    while (!session.hasLeft) {
      signal.throwIfAborted();
      const message = this.#messages.shift();
      if (message === undefined) await this.#nextMessage();
      else await this.#perform(session, message);
    }
    const { chat } = session;
    if (chat.turns.length > 0) {
      this.#screen.gap();
      this.#view.notice(`To go on later: colab-solver chat --resume ${chat.id.slice(-8)}`);
    }
    this.#releaseTerminal();
    this.#screen.close();
    return exitCodes.done;
  }

  [Symbol.dispose](): void {
    this.#releaseTerminal();
    this.#screen.close();
    this.#editor[Symbol.dispose]();
  }

  async #greet(session: ChatSession, files: readonly string[]): Promise<void> {
    const { paint } = this.#screen;
    const { chat, host } = session;
    this.#screen.line(
      `${paint('colab-solver chat', 'bold')}${paint(` · ${chat.model} · ${host.where} sandbox · /help`, 'dim')}`,
    );
    if (chat.turns.length > 0) session.showResumed();
    if (files.length > 0) await session.attach(files);
    this.#showInput();
  }

  async #perform(session: ChatSession, message: string): Promise<void> {
    this.#screen.gap();
    const rows = message.split('\n').flatMap((line) => wrapText(line, this.#screen.columns - 2));
    const shown = rows.slice(0, ECHO_ROWS);
    if (rows.length > ECHO_ROWS) shown.push(`… ${rows.length - ECHO_ROWS} more lines`);
    for (const [index, row] of shown.entries()) {
      this.#screen.line(this.#screen.paint(`${index === 0 ? '› ' : '  '}${row}`, 'cyan'));
    }
    await session.perform(message);
    this.#screen.gap();
    this.#showInput();
  }

  #nextMessage(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #submit(text: string): void {
    if (text.trim() === '') {
      this.#showInput();
      return;
    }
    this.#history.add(text);
    this.#messages.push(text);
    this.#showInput();
    this.#wake();
  }

  #surface() {
    return {
      screen: this.#screen,
      view: this.#view,
      print: (line: string) => {
        this.#screen.line(line);
      },
      showAnswer: () => undefined,
      showImage: (file: ResultFile) => this.#showImage(file),
      edit: () => this.#edit(),
    };
  }

  async #showImage(file: ResultFile): Promise<void> {
    const protocol = imageProtocol(this.#context.env);
    if (protocol === undefined) return;
    const { mimeType } = file;
    const columns = Math.min(MAX_IMAGE_COLUMNS, this.#screen.columns);
    const sequence = imageSequence(protocol, { bytes: await file.bytes(), mimeType, columns });
    if (sequence !== undefined) this.#screen.line(sequence);
  }

  async #edit(): Promise<void> {
    this.#releaseTerminal();
    try {
      const text = await editText(this.#editor.text, this.#context.env);
      this.#editor.clear();
      this.#editor.insert(text);
    } finally {
      this.#takeTerminal();
      this.#showInput();
    }
  }

  #showInput(): void {
    const queued = this.#messages.map((message) => `queued: ${message.replace(/\s+/g, ' ')}`);
    const hints = [
      ...this.#editor.candidates.slice(0, 12),
      ...(this.#editor.candidates.length > 12
        ? [`… ${this.#editor.candidates.length - 12} more`]
        : []),
      ...(this.#session?.isBusy === true ? queued : []),
      ...(this.#leaveHint ? ['Ctrl-C again, or Ctrl-D, leaves'] : []),
    ];
    this.#screen.input(this.#editor.view(this.#screen.columns), hints);
  }

  /** A field, so that it can be taken off again. */
  readonly #onKey = (text: string | undefined, key: Key): void => {
    const isEmpty = this.#editor.text === '';
    const command = key.ctrl === true ? key.name : undefined;
    if (command !== 'c') this.#leaveHint = false;
    if (command === 'c') this.#interrupt();
    else if (command === 'd' && isEmpty) this.#leave();
    else if (command === 'l') this.#screen.clear();
    else if (command === 'z') this.#suspend();
    else this.#editor.press(text, key);
  };

  readonly #onResize = (): void => {
    this.#showInput();
  };

  #interrupt(): void {
    const session = this.#session;
    if (session?.isBusy === true) {
      this.#stop(session);
    } else if (this.#editor.text !== '') {
      this.#editor.clear();
    } else if (this.#leaveHint) {
      this.#leave();
    } else {
      this.#leaveHint = true;
      this.#showInput();
    }
  }

  /** The first time ends the turn; a second one, unless it is the same keystroke delivered twice, the program. */
  #stop(session: ChatSession): void {
    const now = performance.now();
    if (!session.isStopping) {
      this.#stoppedAt = now;
      session.stop();
    } else if (now - this.#stoppedAt >= REPEAT_MS) {
      this[Symbol.dispose]();
      process.exit(exitCodes.cancelled);
    }
  }

  #leave(): void {
    this.#session?.leave();
    if (this.#session?.isBusy === true) this.#session.stop();
    this.#wake();
  }

  #takeTerminal(): void {
    if (this.#isRaw) return;
    this.#isRaw = true;
    const { stdin, stdout } = this.#context;
    emitKeypressEvents(stdin);
    stdin.setRawMode(true);
    stdin.on('keypress', this.#onKey);
    stdin.resume();
    stdout.on('resize', this.#onResize);
    stdout.write(PASTE_ON);
    process.on('exit', this.#restore);
  }

  #releaseTerminal(): void {
    if (!this.#isRaw) return;
    this.#isRaw = false;
    const { stdin, stdout } = this.#context;
    this.#screen.input(undefined);
    this.#screen.leave();
    stdin.off('keypress', this.#onKey);
    stdout.off('resize', this.#onResize);
    stdin.pause();
    this.#restore();
    process.off('exit', this.#restore);
  }

  /** A field, since it is also called when the process ends in the middle. */
  readonly #restore = (): void => {
    this.#context.stdout.write(PASTE_OFF);
    this.#context.stdin.setRawMode(false);
  };

  /**
   * As the terminal itself would on Ctrl-Z. The timer runs when the program does again: after a shell has taken it up, or at
   * once where there is none, since such a program is not stopped.
   */
  #suspend(): void {
    this.#releaseTerminal();
    setTimeout(() => {
      this.#takeTerminal();
      this.#showInput();
    }, RETURN_MS);
    process.kill(0, 'SIGTSTP');
  }
}
