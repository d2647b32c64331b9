import { describe, expect, it } from 'vitest';
import { Screen } from '../../../src/cli/render/screen.js';
import { SmallTerminal } from './small-terminal.js';

const env = { TERM: 'xterm' };

describe('the status line', () => {
  it('stays below what is printed and goes without a trace', () => {
    const log = new SmallTerminal();
    const screen = new Screen({ log, env });
    screen.status(() => 'working');
    screen.line('first');
    screen.line('second');
    expect(log.picture).toBe('first\nsecond\nworking');
    screen[Symbol.dispose]();
    expect(log.picture).toBe('first\nsecond');
  });

  it('is never drawn into text that flows', () => {
    const log = new SmallTerminal();
    const screen = new Screen({ log, env });
    screen.status(() => 'working');
    screen.flow('Two ');
    screen.flow('words ');
    expect(log.picture).toBe('Two words'.slice(0, log.picture.length));
    screen.line('done');
    expect(log.picture).toBe('Two words\ndone\nworking');
    screen[Symbol.dispose]();
  });

  it('never takes more than one row', () => {
    const log = new SmallTerminal({ columns: 20 });
    const screen = new Screen({ log, env });
    screen.status(() => 'a very long status that would not fit');
    expect(log.picture.length).toBeLessThan(20);
    log.columns = 12;
    screen.line('x');
    expect(log.rows.at(-1)?.length).toBeLessThan(12);
    screen[Symbol.dispose]();
  });

  it('leaves the cursor as it is: it is never hidden, so nothing needs to be restored', () => {
    const log = new SmallTerminal();
    const screen = new Screen({ log, env });
    screen.status(() => 'working');
    screen[Symbol.dispose]();
    expect(log.written).not.toContain('?25');
  });

  it.each([
    ['no terminal', { isTTY: false }, env],
    ['a dumb terminal', { isTTY: true }, { TERM: 'dumb' }],
  ])('is left out on %s', (_worry, { isTTY }, environment) => {
    const log = new SmallTerminal({ isTTY });
    using screen = new Screen({ log, env: environment });
    screen.status(() => 'working');
    screen.line('only this');
    expect(log.written).toBe('only this\n');
  });
});

describe('colour', () => {
  const painted = (isTTY: boolean, environment: NodeJS.ProcessEnv): boolean => {
    const log = new SmallTerminal({ isTTY });
    using screen = new Screen({ log, env: environment });
    screen.line(screen.paint('x', 'red'));
    return log.written.includes('\u001B[31m');
  };

  it.each([
    ['a terminal', true, {}, true],
    ['a pipe', false, {}, false],
    ['NO_COLOR', true, { NO_COLOR: '1' }, false],
    ['an empty NO_COLOR', true, { NO_COLOR: '' }, true],
    ['FORCE_COLOR', false, { FORCE_COLOR: '1' }, true],
    ['FORCE_COLOR=0', true, { FORCE_COLOR: '0' }, false],
    ['TERM=dumb', true, { TERM: 'dumb' }, false],
    ['NO_COLOR before FORCE_COLOR', true, { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
  ])('%s', (_worry, isTTY, environment, expected) => {
    expect(painted(isTTY, environment)).toBe(expected);
  });
});

describe('two streams', () => {
  it('text and results go to the one, everything else to the other', () => {
    const log = new SmallTerminal();
    const text = new SmallTerminal();
    const screen = new Screen({ log, text, env });
    screen.line('a rule');
    screen.flow('a thought', { isAside: true });
    screen.gap();
    screen.flow('the answer');
    screen.gap();
    screen.resultLine('a result');
    screen.note('a note');
    screen[Symbol.dispose]();
    expect(text.picture).toBe('the answer\na result');
    expect(log.picture).toBe('a rule\na thought\n\n\n  a note');
  });
});

describe('notes', () => {
  it('are broken between words and indented', () => {
    const log = new SmallTerminal({ columns: 24 });
    using screen = new Screen({ log, env });
    screen.note('making the Python environment');
    expect(log.picture).toBe('  making the Python\n  environment');
  });
});
