import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../../../src/agent/events.js';
import { RunView } from '../../../src/cli/render/run-view.js';
import type { RunViewOptions } from '../../../src/cli/render/run-view.js';
import { Screen } from '../../../src/cli/render/screen.js';
import { SmallTerminal } from './small-terminal.js';

const usage = {
  promptTokenCount: 1000,
  candidatesTokenCount: 234,
  thoughtsTokenCount: 0,
  totalTokenCount: 1234,
  requests: 2,
};
const notWritten = () => {
  throw new Error('Nothing is written down here.');
};
const end = (fields: Partial<RunEvent & { type: 'run-end' }> = {}): RunEvent => ({
  type: 'run-end',
  status: 'answered',
  text: '',
  contents: [],
  usage,
  files: [],
  steps: 2,
  executions: 1,
  durationMs: 4123,
  toRecordedRun: notWritten,
  toNotebook: notWritten,
  ...fields,
});
const text = (piece: string, thought = false): RunEvent => ({ type: 'text', text: piece, thought });
const code = (source: string): RunEvent => ({ type: 'code', id: '1', code: source });
const output = (piece: string, stream: 'stdout' | 'stderr' = 'stdout'): RunEvent => ({
  type: 'output',
  id: '1',
  stream,
  text: piece,
});
const result = (
  outputText: string,
  outcome: 'OUTCOME_OK' | 'OUTCOME_FAILED' | 'OUTCOME_DEADLINE_EXCEEDED' = 'OUTCOME_OK',
): RunEvent => ({
  type: 'code-result',
  id: '1',
  result: { outcome, output: outputText },
  durationMs: 410,
});

interface Shown {
  columns?: number;
  isTTY?: boolean;
  options?: RunViewOptions;
}

function shown(events: RunEvent[], { columns = 70, isTTY = true, options = {} }: Shown = {}) {
  const log = new SmallTerminal({ columns, isTTY });
  const screen = new Screen({ log, env: { TERM: 'xterm' } });
  const view = new RunView(screen, options);
  for (const event of events) view.show(event);
  const during = log.picture;
  screen[Symbol.dispose]();
  return { picture: log.picture, during, written: log.written, view };
}

describe('a run', () => {
  it('reads as text, framed scripts with output and outcome, and the figures', () => {
    const { picture } = shown(
      [
        { type: 'run-start', model: 'gemini', prompt: 'primes?' },
        { type: 'step-start', step: 1 },
        text('I will '),
        text('count.\n\n'),
        code('print(6)\n6 * 7\n'),
        output('6\n'),
        result('6\n42'),
        { type: 'step-end', step: 1, usage },
        { type: 'step-start', step: 2 },
        text('It is 42.'),
        end(),
      ],
      { columns: 60 },
    );
    expect(picture).toMatchInlineSnapshot(`
      "── step 1 ─────────────────────────────────────────────────

      I will count.

        ╭ script 1
        │ print(6)
        │ 6 * 7
        ├ output
        │ 6
        │ 42
        ╰ ✓ ok · 0.41 s

      ── step 2 ─────────────────────────────────────────────────

      It is 42.

      ✓ answered
        2 steps · 1 script · 4.12 s · 2 requests · 1,234 tokens"
    `);
  });

  it('says on the status line what runs, for how long, and what is printed without an end', () => {
    const { during } = shown([code('x'), output('one\ntwo\n45%')]);
    expect(during.split('\n').at(-1)).toMatch(/^ {2}╰ . running · \d+\.\d s · 2 lines · 45%$/);
  });

  it('without a terminal says when a script starts and when it has ended', () => {
    const { picture } = shown([code('x = 1'), result('3')], { isTTY: false });
    expect(picture).toMatch(/├ running\n.*├ output\n.*3\n.*✓ ok/s);
  });

  it('shows what a script printed only once, and the rest of its output', () => {
    const { picture } = shown([
      code('warn()'),
      output('a\n'),
      output('old\n', 'stderr'),
      result('a\n7\nold\n'),
    ]);
    expect(picture.split('\n').slice(2)).toEqual([
      '  ├ output',
      '  │ a',
      '  │ old',
      '  │ 7',
      '  ╰ ✓ ok · 0.41 s',
    ]);
  });

  it('shows the traceback of a script that failed', () => {
    const rule = '-'.repeat(75);
    const { picture } = shown([
      code('x'),
      output('a\n'),
      result(`a\n${rule}\nNameError  Traceback\nNameError: x`, 'OUTCOME_FAILED'),
    ]);
    expect(picture).not.toContain(rule);
    expect(picture).toMatch(/│ a\n.*│ NameError {2}Traceback\n.*│ NameError: x\n.*✗ failed/);
  });

  it('shows the end of a failure whose output was cut', () => {
    const { picture } = shown([
      code('x'),
      output('abc\n'.repeat(3)),
      result('[... cut ...]\nValueError: 7', 'OUTCOME_FAILED'),
    ]);
    expect(picture).toContain('│ ValueError: 7');
  });

  it('says that a script printed nothing', () => {
    const nothing = 'The script finished and printed nothing; print values to see them.';
    expect(shown([code('x'), result(nothing)]).picture).toContain('├ no output\n');
  });

  it('says that a script was stopped when the run was cut short, and keeps its output', () => {
    const log = new SmallTerminal();
    const view = new RunView(new Screen({ log, env: {} }));
    for (const event of [code('x'), output('half')]) view.show(event);
    view.cut();
    expect(log.picture).toMatch(/│ half\n {2}╰ ✗ stopped/);
  });

  it('tells why there is no answer', () => {
    const { picture } = shown([end({ status: 'step-limit', reason: 'It took 20 steps.' })]);
    expect(picture).toMatch(/It took 20 steps\.\n✗ no answer: step limit/);
  });

  it('names calls of functions, in one line each', () => {
    const { picture } = shown(
      [
        { type: 'function-call', call: { name: 'price', args: { symbol: 'A\u001B[2J\nB' } } },
        {
          type: 'function-response',
          response: { name: 'price', response: { text: 'x'.repeat(99) } },
        },
      ],
      { columns: 40 },
    );
    expect(picture.split('\n')).toHaveLength(2);
    expect(picture).toMatch(/ƒ price\({"symbol":"A/);
  });

  it('names the files that were made', () => {
    const file = {
      name: 'chart.png',
      mimeType: 'image/png',
      sizeBytes: 12_345,
      bytes: () => Promise.resolve(new Uint8Array()),
      saveTo: () => Promise.resolve(),
    };
    expect(shown([end({ files: [file] })]).picture).toContain('chart.png · image/png · 12.3 kB');
  });
});

describe('too much', () => {
  it('output is folded in the middle, with a count', () => {
    const lines = Array.from({ length: 1000 }, (_, index) => `line ${index}`);
    const { picture } = shown([
      code('x'),
      output(`${lines.join('\n')}\n`),
      result(lines.join('\n')),
    ]);
    expect(picture.split('\n').length).toBeLessThan(70);
    expect(picture).toContain('│ line 0\n');
    expect(picture).toContain('│ line 999\n');
    expect(picture).toContain('… 952 lines not shown …');
  });

  it('of one endless line the first rows are shown', () => {
    const { picture } = shown([code('x'), output(`${'x'.repeat(5000)}\n`)], { columns: 40 });
    expect(picture.split('\n').length).toBeLessThan(12);
  });

  it('of a progress bar the last state becomes a line', () => {
    const states = Array.from({ length: 5000 }, (_, index) => `\r${index} of 5000`).join('');
    const { picture } = shown([code('x'), output(states), output('\n')]);
    expect(picture).toMatch(/├ output\n {2}│ 4999 of 5000$/);
  });
});

describe('a terminal is safe from what models and scripts write', () => {
  const hostile = '\u001B[2J\u001B]0;title\u0007\u009B31mred\b\b\u0000\u202Eevil';

  it.each([
    ['text', [text(hostile), text('\n')]],
    ['code', [code(hostile)]],
    ['output', [code('x'), output(`${hostile}\n`)]],
    ['an unfinished line of output', [code('x'), output(hostile)]],
    ['a traceback', [code('x'), result(hostile, 'OUTCOME_FAILED')]],
    ['a notice', [{ type: 'notice', text: hostile }]],
    ['a retry', [{ type: 'retry', reason: hostile, attempt: 1, delayMs: 1 }]],
    ['a reason', [end({ status: 'blocked', reason: hostile })]],
    [
      'a file name',
      [
        end({
          files: [
            {
              name: hostile,
              mimeType: hostile,
              sizeBytes: 1,
              bytes: () => Promise.reject(new Error()),
              saveTo: () => Promise.reject(new Error()),
            },
          ],
        }),
      ],
    ],
    ['a function name', [{ type: 'function-call', call: { name: hostile } }]],
    [
      'a model name',
      [
        { type: 'run-start', model: hostile, prompt: '' },
        { type: 'step-start', step: 1 },
      ],
    ],
  ] satisfies [string, RunEvent[]][])('%s', (_where, events) => {
    const { picture, during } = shown(events);
    for (const seen of [picture, during]) {
      expect(seen).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/);
    }
  });
});

describe('text that is asked for again', () => {
  it('no longer counts', () => {
    const { picture, view } = shown([
      { type: 'step-start', step: 1 },
      text('The answ'),
      { type: 'retry', reason: 'stream cut', attempt: 2, delayMs: 1500 },
      text('The answer is 7.'),
      end(),
    ]);
    expect(view.shownText).toBe('The answer is 7.');
    expect(picture.replace(/\s+/g, ' ')).toContain(
      'asking again in 1.50 s (attempt 2); the text above no longer counts',
    );
  });
});

describe('an answer that is held back', () => {
  const options = { holdsAnswer: true };

  it('is not shown, but the text of the steps before is', () => {
    const { picture, view } = shown(
      [
        { type: 'step-start', step: 1 },
        text('First a script.'),
        code('x'),
        result('1'),
        { type: 'step-start', step: 2 },
        text('The answer.'),
        end(),
      ],
      { isTTY: false, options },
    );
    expect(picture).toContain('First a script.');
    expect(picture).not.toContain('The answer.');
    expect(view.shownText).toBe('');
  });

  it('is shown where it turned out to be none', () => {
    const events = [text('I give up.'), end({ status: 'no-answer', text: 'I give up.' })];
    expect(shown(events, { options }).picture).toContain('I give up.');
  });
});
