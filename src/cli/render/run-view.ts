import type { FileNote, RunEvent, RunStatus } from '../../agent/events.js';
import { countOf, formatBytes, formatCount, formatDuration, formatElapsed } from './amounts.js';
import { displayWidth, fitWidth } from './display-width.js';
import type { Style } from './palette.js';
import { printable } from './printable.js';
import type { RunScreen } from './screen.js';
import { ScriptView } from './script-view.js';

export interface RunViewOptions {
  /** Shows the question, for a reader who did not just type it. Default false. */
  showsPrompt?: boolean;
  /**
   * The answer is printed by the caller when the run has ended, so the text of a step is held back until
   * it turns out not to be the answer. Default false: text appears as it streams.
   */
  holdsAnswer?: boolean;
  /** One turn of a chat after another: steps are not marked, and the end is one quiet line. Default false. */
  isChat?: boolean;
}

type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { type: Type }>;

const RULE_COLUMNS = 72;
/** Of the files of one script. */
const SHOWN_FILES = 10;
const ENDINGS: Record<RunStatus, { text: string; style: Style }> = {
  answered: { text: '✓ answered', style: 'green' },
  'step-limit': { text: '✗ no answer: step limit', style: 'yellow' },
  deadline: { text: '✗ no answer: out of time', style: 'yellow' },
  blocked: { text: '✗ no answer: blocked', style: 'yellow' },
  'no-answer': { text: '✗ no answer', style: 'yellow' },
};

/** Shows a run as it happens; one call of {@link show} an event. */
export class RunView {
  readonly #screen: RunScreen;
  readonly #options: RunViewOptions;
  #script: ScriptView | undefined;
  #scripts = 0;
  #model = 'the model';
  /** Text of the step that counts, as it came. */
  #text = '';
  #isThinking = false;

  constructor(screen: RunScreen, options: RunViewOptions = {}) {
    this.#screen = screen;
    this.#options = options;
  }

  /** The text shown since the last step began; the answer, once the run has ended. */
  get shownText(): string {
    return this.#options.holdsAnswer === true ? '' : this.#text;
  }

  /** Scripts shown so far. */
  get scripts(): number {
    return this.#scripts;
  }

  /** Says on the status line what is being waited for. */
  waitFor(what: string): void {
    const startedAt = performance.now();
    this.#screen.status(
      (frame) => `${frame} ${what} · ${formatElapsed(performance.now() - startedAt)}`,
    );
  }

  show(event: RunEvent): void {
    switch (event.type) {
      case 'run-start':
        this.#showStart(event);
        break;
      case 'notice':
        this.notice(event.text);
        break;
      case 'step-start':
        this.#showStep(event.step);
        break;
      case 'text':
        this.#showText(event);
        break;
      case 'retry':
        this.#showRetry(event);
        break;
      case 'code':
        this.#showCode(event);
        break;
      case 'output':
        this.#script?.showOutput(event);
        break;
      case 'display':
        this.notice(`▣ ${fileLine(event)}`);
        break;
      case 'files':
        for (const file of event.files.slice(0, SHOWN_FILES)) this.notice(`✎ ${fileLine(file)}`);
        if (event.files.length > SHOWN_FILES)
          this.notice(`✎ … ${event.files.length - SHOWN_FILES} more`);
        break;
      case 'code-result':
        this.#showCodeResult(event);
        break;
      case 'function-call':
        this.#releaseText();
        this.#screen.gap();
        this.#detail(`ƒ ${printable(event.call.name)}(${oneLine(event.call.args)})`, 'cyan');
        break;
      case 'function-response':
        this.#detail(`  → ${oneLine(event.response.response)}`);
        break;
      case 'step-end':
        break;
      case 'run-end':
        this.#showEnd(event);
        break;
    }
  }

  notice(text: string): void {
    if (this.#script === undefined) this.#screen.note(printable(text));
    else this.#script.notice(text);
  }

  /** Ends the view of a run that was cut short; what was shown stays. */
  cut(): void {
    this.#script?.cut();
    this.#script = undefined;
    this.#releaseText();
    this.#screen[Symbol.dispose]();
  }

  #showStart({ model, prompt }: EventOf<'run-start'>): void {
    if (this.#options.showsPrompt === true) {
      this.#screen.gap();
      this.#screen.paragraph(printable(prompt), { margin: '▌ ', style: 'bold' });
    }
    this.#model = model.startsWith('replay:') ? 'the recorded runs' : printable(model);
  }

  #showStep(step: number): void {
    this.#text = '';
    this.#isThinking = false;
    const { paint, columns } = this.#screen;
    this.#screen.gap();
    if (this.#options.isChat === true) {
      this.waitFor(`asking ${this.#model}${step > 1 ? ` · step ${step}` : ''}`);
      return;
    }
    const title = `── step ${step} `;
    this.#screen.line(paint(title.padEnd(Math.min(columns, RULE_COLUMNS), '─'), 'dim'));
    this.#screen.gap();
    this.waitFor(`asking ${this.#model}`);
  }

  #showText({ text, thought }: EventOf<'text'>): void {
    if (!thought) this.#text += text;
    if (this.#options.holdsAnswer === true) return;
    if (thought !== this.#isThinking) this.#screen.gap();
    this.#isThinking = thought;
    this.#screen.flow(printable(text), { isAside: thought });
  }

  #showRetry({ reason, attempt, delayMs }: EventOf<'retry'>): void {
    const isVoid = this.#text !== '' && this.#options.holdsAnswer !== true;
    this.#text = '';
    const pause = `asking again in ${formatDuration(delayMs)} (attempt ${attempt})`;
    const warning = isVoid ? '; the text above no longer counts' : '';
    this.#screen.gap();
    this.notice(`↻ ${reason} · ${pause}${warning}`);
    this.#screen.gap();
    this.waitFor(`asking ${this.#model} again`);
  }

  #showCode({ code }: EventOf<'code'>): void {
    this.#releaseText();
    this.#scripts += 1;
    this.#screen.gap();
    const showAll = this.#options.isChat === true ? `/show ${this.#scripts}` : undefined;
    this.#script = new ScriptView(this.#screen, this.#scripts, { showAll });
    this.#script.showCode(code);
  }

  #showCodeResult({ result, durationMs }: EventOf<'code-result'>): void {
    this.#script?.end(result, durationMs);
    this.#script = undefined;
    this.waitFor(`asking ${this.#model}`);
  }

  #showEnd(end: EventOf<'run-end'>): void {
    this.#screen.clearStatus();
    if (end.status === 'answered' && this.#options.holdsAnswer === true) this.#text = '';
    this.#releaseText();
    const { paint } = this.#screen;
    this.#screen.gap();
    if (end.reason !== undefined) this.notice(end.reason);
    const ending = ENDINGS[end.status];
    const isQuiet = this.#options.isChat === true && end.status === 'answered';
    const label = isQuiet ? paint('✓', 'green') : paint(ending.text, ending.style);
    const all = figures(end);
    if (displayWidth(`${ending.text} · ${all}`) <= this.#screen.columns) {
      this.#screen.line(`${label}${paint(` · ${all}`, 'dim')}`);
    } else {
      this.#screen.line(label);
      this.#screen.note(all);
    }
    for (const file of end.files) {
      this.notice(fileLine(file));
    }
  }

  /** Held text that was not the answer. */
  #releaseText(): void {
    if (this.#options.holdsAnswer !== true || this.#text === '') return;
    this.#screen.flow(printable(this.#text));
    this.#text = '';
  }

  #detail(text: string, style: Style = 'dim'): void {
    this.#screen.line(this.#screen.paint(fitWidth(`  ${text}`, this.#screen.columns), style));
  }
}

function figures(end: EventOf<'run-end'>): string {
  const tokens = end.usage.totalTokenCount;
  return [
    countOf(end.steps, 'step'),
    countOf(end.executions, 'script'),
    formatDuration(end.durationMs),
    countOf(end.usage.requests, 'request'),
    ...(tokens > 0 ? [`${formatCount(tokens)} tokens`] : []),
  ].join(' · ');
}

function fileLine({ name, mimeType, sizeBytes }: FileNote): string {
  return `${name} · ${mimeType} · ${formatBytes(sizeBytes)}`;
}

function oneLine(value: unknown): string {
  return printable(JSON.stringify(value ?? {})).replaceAll('\n', ' ');
}
