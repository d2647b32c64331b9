import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { text, turn } from '../support/gemini-server.js';
import { elsewhere, lastPrompt, prepare } from './played-terminal.js';

describe('what is typed', () => {
  it('a paste of 200 lines is one message, and only Enter sends it', async () => {
    await using played = await prepare([turn(text('Read.')), turn(text('Second.'))]);
    await using terminal = played.open(elsewhere);
    await terminal.shows(/\/help/);
    const pasted = Array.from({ length: 200 }, (_, index) => `line ${index + 1} 日本語 🎉`).join(
      '\n',
    );
    terminal.paste(pasted);
    await terminal.shows(/line 200 日本語/);
    expect(played.server.requests).toEqual([]);
    terminal.say('');
    await terminal.shows(/Read\./);
    expect(lastPrompt(played.server)).toBe(pasted);
    expect(terminal.text).toMatch(/… 188 more lines/);

    terminal.type('one \\\rtwo');
    terminal.say('');
    await terminal.shows(/Second\./);
    expect(lastPrompt(played.server)).toBe('one \ntwo');
  });

  it('is remembered across runs, by its owner alone, and completed', async () => {
    await using played = await prepare([turn(text('Noted.')), turn(text('Again.'))]);
    {
      await using terminal = played.open(elsewhere);
      await terminal.shows(/\/help/);
      terminal.say('Remember me.');
      await terminal.shows(/Noted\./);
      terminal.press('ctrl-d');
      expect(await terminal.ended).toBe(0);
    }
    const { mode } = await stat(join(played.folder, 'home', 'history'));
    expect(mode & 0o777).toBe(0o600);
    await using terminal = played.open(elsewhere);
    await terminal.shows(/\/help/);
    terminal.press('up');
    await terminal.shows(/› Remember me\.$/);
    terminal.say('');
    await terminal.shows(/Again\./);
    terminal.type('/hist');
    terminal.press('tab');
    await terminal.shows(/› \/history$/);
    terminal.say('');
    await terminal.shows(/1 {2}Remember me\. {2}answered/);
    terminal.type('@READ');
    terminal.press('tab');
    await terminal.shows(/› @README\.md$/);
  });

  it('no control code of the model or of NO_COLOR reaches the terminal', async () => {
    const evil = 'Before\rAfter \u001B[2J\u001B]0;title\u0007\u009B31m \u202Egnp.exe\u0000 end.';
    await using played = await prepare([turn(text(evil))]);
    await using terminal = played.open({
      ...elsewhere,
      env: { ...elsewhere.env, NO_COLOR: '1' },
    });
    await terminal.shows(/\/help/);
    terminal.say('Say it.');
    await terminal.shows(/end\.[\s\S]*1 request/);
    expect(terminal.text).toContain('After');
    expect(terminal.written).not.toMatch(
      /\u001B\[[0-9;]*m|\u001B\[2J|\u001B\]|\u009B|\u202E|\u0000/,
    );
  });
});

it('Ctrl-Z hands the terminal to the shell, and what was typed is there when it comes back', async () => {
  await using played = await prepare([turn(text('Back.'))]);
  await using terminal = played.open({ ...elsewhere, isJob: true });
  await terminal.shows(/\/help/);
  terminal.type('half a sentence');
  await terminal.shows(/half a sentence$/);
  terminal.press('ctrl-z');
  await terminal.shows(/\[suspended\]$/);
  expect(terminal.written).toMatch(/\u001B\[\?2004l[^\u001B]*\[suspended\]\r\n$/);
  terminal.type('fg\r');
  await terminal.shows(/half a sentence$/);
  terminal.say(' and the rest');
  await terminal.shows(/Back\./);
  expect(lastPrompt(played.server)).toBe('half a sentence and the rest');
});

it('Ctrl-Z where no shell could take the program up again does not leave it deaf', async () => {
  await using played = await prepare([turn(text('Here.'))]);
  await using terminal = played.open(elsewhere);
  await terminal.shows(/\/help/);
  terminal.press('ctrl-z');
  await terminal.writes(/\[\?2004l[^]*\[\?2004h[^]*›/);
  terminal.say('Still there?');
  await terminal.shows(/Here\./);
});

it('/edit hands over what was typed, takes back what was written and sends nothing by itself', async () => {
  await using played = await prepare([turn(text('Read.'))]);
  const editor = join(played.folder, 'editor.sh');
  await writeFile(editor, 'printf "%s\\n" "line one" "line two 日本" >> "$2"\n');
  const env = { ...elsewhere.env, EDITOR: `sh '${editor}' --wait`, VISUAL: '' };
  await using terminal = played.open({ ...elsewhere, env });
  await terminal.shows(/\/help/);
  terminal.say('/edit');
  await terminal.shows(/› line one\n {2}line two 日本$/);
  expect(played.server.requests).toEqual([]);
  terminal.say('');
  await terminal.shows(/Read\./);
  expect(lastPrompt(played.server)).toBe('line one\nline two 日本');
});

it('an editor that fails is told, and the chat goes on', async () => {
  await using played = await prepare([turn(text('Fine.'))]);
  const env = { ...elsewhere.env, EDITOR: 'false', VISUAL: '' };
  await using terminal = played.open({ ...elsewhere, env });
  await terminal.shows(/\/help/);
  terminal.say('/edit');
  await terminal.shows(/editor false could not be used/);
  terminal.say('Go on.');
  await terminal.shows(/Fine\./);
});

it('TERM=dumb has no escape sequences, and Ctrl-C at the prompt leaves', async () => {
  await using played = await prepare([turn(text('Plain.'))]);
  await using terminal = played.open({ ...elsewhere, env: { ...elsewhere.env, TERM: 'dumb' } });
  await terminal.shows(/^>/m);
  terminal.say('Say it.');
  await terminal.shows(/Plain\.[\s\S]*\n>/);
  terminal.press('ctrl-c');
  expect(await terminal.ended).toBe(130);
  expect(terminal.written).not.toContain('\u001B');
});
