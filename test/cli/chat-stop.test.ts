import { describe, expect, it } from 'vitest';
import { call, gate, text, turn } from '../support/gemini-server.js';
import { until } from '../support/processes.js';
import { descendantsOf } from './cli-process.js';
import { elsewhere, prepare } from './played-terminal.js';

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('Ctrl-C on a terminal', { timeout: 120_000 }, () => {
  it('while the model thinks ends that turn only', async () => {
    const held = gate();
    await using played = await prepare([turn(text('Well'), held), turn(text('Still here.'))]);
    await using terminal = played.open(elsewhere);
    await terminal.shows(/\/help/);
    terminal.say('Think hard.');
    await terminal.shows(/Well[\s\S]*asking/);
    terminal.press('ctrl-c');
    await terminal.shows(/Well\n[\s\S]*Stopped\./);
    terminal.say('Are you there?');
    await terminal.shows(/Still here\./);
    expect(played.server.requests.filter(({ refusal }) => refusal !== undefined)).toEqual([]);
    expect(JSON.stringify(played.server.requests.at(-1)?.body.contents)).toContain('Think hard.');
  });

  it('a second time, where a script will not stop, leaves at once: nothing runs on, nothing is lost', async () => {
    const stubborn =
      'import time\nprint("will not stop", flush=True)\nwhile True:\n  try:\n    time.sleep(600)\n' +
      '  except KeyboardInterrupt:\n    print("ignored", flush=True)';
    await using played = await prepare([turn(call(stubborn, { id: 'a' }))]);
    {
      await using terminal = played.open();
      await terminal.shows(/\/help/);
      terminal.say('Run it.');
      await terminal.shows(/│ will not stop/);
      const started = await descendantsOf(terminal.pid);
      expect(started.length).toBeGreaterThan(1);
      terminal.press('ctrl-c');
      // Half a second is the least: one keystroke may come both as a key and as a signal.
      await terminal.shows(/stopping; Ctrl-C again to leave at once · (0\.[6-9]|[1-9]\.\d) s/);
      terminal.press('ctrl-c');
      expect(await terminal.ended).toBe(130);
      expect(terminal.written).toMatch(/\u001B\[\?2004l[^\u001B]*$/);
      await until(() => !started.some(({ pid }) => isThere(pid)));
    }
    await using again = played.open({ ...elsewhere, args: [...elsewhere.args, '--resume'] });
    await again.shows(/› Run it\.[\s\S]*1 turn/);
    again.say('/history');
    await again.shows(/1 {2}Run it\. {2}cancelled/);
  });
});
