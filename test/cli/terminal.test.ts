import { describe, expect, it } from 'vitest';
import { CliProcess } from './cli-process.js';
import { result, script, temporaryFolder, writeRuns } from './recorded-file.js';
import { SmallTerminal } from './render/small-terminal.js';

/** A real process on a real terminal. */
async function solveInTerminal(env: Record<string, string> = {}) {
  await using folder = await temporaryFolder();
  const runs = await writeRuns(folder.path, {
    q: [
      { text: 'Let me see.' },
      script('print("\\x1b[2J\\x1b[31mred")\nfor i in range(3): print(f"\\r{i}", end="")'),
      result(''),
      { text: 'The answer is **42**, as everybody knows.' },
    ],
  });
  await using cli = new CliProcess(['solve', '--model', `replay:${runs}`, 'q'], {
    env: { TERM: 'xterm-256color', ...env },
    terminal: { columns: 60 },
  });
  const { code, stdout } = await cli.ended;
  return { code, written: stdout };
}

describe('on a terminal', () => {
  it('the answer streams once, and the view ends without a trace of the status line', async () => {
    const { code, written } = await solveInTerminal();
    const terminal = new SmallTerminal({ columns: 60 });
    terminal.write(written);
    expect(terminal.picture.replace(/\d\.\d\d s/g, '0.00 s')).toBe(
      [
        `── step 1 ${'─'.repeat(49)}`,
        '',
        'Let me see.',
        '',
        '  ╭ script 1',
        String.raw`  │ print("\x1b[2J\x1b[31mred")`,
        String.raw`  │ for i in range(3): print(f"\r{i}", end="")`,
        '  ├ output',
        '  │ red',
        '  │ 2',
        '  ╰ ✓ ok · 0.00 s',
        '',
        `── step 2 ${'─'.repeat(49)}`,
        '',
        'The answer is **42**, as everybody knows.',
        '',
        '✓ answered · 2 steps · 1 script · 0.00 s · 2 requests',
      ].join('\n'),
    );
    expect(written).toMatch(/running · \d/);
    expect(written).toContain('\u001B[32m');
    expect(code).toBe(0);
  });

  it('NO_COLOR leaves no colour', async () => {
    const { written } = await solveInTerminal({ NO_COLOR: '1' });
    expect(written).not.toMatch(/\u001B\[[0-9;]*m/);
  });

  it('TERM=dumb leaves no escape sequence at all', async () => {
    const { written } = await solveInTerminal({ TERM: 'dumb' });
    expect(written).not.toContain('\u001B');
    expect(written).toContain('The answer is **42**');
  });
});
