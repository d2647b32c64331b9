import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Ledger } from '../../../src/sandbox/ledger.js';
import { ChildProgram } from '../../support/child-program.js';
import { CPU, ScriptedColab, T4 } from '../../support/scripted-colab.js';
import type { ToolCall } from '../../support/scripted-colab.js';
import { connect } from './connected.js';

const answer =
  (payload: object) =>
  (call: ToolCall): void => {
    call.result(payload);
  };
const L4 = { ...T4, accelerator: 'L4', shape: 'SHAPE_HIGHMEM' };
const A100 = { ...T4, accelerator: 'A100' };
const listed = (...runtimes: object[]) => answer({ runtimes });
const refusal =
  (text: string, structured?: object) =>
  (call: ToolCall): void => {
    call.toolError(text, structured);
  };

/** A server without runtimes that offers these specs. */
async function empty(): Promise<ScriptedColab> {
  const server = await ScriptedColab.start();
  server.answer('list_runtimes', answer({}));
  const highmem = { ...T4, shape: 'SHAPE_HIGHMEM' };
  const a100 = { ...T4, accelerator: 'A100' };
  const runtimeSpecs = [
    { key: CPU, eligible: true },
    { key: highmem, eligible: true },
    { key: T4, eligible: true },
    { key: a100 },
  ];
  server.answer('list_runtime_specs', answer({ runtimeSpecs }));
  return server;
}

describe('a runtime', () => {
  it('that is listed and fits is used, and never deleted', async () => {
    await using server = await ScriptedColab.start();
    server.answer(
      'list_runtimes',
      answer({
        runtimes: [
          { name: 'runtimes/gpu', runtimeSpec: T4 },
          { name: 'runtimes/cpu', runtimeSpec: CPU, version: '2026.07' },
        ],
      }),
    );
    const sandbox = await connect(server, { deleteRuntime: true });
    expect(sandbox.description).toContain('runtimes/cpu');
    await sandbox.close();
    expect(server.callsOf('create_runtime')).toEqual([]);
    expect(server.callsOf('delete_runtime')).toEqual([]);
  });

  it('of another version or accelerator does not fit', async () => {
    await using server = await ScriptedColab.start();
    await (await connect(server, { runtimeVersion: '2026.07' })).close();
    expect(server.callsOf('create_runtime')).toMatchObject([
      { runtime: { runtimeSpec: CPU, version: '2026.07' } },
    ]);
  });

  it('can be named, with or without its folder', async () => {
    await using server = await ScriptedColab.start();
    await using named = await connect(server, { runtime: 'r1' });
    expect(named.description).toContain('runtimes/r1');
    await expect(connect(server, { runtime: 'runtimes/other' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('runtimes/r1') as string,
    });
  });

  it('is made from an eligible spec of the accelerator, the plain shape first', async () => {
    await using server = await empty();
    await (await connect(server, { accelerator: 't4' })).close();
    expect(server.callsOf('create_runtime')).toMatchObject([{ runtime: { runtimeSpec: T4 } }]);
  });

  it('with an accelerator that is not eligible is refused, naming those that are', async () => {
    await using server = await empty();
    await expect(connect(server, { accelerator: 'A100' })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('NONE, T4') as string,
    });
    expect(server.callsOf('create_runtime')).toEqual([]);
  });

  it('is asked for again by the identical call, so that there are never two', async () => {
    await using server = await empty();
    server.answer(
      'create_runtime',
      refusal('DEADLINE_EXCEEDED: still being made'),
      (call) => {
        call.cut();
      },
      answer({ name: 'operations/o1', done: false }),
      answer({
        name: 'operations/o1',
        done: true,
        response: { name: 'runtimes/new', runtimeSpec: CPU },
      }),
    );
    await using sandbox = await connect(server);
    expect(sandbox.description).toContain('runtimes/new');
    const calls = server.callsOf('create_runtime');
    expect(calls).toHaveLength(4);
    expect(calls[0]?.['requestId']).toMatch(/^[0-9a-f-]{36}$/);
    for (const call of calls) expect(call).toEqual(calls[0]);
  });

  it('is asked for with the request id of the caller, where there is one', async () => {
    await using server = await empty();
    const requestId = 'c4f1f0e2-2f5c-4b8e-9d59-8c6a0f6f1f11';
    await (await connect(server, { requestId })).close();
    expect(server.callsOf('create_runtime')).toMatchObject([{ requestId }]);
  });

  it('that we made is deleted at the end only when asked for', async () => {
    await using server = await empty();
    await (await connect(server)).close();
    expect(server.callsOf('delete_runtime')).toEqual([]);
    server.answer('list_runtimes', answer({}));
    await (await connect(server, { deleteRuntime: true })).close();
    expect(server.callsOf('delete_runtime')).toEqual([{ name: 'runtimes/made' }]);
  });

  it.each([
    ['TOO_MANY_ACTIVE_RUNTIMES', 'TOO_MANY_RUNTIMES'],
    ['QUOTA_EXCEEDED_USAGE_TIME', 'QUOTA_EXHAUSTED'],
    ['DENYLISTED', 'ACCOUNT_BLOCKED'],
    ['SOMETHING_ELSE', 'NO_CAPACITY'],
  ])('refused for %s is %s, after one call', async (reason, code) => {
    await using server = await empty();
    server.answer('list_runtimes', answer({}));
    server.answer('create_runtime', refused(reason));
    await expect(connect(server)).rejects.toMatchObject({ code });
    expect(server.callsOf('create_runtime')).toHaveLength(1);
  });

  it('refused by its operation is told like one refused at once', async () => {
    await using server = await empty();
    const error = { code: 9, message: 'no', details: [{ reason: 'DENYLISTED' }] };
    server.answer('create_runtime', answer({ name: 'operations/o1', done: true, error }));
    await expect(connect(server)).rejects.toMatchObject({ code: 'ACCOUNT_BLOCKED' });
  });

  it('is announced while it is made', async () => {
    await using server = await empty();
    const notices: string[] = [];
    await (await connect(server, { onNotice: (text) => notices.push(text) })).close();
    expect(notices).toHaveLength(1);
  });
});

const refused = (reason: string) =>
  refusal('no', { code: 9, message: 'no', details: [{ reason }] });

/** Accelerators that were asked for, in order. */
function asked(server: ScriptedColab): unknown[] {
  return server
    .callsOf('create_runtime')
    .map(({ runtime }) => (runtime as { runtimeSpec: typeof CPU }).runtimeSpec.accelerator);
}

async function offering(...keys: object[]): Promise<ScriptedColab> {
  const server = await ScriptedColab.start();
  server.answer('list_runtimes', answer({}));
  const runtimeSpecs = keys.map((key) => ({ key, eligible: true }));
  server.answer('list_runtime_specs', answer({ runtimeSpecs }));
  return server;
}

describe('several accelerators', () => {
  it('are tried in order until one can be had, each with a request of its own', async () => {
    await using server = await offering(CPU, T4, L4, A100);
    server.answer('create_runtime', refused('NO_CAPACITY'), refused('ZONE_EXHAUSTED'));
    const notices: string[] = [];
    const onNotice = (text: string): void => void notices.push(text);
    await (await connect(server, { accelerator: 'a100, L4:HIGHMEM,T4', onNotice })).close();
    expect(asked(server)).toEqual(['A100', 'L4', 'T4']);
    const ids = server.callsOf('create_runtime').map(({ requestId }) => requestId);
    expect(new Set(ids).size).toBe(3);
    expect(notices.join('\n')).toMatch(/A100 can be had now; trying L4:HIGHMEM/);
  });

  it('of which none can be had now are NO_CAPACITY, which may pass', async () => {
    await using server = await offering(T4, L4);
    server.answer('create_runtime', refused('NONE_FREE'), refused('NONE_FREE'));
    await expect(connect(server, { accelerator: 'L4,T4' })).rejects.toMatchObject({
      code: 'NO_CAPACITY',
      isRetryable: true,
      message: expect.stringMatching(/L4:HIGHMEM, T4/) as string,
    });
  });

  it('that the account may not have are passed over, and named', async () => {
    await using server = await offering(T4);
    const notices: string[] = [];
    const onNotice = (text: string): void => void notices.push(text);
    await (await connect(server, { accelerator: 'H100,T4:HIGHMEM,T4', onNotice })).close();
    expect(asked(server)).toEqual(['T4']);
    expect(notices[0]).toContain('H100, T4:HIGHMEM');
  });

  it('are all ruled out by used-up usage, but not the plain machine that is named too', async () => {
    await using server = await offering(CPU, T4, L4);
    server.answer('create_runtime', refused('QUOTA_EXCEEDED_USAGE_TIME'));
    await (await connect(server, { accelerator: 'L4,T4,NONE' })).close();
    expect(asked(server)).toEqual(['L4', 'NONE']);
  });

  it('are not walked for a blocked account', async () => {
    await using server = await offering(T4, L4);
    server.answer('create_runtime', refused('DENYLISTED'));
    const connecting = connect(server, { accelerator: 'L4,T4' });
    await expect(connecting).rejects.toMatchObject({ code: 'ACCOUNT_BLOCKED', isRetryable: false });
    expect(asked(server)).toEqual(['L4']);
  });

  it('are matched by what is listed, the first of the wish before the first of the list', async () => {
    await using server = await ScriptedColab.start();
    const runtimes = [
      { name: 'runtimes/cpu', runtimeSpec: CPU },
      { name: 'runtimes/t4', runtimeSpec: T4 },
      { name: 'runtimes/l4', runtimeSpec: L4 },
    ];
    server.answer('list_runtimes', listed(...runtimes), listed(...runtimes));
    await using first = await connect(server, { accelerator: 'A100,L4,T4' });
    expect(first.description).toContain('runtimes/l4');
    await using second = await connect(server, { accelerator: 'L4:STANDARD,T4' });
    expect(second.description).toContain('runtimes/t4');
  });
});

describe('as many runtimes as there may be', () => {
  it('are named, with what to do', async () => {
    await using server = await empty();
    server.answer('list_runtimes', listed({ name: 'runtimes/gpu', runtimeSpec: T4 }));
    server.answer('create_runtime', refused('TOO_MANY_ACTIVE_RUNTIMES'));
    await expect(connect(server)).rejects.toMatchObject({
      code: 'TOO_MANY_RUNTIMES',
      message: expect.stringMatching(/runtimes\/gpu \(T4\).*--runtime/) as string,
    });
    expect(server.callsOf('delete_runtime')).toEqual([]);
  });

  it('do not matter where one that fits has come meanwhile', async () => {
    await using server = await empty();
    server.answer('list_runtimes', listed({ name: 'runtimes/late', runtimeSpec: CPU }));
    server.answer('create_runtime', refused('TOO_MANY_ACTIVE_RUNTIMES'));
    await using sandbox = await connect(server, { deleteRuntime: true });
    expect(sandbox.description).toContain('runtimes/late');
    await sandbox.close();
    expect(server.callsOf('delete_runtime')).toEqual([]);
  });
});

describe('the id that we choose for a runtime', () => {
  it('follows from the request, so that what has it already is what we asked for before', async () => {
    await using server = await empty();
    server.answer('create_runtime', refusal('ALREADY_EXISTS: you own it'));
    server.answer('get_runtime', (call) => {
      call.result({ name: call.args['name'], runtimeSpec: CPU });
    });
    await using sandbox = await connect(server);
    const [{ requestId, runtimeId } = {}] = server.callsOf('create_runtime');
    expect(runtimeId).toBe(`cs-${String(requestId)}`);
    expect(server.callsOf('get_runtime')).toEqual([{ name: `runtimes/${String(runtimeId)}` }]);
    expect(sandbox.description).toContain(String(runtimeId));
  });

  it('that has another machine than was asked for is refused', async () => {
    await using server = await empty();
    server.answer('create_runtime', refusal('ALREADY_EXISTS: you own it'));
    server.answer('get_runtime', answer({ name: 'runtimes/x', runtimeSpec: T4 }));
    await expect(connect(server)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  });

  it('is left to a server that does not let us choose', async () => {
    await using server = await empty();
    server.answer('create_runtime', refusal('INVALID_ARGUMENT: runtime_id'));
    await using sandbox = await connect(server);
    expect(sandbox.description).toContain('runtimes/made');
    const [first, second] = server.callsOf('create_runtime');
    expect(second).toEqual({ runtime: first?.['runtime'], requestId: first?.['requestId'] });
  });
});

async function emptyLedger(): Promise<Ledger> {
  const folder = await mkdtemp(join(tmpdir(), 'colab-solver-ledger-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return new Ledger({ folder });
}

describe('a creation that was not seen to its end', () => {
  it('is repeated as it was by the next process, so that one wish makes one machine', async () => {
    await using server = await empty();
    const ledger = await emptyLedger();
    await using run = new ChildProgram('colab-holder', [server.url, ledger.folder, 'T4,NONE']);
    await new Promise<void>((resolve) => {
      server.answer('create_runtime', (call) => {
        call.begin();
        resolve();
      });
    });
    expect(await ledger.entries()).toMatchObject([{ kind: 'runtime', isMade: false }]);
    await run.kill();

    server.answer('list_runtimes', answer({}));
    await (await connect(server, { ledger, accelerator: 'A100,T4' })).close();
    const [first, second] = server.callsOf('create_runtime');
    expect(second).toEqual(first);
    expect(await ledger.entries()).toMatchObject([
      { requestId: first?.['requestId'], isMade: true },
    ]);
  });

  it('is repeated by the same process too', async () => {
    await using server = await empty();
    const ledger = await emptyLedger();
    const refusals = Array.from({ length: 10 }, () => refusal('UNAVAILABLE: try again later'));
    server.answer('create_runtime', ...refusals);
    await expect(connect(server, { ledger })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    server.answer('list_runtimes', answer({}));
    await (await connect(server, { ledger })).close();
    const calls = server.callsOf('create_runtime');
    expect(calls).toHaveLength(11);
    for (const call of calls) expect(call).toEqual(calls[0]);
  });

  it('is repeated after it was cancelled', async () => {
    await using server = await empty();
    const ledger = await emptyLedger();
    const cancelling = new AbortController();
    server.answer('create_runtime', (call) => {
      call.begin();
      cancelling.abort(new Error('Never mind.'));
    });
    const cancelled = connect(server, { ledger, signal: cancelling.signal });
    await expect(cancelled).rejects.toThrow('Never mind.');
    server.answer('list_runtimes', answer({}));
    await (await connect(server, { ledger })).close();
    const [first, second] = server.callsOf('create_runtime');
    expect(second).toEqual(first);
  });

  it('is not repeated where the server had refused it, or for another wish', async () => {
    await using server = await empty();
    const ledger = await emptyLedger();
    server.answer('create_runtime', refused('NONE_FREE'));
    await expect(connect(server, { ledger })).rejects.toMatchObject({ code: 'NO_CAPACITY' });
    expect(await ledger.entries()).toEqual([]);
    await ledger.disown({
      kind: 'runtime',
      url: server.url,
      name: 'runtimes/cs-x',
      requestId: crypto.randomUUID(),
      runtimeSpec: T4,
      isMade: false,
    });
    server.answer('list_runtimes', answer({}));
    await (await connect(server, { ledger })).close();
    const ids = server.callsOf('create_runtime').map(({ requestId }) => requestId);
    expect(new Set(ids).size).toBe(2);
    expect(asked(server)).toEqual(['NONE', 'NONE']);
  });

  it('whose runtime is listed by now is ours, and deleted at the end when asked', async () => {
    await using server = await ScriptedColab.start();
    const ledger = await emptyLedger();
    const requestId = crypto.randomUUID();
    const name = `runtimes/cs-${requestId}`;
    const entry = { kind: 'runtime', url: server.url, name, requestId, runtimeSpec: T4 } as const;
    await ledger.disown({ ...entry, isMade: false });
    server.answer('list_runtimes', listed({ name, runtimeSpec: T4 }));
    await (await connect(server, { ledger, accelerator: 'T4', deleteRuntime: true })).close();
    expect(server.callsOf('create_runtime')).toEqual([]);
    expect(server.callsOf('delete_runtime')).toEqual([{ name }]);
  });
});

describe('a runtime that we made', () => {
  it('is not deleted while another run of ours has a session on it', async () => {
    await using server = await empty();
    const ledger = await emptyLedger();
    const notices: string[] = [];
    const onNotice = (text: string): void => void notices.push(text);
    const maker = await connect(server, { ledger, deleteRuntime: true, onNotice });
    server.answer('list_runtimes', listed({ name: 'runtimes/made', runtimeSpec: CPU }));
    await using guest = await connect(server, { ledger });
    await guest.openSession();
    await maker.close();
    expect(server.callsOf('delete_runtime')).toEqual([]);
    expect(notices.at(-1)).toMatch(/runtimes\/made was not deleted/);
    expect(await ledger.entries()).toHaveLength(2);
  });

  it('and that is gone by itself is as good as deleted', async () => {
    await using server = await empty();
    const ledger = await emptyLedger();
    server.answer('delete_runtime', refusal('NOT_FOUND: no such runtime'));
    await (await connect(server, { ledger, deleteRuntime: true })).close();
    expect(await ledger.entries()).toEqual([]);
  });

  it('an earlier time is used again, and not deleted for this run', async () => {
    await using server = await empty();
    const ledger = await emptyLedger();
    await (await connect(server, { ledger })).close();
    server.answer('list_runtimes', listed({ name: 'runtimes/made', runtimeSpec: CPU }));
    await (await connect(server, { ledger, deleteRuntime: true })).close();
    expect(server.callsOf('create_runtime')).toHaveLength(1);
    expect(server.callsOf('delete_runtime')).toEqual([]);
    expect(await ledger.entries()).toMatchObject([{ name: 'runtimes/made', isMade: true }]);
  });
});

describe('a runtime that is lost', () => {
  it('is replaced for the next sessions, once for all who ask, and said', async () => {
    await using server = await ScriptedColab.start();
    const notices: string[] = [];
    const onNotice = (text: string): void => void notices.push(text);
    await using sandbox = await connect(server, { onNotice });
    const gone = refusal('NOT_FOUND: no such runtime');
    server.answer('create_session', gone, gone);
    server.answer('list_runtimes', answer({}), answer({}), answer({}));
    const sessions = await Promise.all([sandbox.openSession(), sandbox.openSession()]);
    for (const { name } of sessions) expect(name).toMatch(/^runtimes\/made\/sessions\/cs-/);
    expect(server.callsOf('create_runtime')).toHaveLength(1);
    expect(sandbox.description).toContain('runtimes/made');
    expect(notices.at(-1)).toMatch(/runtimes\/r1 is gone; going on with runtimes\/made/);
  });

  it('is told where that very one was wanted', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server, { runtime: 'runtimes/r1' });
    server.answer('create_session', refusal('NOT_FOUND: no such runtime'));
    server.answer('list_runtimes', answer({}));
    await expect(sandbox.openSession()).rejects.toMatchObject({ code: 'RUNTIME_LOST' });
  });
});

describe('sessions', () => {
  it('whose making failed half-way are deleted, and the first error is told', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    server.kernel.isReplaced = true;
    await expect(sandbox.openSession()).rejects.toMatchObject({ code: 'SESSION_LOST' });
    expect(server.sessions.size).toBe(0);
  });

  it('are made once, by the same id, however often the call is repeated', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    server.answer('create_session', (call) => {
      call.cut();
    });
    const session = await sandbox.openSession();
    const ids = server.callsOf('create_session').map((call) => call['sessionId']);
    expect(new Set(ids).size).toBe(1);
    expect(session.name).toBe(`runtimes/r1/sessions/${String(ids[0])}`);
  });

  it('of ours are deleted at the end, those of others left alone', async () => {
    await using server = await ScriptedColab.start();
    server.sessions.add('runtimes/r1/sessions/notebook');
    const sandbox = await connect(server);
    await sandbox.openSession();
    await sandbox.openSession();
    await sandbox.close();
    await sandbox.close();
    expect([...server.sessions]).toEqual(['runtimes/r1/sessions/notebook']);
    await expect(sandbox.openSession()).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('that are being opened when the sandbox closes are deleted too', async () => {
    await using server = await ScriptedColab.start();
    const sandbox = await connect(server);
    const opening = sandbox.openSession();
    await sandbox.close();
    await opening.catch(() => undefined);
    expect(server.sessions.size).toBe(0);
  });
});
