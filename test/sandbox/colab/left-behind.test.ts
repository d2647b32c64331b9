import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openEndpoint } from '../../../src/sandbox/colab/endpoint.js';
import { clearLeftBehind, clearQuietly } from '../../../src/sandbox/colab/left-behind.js';
import type { Clearing } from '../../../src/sandbox/colab/left-behind.js';
import { fixedToken } from '../../../src/sandbox/colab/sign-in.js';
import { takeStock } from '../../../src/sandbox/colab/stock.js';
import { Ledger } from '../../../src/sandbox/ledger.js';
import { ChildProgram } from '../../support/child-program.js';
import { CPU, ScriptedColab } from '../../support/scripted-colab.js';
import { connect, quickly } from './connected.js';

async function emptyLedger(): Promise<Ledger> {
  const folder = await mkdtemp(join(tmpdir(), 'colab-solver-ledger-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return new Ledger({ folder });
}

/** A session that a run opened before it was killed; its name. */
async function killedRun(server: ScriptedColab, ledger: Ledger): Promise<string> {
  await using run = new ChildProgram('colab-holder', [server.url, ledger.folder]);
  return await run.line();
}

async function clean(
  server: ScriptedColab,
  ledger: Ledger,
  { withRuntimes = false } = {},
): Promise<Clearing[]> {
  const connection = openEndpoint({ url: server.url, signIn: fixedToken('secret-token-1234') });
  const clearings: Clearing[] = [];
  const calls = { connection, ledger, policy: quickly };
  for await (const clearing of clearLeftBehind(calls, { withRuntimes })) clearings.push(clearing);
  await connection.close();
  return clearings;
}

/** As after a run that was killed on the runtime `runtimes/r1`, which it had made. */
async function leaveRuntime(server: ScriptedColab, ledger: Ledger, name = 'runtimes/r1') {
  await ledger.disown({
    kind: 'runtime',
    url: new URL(server.url).href,
    name,
    requestId: crypto.randomUUID(),
    runtimeSpec: CPU,
    isMade: true,
  });
}

async function leaveSession(server: ScriptedColab, ledger: Ledger, id: string): Promise<string> {
  const name = `runtimes/r1/sessions/cs-${id}`;
  server.sessions.add(name);
  await ledger.disown({ kind: 'session', url: server.url, name, holder: 'gone' });
  return name;
}

describe('the ledger of a run', () => {
  it('knows of a session before it is asked for, and no more once it is deleted', async () => {
    await using server = await ScriptedColab.start();
    const ledger = await emptyLedger();
    await using sandbox = await connect(server, { ledger });
    const noted: string[][] = [];
    server.answer('create_session', async (call) => {
      noted.push((await ledger.entries()).map(({ name }) => name));
      call.result({ name: `runtimes/r1/sessions/${String(call.args['sessionId'])}` });
    });
    const session = await sandbox.openSession();
    expect(noted).toEqual([[session.name]]);
    await session.close();
    expect(await ledger.entries()).toEqual([]);
  });

  it('goes on knowing of a session that could not be deleted', async () => {
    await using server = await ScriptedColab.start();
    const ledger = await emptyLedger();
    const sandbox = await connect(server, { ledger });
    const session = await sandbox.openSession();
    server.answer('delete_session', (call) => {
      call.toolError('PERMISSION_DENIED');
    });
    await expect(session.close()).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(await ledger.entries()).toMatchObject([{ name: session.name }]);
    await sandbox.close();
  });

  it('holds no token', async () => {
    await using server = await ScriptedColab.start();
    server.answer('list_runtimes', (call) => {
      call.result({});
    });
    const ledger = await emptyLedger();
    await using sandbox = await connect(server, { ledger });
    await sandbox.openSession();
    const files = await readdir(ledger.folder);
    const texts = await Promise.all(
      files.map((file) => readFile(join(ledger.folder, file), 'utf8')),
    );
    expect(texts).toHaveLength(2);
    expect(texts.join('')).not.toContain('secret-token-1234');
  });
});

describe('cleaning', () => {
  it('situation 19: deletes the session of a killed run, and leaves alone a running one’s and a notebook', async () => {
    await using server = await ScriptedColab.start();
    const ledger = await emptyLedger();
    server.sessions.add('runtimes/r1/sessions/notebook');
    server.sessions.add('runtimes/r1/sessions/cs-of-another-machine');
    await using running = new ChildProgram('colab-holder', [server.url, ledger.folder]);
    const inUse = await running.line();
    await using sandbox = await connect(server, { ledger });
    const own = await sandbox.openSession();
    const left = await killedRun(server, ledger);
    expect(await clean(server, ledger)).toEqual([
      { kind: 'session', name: left, outcome: 'deleted' },
    ]);
    expect([...server.sessions].sort()).toEqual(
      [
        'runtimes/r1/sessions/notebook',
        'runtimes/r1/sessions/cs-of-another-machine',
        inUse,
        own.name,
      ].sort(),
    );
    expect(await clean(server, ledger)).toEqual([]);
  });

  it('takes what is gone already as done', async () => {
    await using server = await ScriptedColab.start();
    const ledger = await emptyLedger();
    const name = await leaveSession(server, ledger, 'a');
    server.answer('delete_session', (call) => {
      call.toolError('NOT_FOUND: no such session');
    });
    expect(await clean(server, ledger)).toEqual([{ kind: 'session', name, outcome: 'gone' }]);
  });

  it('keeps a young entry of what is not there, since the call that makes it may be under way', async () => {
    await using server = await ScriptedColab.start();
    const { folder } = await emptyLedger();
    let now = Date.now();
    const ledger = new Ledger({ folder, now: () => now });
    const name = 'runtimes/elsewhere/sessions/cs-1';
    await ledger.disown({ kind: 'session', url: server.url, name, holder: 'gone' });
    await clean(server, ledger);
    expect(await ledger.entries()).toHaveLength(1);
    now += 61_000;
    await clean(server, ledger);
    expect(await ledger.entries()).toEqual([]);
  });

  it('goes on after a failure, and keeps what failed for another time', async () => {
    await using server = await ScriptedColab.start();
    const ledger = await emptyLedger();
    await leaveSession(server, ledger, 'a');
    await leaveSession(server, ledger, 'b');
    server.answer('delete_session', (call) => {
      call.toolError('PERMISSION_DENIED');
    });
    const outcomes = (await clean(server, ledger)).map(({ outcome }) => outcome);
    expect(outcomes.sort()).toEqual(['deleted', 'failed']);
    expect(await ledger.entries()).toHaveLength(1);
  });

  it('touches nothing of other endpoints', async () => {
    await using server = await ScriptedColab.start();
    const ledger = await emptyLedger();
    const name = 'runtimes/r1/sessions/cs-1';
    server.sessions.add(name);
    await ledger.disown({ kind: 'session', url: 'https://other.test/mcp', name, holder: 'gone' });
    expect(await clean(server, ledger, { withRuntimes: true })).toEqual([]);
    expect(server.calls).toEqual([]);
  });

  it('deletes a runtime that we made only when asked', async () => {
    await using server = await ScriptedColab.start();
    const ledger = await emptyLedger();
    await leaveRuntime(server, ledger);
    const kept = { kind: 'runtime', name: 'runtimes/r1', outcome: 'kept' };
    expect(await clean(server, ledger)).toEqual([kept]);
    expect(server.callsOf('delete_runtime')).toEqual([]);
    const deleted = { ...kept, outcome: 'deleted' };
    expect(await clean(server, ledger, { withRuntimes: true })).toEqual([deleted]);
    expect(server.callsOf('delete_runtime')).toEqual([{ name: 'runtimes/r1' }]);
    expect(await ledger.entries()).toEqual([]);
  });

  it('never deletes a runtime that is not ours, or on which somebody has a session', async () => {
    await using server = await ScriptedColab.start();
    const ledger = await emptyLedger();
    expect(await clean(server, ledger, { withRuntimes: true })).toEqual([]);
    await leaveRuntime(server, ledger);
    await leaveSession(server, ledger, 'left');
    server.sessions.add('runtimes/r1/sessions/notebook');
    expect(await clean(server, ledger, { withRuntimes: true })).toMatchObject([
      { kind: 'session', outcome: 'deleted' },
      { kind: 'runtime', outcome: 'kept', users: ['runtimes/r1/sessions/notebook'] },
    ]);
    expect(server.callsOf('delete_runtime')).toEqual([]);
  });

  it('forgets a runtime that is not there any more', async () => {
    await using server = await ScriptedColab.start();
    const ledger = await emptyLedger();
    await leaveRuntime(server, ledger, 'runtimes/reclaimed');
    expect(await clean(server, ledger)).toMatchObject([{ outcome: 'gone' }]);
    expect(await ledger.entries()).toEqual([]);
  });
});

describe('the next run', () => {
  it('deletes what a killed one left, and nothing else', async () => {
    await using server = await ScriptedColab.start();
    const ledger = await emptyLedger();
    server.sessions.add('runtimes/r1/sessions/notebook');
    await leaveRuntime(server, ledger);
    await killedRun(server, ledger);
    await using sandbox = await connect(server, { ledger });
    await vi.waitFor(() => {
      expect([...server.sessions]).toEqual(['runtimes/r1/sessions/notebook']);
    });
    await sandbox.close();
    expect(server.callsOf('delete_runtime')).toEqual([]);
  });

  it('neither waits for that nor fails with it', async () => {
    await using server = await ScriptedColab.start();
    const ledger = await emptyLedger();
    const left = await leaveSession(server, ledger, 'a');
    const asked = new Promise<void>((resolve) => {
      server.answer('delete_session', (call) => {
        call.begin();
        resolve();
      });
    });
    const sandbox = await connect(server, { ledger });
    await asked;
    const session = await sandbox.openSession();
    await session.close();
    await sandbox.close();
    expect(server.sessions).toEqual(new Set([left]));
    expect(await ledger.entries()).toMatchObject([{ name: left }]);
  });

  it('stops at the first refusal, so as not to use up what the run needs', async () => {
    await using server = await ScriptedColab.start();
    const ledger = await emptyLedger();
    for (const id of ['a', 'b', 'c']) await leaveSession(server, ledger, id);
    server.answer('delete_session', (call) => {
      call.toolError('RESOURCE_EXHAUSTED: slow down');
    });
    const connection = openEndpoint({ url: server.url, signIn: fixedToken('secret-token-1234') });
    await clearQuietly({ connection, ledger, policy: { ...quickly, attempts: 1 } });
    await connection.close();
    expect(server.callsOf('delete_session')).toHaveLength(1);
    expect(await ledger.entries()).toHaveLength(3);
  });
});

describe('taking stock', () => {
  it('tells ours from others’, and what is in use from what was left behind', async () => {
    await using server = await ScriptedColab.start();
    const ledger = await emptyLedger();
    await leaveRuntime(server, ledger);
    const left = await leaveSession(server, ledger, 'left');
    const inUse = 'runtimes/r1/sessions/cs-in-use';
    await ledger.note({ kind: 'session', url: server.url, name: inUse, holder: 'this' });
    for (const name of [inUse, 'runtimes/r1/sessions/notebook']) server.sessions.add(name);
    const connection = openEndpoint({ url: server.url, signIn: fixedToken('t-123456') });
    const [runtime] = await takeStock({ connection, ledger, policy: quickly });
    await connection.close();
    expect(runtime).toMatchObject({ name: 'runtimes/r1', spec: CPU, state: 'left-behind' });
    expect(new Map(runtime?.sessions.map(({ name, state }) => [name, state]))).toEqual(
      new Map([
        [left, 'left-behind'],
        ['runtimes/r1/sessions/notebook', 'not-ours'],
        [inUse, 'in-use'],
      ]),
    );
  });
});
