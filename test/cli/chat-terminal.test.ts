import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call, text, turn } from '../support/gemini-server.js';
import { prepare } from './played-terminal.js';

describe('a whole session on a terminal', { timeout: 180_000 }, () => {
  it('Ctrl-C in a script of ten minutes ends it within two seconds and keeps output, variables and the chat', async () => {
    await using played = await prepare([
      turn(
        text('I read the **file**.\n\n'),
        call('import pandas as pd\ndata = pd.read_csv("orders 日本.csv")\nprint(dta)', { id: 'a' }),
      ),
      turn(call('total = data["price"].sum()\nprint("total 🎉", total)', { id: 'b' })),
      turn(text('The total is **60**.')),
      turn(
        call(
          'import time\nprint("working on it", flush=True)\ntime.sleep(600)\nopen("late", "w")',
          { id: 'c' },
        ),
      ),
      turn(text('It was stopped.')),
    ]);
    const { server, folder } = played;
    const csv = join(folder, 'orders 日本.csv');
    await writeFile(csv, 'price\n10\n20\n30\n');
    await using terminal = played.open({ args: [csv], columns: 80 });
    await terminal.shows(/attached orders 日本\.csv/);
    terminal.say('What is the total? Größe ✓ 👩‍🔬');
    await terminal.shows(/NameError: name 'dta' is not defined/);
    await terminal.shows(/total 🎉 60/);
    await terminal.shows(/The total is 60\.\n[\s\S]*2 scripts/);
    expect(server.requests[0]?.body.contents[0]?.parts[0]?.text).toBe(
      'What is the total? Größe ✓ 👩‍🔬',
    );

    terminal.say('Now take your time.');
    await terminal.shows(/working on it[\s\S]*running · /);
    terminal.resize(60, 30);
    terminal.type('typed while it runs');
    await terminal.shows(/› typed while it runs$/);
    const pressedAt = performance.now();
    terminal.press('ctrl-c');
    await terminal.shows(/stopped · [\s\S]*Variables are still there\./);
    // The one promise in seconds: whoever presses the key again after that loses the session.
    expect(performance.now() - pressedAt).toBeLessThan(2_000);
    terminal.press('ctrl-c');
    terminal.say('/run print(total + 1, __import__("os").path.exists("late"))');
    await terminal.shows(/│ 61 False/);
    terminal.say('What happened?');
    await terminal.shows(/It was stopped\./);
    const told = JSON.stringify(server.requests.at(-1)?.body.contents);
    expect(told).toMatch(/working on it.*stopped before its end.*The user stopped it.*61 False/s);
    expect(server.requests.filter(({ refusal }) => refusal !== undefined)).toEqual([]);

    terminal.say('/vars');
    await terminal.shows(/data +DataFrame +3 × 1/);
    for (const ending of ['ipynb', 'md', 'html', 'jsonl']) {
      terminal.say(`/save ${join(folder, `talk.${ending}`)}`);
      await terminal.shows(new RegExp(`Saved [^›]*talk\\.\\s*${ending}`));
      const saved = await readFile(join(folder, `talk.${ending}`), 'utf8');
      expect(saved).toContain('working on it');
      expect(saved).toContain('What happened?');
    }
    terminal.say('/undo');
    await terminal.shows(/Taken back: What happened\?/);
    terminal.press('ctrl-c');
    await terminal.shows(/Ctrl-C again, or Ctrl-D, leaves/);
    terminal.press('ctrl-c');
    expect(await terminal.ended).toBe(0);
    expect(terminal.text).toMatch(/To go on later: colab-solver chat --resume \w+/);
    expect(terminal.written).toContain('\u001B[?2004l');
  });

  it('killed in the middle it is resumed with what had happened, in another session', async () => {
    await using played = await prepare([
      turn(call('x = 6', { id: 'a' })),
      turn(text('x is set.')),
      turn(
        call(
          'import time\nprint("epoch 1 done", flush=True)\ntime.sleep(1)\nprint("epoch 2")\ntime.sleep(600)',
          { id: 'b' },
        ),
      ),
      turn(call('print(x * 7)', { id: 'c' })),
      turn(text('Forty-two.')),
    ]);
    {
      await using terminal = played.open();
      await terminal.shows(/\/help/);
      terminal.say('Set x.');
      await terminal.shows(/x is set\./);
      terminal.say('Train.');
      await terminal.shows(/│ epoch 2/);
      terminal.kill(9);
      expect(await terminal.ended).not.toBe(0);
    }
    await using terminal = played.open({ args: ['--resume'], columns: 60 });
    await terminal.shows(/› Train\.[\s\S]*2 turns[\s\S]*\/rerun/);
    terminal.say('/rerun');
    await terminal.shows(/have run again/);
    terminal.say('Times seven?');
    await terminal.shows(/│ 42[\s\S]*Forty-two\./);
    const told = JSON.stringify(played.server.requests.at(-1)?.body.contents);
    expect(told).toMatch(/epoch 1 done.*stopped before its end.*program ended in the middle/s);
    expect(played.server.requests.filter(({ refusal }) => refusal !== undefined)).toEqual([]);
    terminal.press('ctrl-d');
    expect(await terminal.ended).toBe(0);
  });
});
