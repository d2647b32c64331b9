import type { CodeExecutionResult } from '../../parts/part.js';
import { emptyUsage } from '../../parts/usage.js';
import type { Usage } from '../../parts/usage.js';
import type { RunEvent } from '../events.js';
import { printedBefore, PrintedOutput } from '../printed-output.js';
import { prompt } from '../prompt.js';
import type { TurnRecord } from '../run-state.js';
import { closeTurn } from './close-turn.js';
import type { ConversationLine, TurnStatus } from './conversation-line.js';

export interface TurnEnding {
  status: TurnStatus;
  reason?: string;
  usage?: Usage;
  steps?: number;
  executions?: number;
  durationMs?: number;
  /** True where the API would refuse the turn in every later request, too. */
  isUnsendable?: boolean;
}

/** Output is written down so often, and up to so many characters of a script. */
const OUTPUT_EVERY_MS = 500;
const OUTPUT_CHARACTERS = 200_000;

/** Writes a turn down as it goes, so that a crash at any moment leaves what had happened. */
export class TurnWriter {
  /** Filled by the loop. */
  readonly record: TurnRecord = { wire: [], shown: [] };
  readonly #write: (line: ConversationLine) => void;
  readonly #startedAt = performance.now();
  #wireWritten = 0;
  #shownWritten = 0;
  #hasEnded = false;
  #script:
    { id: string; printed: PrintedOutput; unwritten: string; room: number; at: number } | undefined;
  #usage = emptyUsage();
  #steps = 0;
  #executions = 0;

  constructor(write: (line: ConversationLine) => void) {
    this.#write = write;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  take(event: RunEvent): void {
    switch (event.type) {
      case 'step-start':
        this.#steps = event.step;
        break;
      case 'code':
        this.#script = {
          id: event.id,
          printed: new PrintedOutput(),
          unwritten: '',
          room: OUTPUT_CHARACTERS,
          at: performance.now(),
        };
        this.#writeProgress();
        break;
      case 'output':
        this.#takeOutput(event.text);
        break;
      case 'code-result':
        this.#executions += 1;
        this.#script = undefined;
        break;
      case 'function-call':
      case 'function-response':
        this.#writeProgress();
        break;
      case 'step-end':
        this.#usage = event.usage;
        this.#writeProgress();
        break;
      default:
    }
  }

  /** Ends the turn; one that has no answer is closed so that the conversation can go on. A second call does nothing. */
  end(ending: TurnEnding): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const { isUnsendable = ending.status === 'blocked', ...rest } = ending;
    if (isUnsendable) this.#replaceWire([]);
    else if (rest.status !== 'answered' && rest.status !== 'ran') this.#close(rest.reason ?? '');
    this.#writeProgress();
    const { usage = this.#usage, steps = this.#steps, executions = this.#executions } = rest;
    const { durationMs = Math.round(performance.now() - this.#startedAt), status, reason } = rest;
    this.#write({
      type: 'turn-end',
      status,
      ...(reason !== undefined && { reason }),
      ...{ usage, steps, executions, durationMs },
    });
  }

  /** Ends a turn in which the user ran Python; without a result it was stopped. */
  endScript(code: string, ending: TurnEnding, result?: CodeExecutionResult): void {
    if (this.#hasEnded) return;
    const { id, printed } = this.#script ?? {};
    const came = result ?? {
      ...(id !== undefined && { id }),
      ...stoppedScript(printed?.text ?? '', ending.reason ?? ''),
    };
    const { wire, shown } = ranByUser(code, came);
    this.record.wire.push(...wire);
    this.record.shown.push(...shown);
    this.#hasEnded = true;
    this.#writeProgress();
    const durationMs = Math.round(performance.now() - this.#startedAt);
    const { status, reason } = ending;
    this.#write({
      type: 'turn-end',
      status,
      ...(reason !== undefined && { reason }),
      ...{ usage: emptyUsage(), steps: 0, executions: 1, durationMs },
    });
  }

  #close(reason: string): void {
    const printed = (id: string): string =>
      this.#script?.id === id ? this.#script.printed.text : '';
    const closed = closeTurn({ ...this.record, reason, printed });
    this.#replaceWire(closed.wire);
    this.record.shown.push(...closed.shown.slice(this.record.shown.length));
  }

  #replaceWire(wire: TurnRecord['wire']): void {
    this.record.wire.splice(0, Infinity, ...wire);
    this.#wireWritten = 0;
    this.#write({ type: 'progress', from: 0, wire: [], shown: [] });
  }

  #takeOutput(text: string): void {
    const script = this.#script;
    if (script === undefined) return;
    script.printed.add({ text });
    if (script.room <= 0) return;
    script.unwritten += text.slice(0, script.room);
    script.room -= text.length;
    const now = performance.now();
    if (now - script.at < OUTPUT_EVERY_MS) return;
    this.#write({ type: 'output', id: script.id, text: script.unwritten });
    Object.assign(script, { unwritten: '', at: now });
  }

  /** The last content written may have grown since: answers are added to it one by one. */
  #writeProgress(): void {
    const { wire, shown } = this.record;
    const from = Math.max(0, this.#wireWritten - 1);
    const line = { from, wire: wire.slice(from), shown: shown.slice(this.#shownWritten) };
    this.#write({ type: 'progress', ...structuredClone(line) });
    this.#wireWritten = wire.length;
    this.#shownWritten = shown.length;
  }
}

/** What a turn is in which the user ran Python. */
export function ranByUser(code: string, result: CodeExecutionResult): TurnRecord {
  const { outcome, output } = result;
  const text = prompt('user-ran', { code, outcome, output });
  return {
    wire: [{ role: 'user', parts: [{ text }] }],
    shown: [{ codeExecutionResult: result }],
  };
}

export function stoppedScript(printed: string, reason: string): CodeExecutionResult {
  return {
    outcome: 'OUTCOME_FAILED',
    output: printedBefore(printed) + prompt('script-stopped', { reason }),
  };
}
