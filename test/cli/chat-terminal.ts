import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import headless from '@xterm/headless';
import { cleanEnvironment } from './cli-process.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

const KEYS = {
  'ctrl-c': '\u0003',
  'ctrl-d': '\u0004',
  'ctrl-z': '\u001A',
  up: '\u001B[A',
  tab: '\t',
};

export interface ChatTerminalOptions {
  args?: readonly string[];
  env?: Record<string, string>;
  columns?: number;
  rows?: number;
  /** Below a shell that can stop it and take it up again; default false. */
  isJob?: boolean;
}

/** The real program on a real terminal; what a person would see is in {@link text}. */
export class ChatTerminal implements AsyncDisposable {
  readonly #relay: ChildProcessWithoutNullStreams;
  readonly #screen: headless.Terminal;
  readonly #ended: Promise<number>;
  /** Everything that was written, as it came. */
  written = '';
  #onOutput: () => void = () => undefined;

  constructor({
    args = [],
    env = {},
    columns = 80,
    rows = 40,
    isJob = false,
  }: ChatTerminalOptions = {}) {
    this.#screen = new headless.Terminal({
      ...{ cols: columns, rows, scrollback: 5_000 },
      allowProposedApi: true,
    });
    const program = [process.execPath, '--import', 'tsx', `${root}/src/cli/main.ts`, 'chat'];
    const relay = `${root}/test/support/terminal-relay.py`;
    const size = [String(columns), String(rows)];
    this.#relay = spawn('python3', [relay, ...size, isJob ? 'job' : 'alone', ...program, ...args], {
      cwd: root,
      env: { ...cleanEnvironment(), TERM: 'xterm-256color', ...env },
    });
    this.#relay.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.written += text;
      this.#screen.write(text, () => {
        this.#onOutput();
      });
    });
    this.#relay.stdin.on('error', () => undefined);
    this.#ended = once(this.#relay, 'close').then(([code]) => code as number);
  }

  /** All lines that were ever on the screen and those that are, without blanks at their ends. */
  get text(): string {
    const buffer = this.#screen.buffer.active;
    const lines = Array.from({ length: buffer.length }, (_, row) => {
      const line = buffer.getLine(row);
      return line === undefined ? '' : line.translateToString(true);
    });
    return lines.join('\n').trimEnd();
  }

  /** Of what holds the terminal; the program is below it. */
  get pid(): number {
    return this.#relay.pid ?? 0;
  }

  type(text: string): void {
    this.#order({ write: text });
  }

  /** Types a message and Enter, as a person would. */
  say(message: string): void {
    this.type(`${message}\r`);
  }

  /** As a terminal hands over what was pasted. */
  paste(text: string): void {
    this.type(`\u001B[200~${text.replaceAll('\n', '\r')}\u001B[201~`);
  }

  press(key: keyof typeof KEYS): void {
    this.type(KEYS[key]);
  }

  resize(columns: number, rows: number): void {
    this.#screen.resize(columns, rows);
    this.#order({ resize: [columns, rows] });
  }

  kill(signal: number): void {
    this.#order({ signal });
  }

  /** Resolves as soon as the pattern is on the screen; rejects where the program ends without. */
  shows(pattern: RegExp): Promise<void> {
    return this.#until(pattern, 'text');
  }

  /** The same for what was written, escape sequences included. */
  writes(pattern: RegExp): Promise<void> {
    return this.#until(pattern, 'written');
  }

  async #until(pattern: RegExp, where: 'text' | 'written'): Promise<void> {
    const seen = new Promise<void>((resolve) => {
      this.#onOutput = () => {
        if (pattern.test(this[where])) resolve();
      };
      this.#onOutput();
    });
    const ended = this.#ended.then(() => {
      throw new Error(`it ended without ${String(pattern)}:\n${this.text}`);
    });
    await Promise.race([seen, ended]);
  }

  /** The exit code. */
  get ended(): Promise<number> {
    return this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#relay.stdin.end();
    await this.#ended;
    this.#screen.dispose();
  }

  #order(order: object): void {
    this.#relay.stdin.write(`${JSON.stringify(order)}\n`);
  }
}
