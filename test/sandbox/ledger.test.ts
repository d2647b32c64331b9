import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Ledger } from '../../src/sandbox/ledger.js';
import type { LedgerEntry, Noted, RuntimeEntry, SessionEntry } from '../../src/sandbox/ledger.js';
import { ownIdentity } from '../../src/sandbox/process-identity.js';
import { stateFolder } from '../../src/state-folder.js';
import { ChildProgram } from '../support/child-program.js';

const URL_OF_TEST = 'http://127.0.0.1:1/mcp';
const DAY_MS = 86_400_000;

async function emptyFolder(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'colab-solver-ledger-'));
  onTestFinished(() => rm(parent, { recursive: true }));
  return join(parent, 'state', 'ledger');
}

function session(id: string): Noted<SessionEntry> {
  const name = `runtimes/r1/sessions/cs-${id}`;
  return { kind: 'session', url: URL_OF_TEST, name, holder: 'h' };
}

function runtime(requestId: string): Noted<RuntimeEntry> {
  const runtimeSpec = { variant: 'VARIANT_GPU', accelerator: 'T4', shape: 'SHAPE_STANDARD' };
  const name = `runtimes/cs-${requestId}`;
  return { kind: 'runtime', url: URL_OF_TEST, name, requestId, runtimeSpec, isMade: false };
}

async function onlyEntry(ledger: Ledger): Promise<LedgerEntry> {
  const [entry] = await ledger.entries();
  if (entry === undefined) throw new Error('The ledger is empty.');
  return entry;
}

describe('an entry', () => {
  it('is there until it is taken out, and noting it again replaces it', async () => {
    const ledger = new Ledger({ folder: await emptyFolder() });
    const requestId = crypto.randomUUID();
    await ledger.note(runtime(requestId));
    await ledger.note({ ...runtime(requestId), isMade: true });
    await ledger.note(session('1'));
    expect(await ledger.entries()).toMatchObject([
      { kind: 'runtime', requestId, isMade: true, owner: await ownIdentity() },
      { kind: 'session', name: 'runtimes/r1/sessions/cs-1', owner: { pid: process.pid } },
    ]);
    await ledger.forget(session('1'));
    await ledger.forget(session('1'));
    await ledger.forgetRuntime(URL_OF_TEST, `runtimes/cs-${requestId}`);
    expect(await ledger.entries()).toEqual([]);
  });

  it('can be read by its user only', async () => {
    const folder = await emptyFolder();
    await mkdir(folder, { recursive: true, mode: 0o755 });
    await new Ledger({ folder }).note(session('1'));
    const [file = ''] = await readdir(folder);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
  });

  it('of another form, or of a session that is not ours by its name, is not acted on', async () => {
    const folder = await emptyFolder();
    const ledger = new Ledger({ folder });
    await ledger.note(session('1'));
    const [file = ''] = await readdir(folder);
    const whole = await readFile(join(folder, file), 'utf8');
    const notebook = whole.replace('cs-1', 'notebook');
    await writeFile(join(folder, 'session-cs-1.json'), notebook);
    await writeFile(join(folder, 'session-cs-2.json'), whole.slice(0, whole.length / 2));
    await writeFile(join(folder, 'later-kind.json'), '{"kind": "later"}');
    expect(await ledger.entries()).toEqual([]);
  });

  it('that cannot be written is told of once, and keeps nobody from working', async () => {
    const folder = await emptyFolder();
    await mkdir(join(folder, '..'), { recursive: true });
    await writeFile(folder, 'a file where the folder belongs');
    const told: string[] = [];
    const ledger = new Ledger({ folder, onTrouble: (text) => told.push(text) });
    await ledger.note(session('1'));
    await ledger.note(session('2'));
    await ledger.sweep();
    expect(told).toEqual([expect.stringMatching(/ledger.*COLAB_SOLVER_HOME/) as string]);
    await expect(ledger.entries()).rejects.toMatchObject({ code: 'UNREADABLE_FILE' });
  });
});

describe('many processes', () => {
  it('may write at once and be killed at any moment: each entry is whole, and nobody is missing', async () => {
    const folder = await emptyFolder();
    const ledger = new Ledger({ folder });
    const writers = Array.from(
      { length: 4 },
      () => new ChildProgram('ledger-holder', [folder, URL_OF_TEST]),
    );
    await Promise.all(writers.map((writer) => writer.line()));
    for (const [index, writer] of writers.entries()) {
      for (let round = 0; round < 20 + index * 7; round += 1) await writer.line();
      await ledger.note(session(`mine-${index}`));
      await writer.kill();
    }
    const files = (await readdir(folder)).filter((name) => name.endsWith('.json'));
    const entries = await ledger.entries();
    expect(entries).toHaveLength(files.length);
    const left = await Promise.all(entries.map((entry) => ledger.isLeftBehind(entry)));
    expect(left.filter((isLeft) => !isLeft)).toHaveLength(writers.length);
    for (const { pid } of writers) {
      expect(entries.filter(({ owner }) => owner?.pid === pid).length).toBeGreaterThanOrEqual(10);
    }
  });
});

describe('left behind', () => {
  it('is what a process noted that was killed since, not what a running one did', async () => {
    const folder = await emptyFolder();
    const ledger = new Ledger({ folder });
    await using writer = new ChildProgram('ledger-holder', [folder, URL_OF_TEST]);
    await writer.line();
    await writer.line();
    const entry = await onlyEntry(ledger);
    expect(await ledger.isLeftBehind(entry)).toBe(false);
    await writer.kill();
    expect(await ledger.isLeftBehind(entry)).toBe(true);
  });

  it('is what a process noted whose id another one has by now', async () => {
    const ledger = new Ledger({ folder: await emptyFolder() });
    await ledger.note(session('1'));
    const entry = await onlyEntry(ledger);
    const earlier = { ...(await ownIdentity()), startedAt: 'long ago' };
    expect(await ledger.isLeftBehind({ ...entry, owner: earlier })).toBe(true);
    const unknown = { ...earlier, startedAt: '' };
    expect(await ledger.isLeftBehind({ ...entry, owner: unknown })).toBe(false);
  });

  it('is what its process gave up', async () => {
    const ledger = new Ledger({ folder: await emptyFolder() });
    await ledger.disown(runtime(crypto.randomUUID()));
    expect(await ledger.isLeftBehind(await onlyEntry(ledger))).toBe(true);
  });

  it('is not what another machine or container noted, until nothing on Colab can be as old', async () => {
    let now = Date.now();
    const ledger = new Ledger({ folder: await emptyFolder(), now: () => now });
    await ledger.note(session('1'));
    const elsewhere = { ...(await ownIdentity()), machine: 'another', pid: 2 ** 30 };
    const entry = { ...(await onlyEntry(ledger)), owner: elsewhere };
    expect(await ledger.isLeftBehind(entry)).toBe(false);
    now += 2 * DAY_MS + 1;
    expect(await ledger.isLeftBehind(entry)).toBe(true);
  });
});

describe('sweeping', () => {
  it('forgets what was left behind a month ago, and files that were never finished', async () => {
    const folder = await emptyFolder();
    let now = Date.now();
    const ledger = new Ledger({ folder, now: () => now });
    await ledger.disown(session('left'));
    await ledger.note(session('in-use'));
    const stray = join(folder, 'session-cs-9.json.1234.new');
    await writeFile(stray, '{"kind": "ses');
    await ledger.sweep();
    expect(await readdir(folder)).toHaveLength(3);
    now += 31 * DAY_MS;
    await utimes(stray, 0, 0);
    await ledger.sweep();
    expect(await readdir(folder)).toEqual(['session-cs-in-use.json']);
  });
});

it.each<[NodeJS.ProcessEnv, NodeJS.Platform, string]>([
  [{ HOME: '/home/a' }, 'linux', '/home/a/.local/state/colab-solver'],
  [{ HOME: '/Users/a' }, 'darwin', '/Users/a/Library/Application Support/colab-solver'],
  [{ HOME: '/home/a', XDG_STATE_HOME: '/x' }, 'linux', '/x/colab-solver'],
  [{ HOME: '/home/a', XDG_STATE_HOME: 'relative' }, 'linux', '/home/a/.local/state/colab-solver'],
  [{ HOME: '/home/a', XDG_STATE_HOME: '/x', COLAB_SOLVER_HOME: '/own' }, 'linux', '/own'],
  [{ HOME: '/home/a', COLAB_SOLVER_HOME: '' }, 'linux', '/home/a/.local/state/colab-solver'],
])('the state folder of %j on %s', (env, platform, folder) => {
  expect(stateFolder(env, platform)).toBe(folder);
});
