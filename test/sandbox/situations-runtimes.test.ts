import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Fault, Refusal } from '../support/fault.js';
import { SHAPES, strike } from '../support/fault.js';
import { CPU, ScriptedColab, T4 } from '../support/scripted-colab.js';
import type { ToolCall } from '../support/scripted-colab.js';
import { connect } from './colab/connected.js';
import type { FaultyServer } from './faulty-server.js';
import { startFaultyServer } from './faulty-server.js';

const limit = { timeoutMs: 120_000 };
const L4 = { ...T4, accelerator: 'L4' };

/** A server without runtimes, and with three kinds to be had. */
async function empty(): Promise<ScriptedColab> {
  const server = await ScriptedColab.start();
  const none = (call: ToolCall): void => {
    call.result({});
  };
  server.answer('list_runtimes', none);
  server.answer('list_runtime_specs', (call) => {
    call.result({ runtimeSpecs: [CPU, T4, L4].map((key) => ({ key, eligible: true })) });
  });
  return server;
}

const refusing =
  (refusal: Refusal) =>
  (call: ToolCall): void => {
    strike(refusal, call);
  };

const precondition = (reason: string): Refusal => ({
  refuse: 'FAILED_PRECONDITION',
  shape: 'tool-structured',
  reason,
});

describe('situation 4: as many runtimes as there may be', () => {
  it.each(['tool-structured', 'rpc-data', 'http'] as const)(
    '(told as %s) are named, with what to do; none is deleted',
    async (shape) => {
      await using server = await empty();
      server.answer('list_runtimes', (call) => {
        call.result({ runtimes: [{ name: 'runtimes/theirs', runtimeSpec: T4 }] });
      });
      const refusal = { ...precondition('TOO_MANY_ACTIVE_RUNTIMES'), shape };
      server.answer('create_runtime', refusing(refusal));
      await expect(connect(server)).rejects.toMatchObject({
        code: 'TOO_MANY_RUNTIMES',
        message: expect.stringContaining('runtimes/theirs') as string,
      });
      expect(server.callsOf('create_runtime')).toHaveLength(1);
      expect(server.callsOf('delete_runtime')).toEqual([]);
    },
  );
});

describe('situation 5: the usage is used up', () => {
  it('so that no other accelerator is asked for, and the call not repeated', async () => {
    await using server = await empty();
    server.answer('create_runtime', refusing(precondition('QUOTA_EXCEEDED_USAGE_TIME')));
    await expect(connect(server, { accelerator: 'L4,T4' })).rejects.toMatchObject({
      code: 'QUOTA_EXHAUSTED',
      isRetryable: false,
      message: expect.stringContaining('--sandbox local') as string,
    });
    expect(server.callsOf('create_runtime')).toHaveLength(1);
  });
});

describe('situation 6: no machine of that kind to be had now', () => {
  it('so that the next one wished for is asked for, by a request of its own', async () => {
    await using server = await empty();
    server.answer('create_runtime', refusing(precondition('NO_ACCELERATORS')));
    const notices: string[] = [];
    const onNotice = (text: string): number => notices.push(text);
    await (await connect(server, { accelerator: 'L4,T4', onNotice })).close();
    const calls = server.callsOf('create_runtime');
    expect(calls).toMatchObject([
      { runtime: { runtimeSpec: L4 } },
      { runtime: { runtimeSpec: T4 } },
    ]);
    expect(calls[0]?.['requestId']).not.toBe(calls[1]?.['requestId']);
    expect(notices.join('\n')).toContain('trying T4');
  });
});

describe('situation 7: the account is blocked', () => {
  it.each(['tool-structured', 'rpc-data', 'http'] as const)(
    '(told as %s): nothing is tried again',
    async (shape) => {
      await using server = await empty();
      server.answer('create_runtime', refusing({ ...precondition('DENYLISTED'), shape }));
      await expect(connect(server, { accelerator: 'L4,T4,NONE' })).rejects.toMatchObject({
        code: 'ACCOUNT_BLOCKED',
        isRetryable: false,
      });
      expect(server.callsOf('create_runtime')).toHaveLength(1);
    },
  );
});

describe('situation 9: the id of the runtime is there already', () => {
  it('since an earlier call of ours made it: it is used', async () => {
    await using server = await empty();
    server.answer('create_runtime', refusing({ refuse: 'ALREADY_EXISTS', shape: 'tool-text' }));
    server.answer('get_runtime', (call) => {
      call.result({ name: call.args['name'], runtimeSpec: CPU });
    });
    await using sandbox = await connect(server);
    const runtimeId = String(server.callsOf('create_runtime')[0]?.['runtimeId']);
    expect(sandbox.description).toContain(runtimeId);
  });
});

describe('situation 25: the image changes', () => {
  it('unless its version is pinned: only a runtime of that version is used, or made', async () => {
    await using server = await ScriptedColab.start();
    await (await connect(server, { runtimeVersion: '2026.07' })).close();
    expect(server.callsOf('create_runtime')).toMatchObject([
      { runtime: { runtimeSpec: CPU, version: '2026.07' } },
    ]);
  });
});

describe('situation 28: what is to be deleted is gone', () => {
  it.each(SHAPES)('(told as %s): which is as good as deleted', async (shape) => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    const gone = refusing({ refuse: 'NOT_FOUND', shape });
    // A 404 may also be a forgotten MCP session, so that call is made again.
    server.answer('delete_session', gone, gone);
    await expect(session.close()).resolves.toBeUndefined();
  });

  it('and what could not be deleted is tried again at the end', async () => {
    await using server = await ScriptedColab.start();
    const sandbox = await connect(server);
    const session = await sandbox.openSession();
    server.answer('delete_session', refusing({ refuse: 'PERMISSION_DENIED', shape: 'tool-text' }));
    await expect(session.close()).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(server.sessions.size).toBe(1);
    await sandbox.close();
    expect(server.sessions.size).toBe(0);
  });

  it('as is a session whose making failed half-way, though its first deletion failed too', async () => {
    await using server = await ScriptedColab.start();
    const sandbox = await connect(server);
    server.kernel.isReplaced = true;
    server.answer('delete_session', refusing({ refuse: 'PERMISSION_DENIED', shape: 'tool-text' }));
    await expect(sandbox.openSession()).rejects.toMatchObject({ code: 'SESSION_LOST' });
    expect(server.sessions.size).toBe(1);
    await sandbox.close();
    expect(server.sessions.size).toBe(0);
  });
});

describe('on a real server', () => {
  let place: FaultyServer;

  beforeAll(async () => {
    place = await startFaultyServer();
  });
  afterAll(() => place.close());

  const creations: Fault[] = [
    { refuse: 'DEADLINE_EXCEEDED', shape: 'tool-text', when: 'after' },
    { refuse: 'DEADLINE_EXCEEDED', shape: 'http', when: 'after' },
    { lose: 'hang-up', when: 'after' },
    { lose: 'cut', when: 'after' },
    { lose: 'clean-end', when: 'begun' },
  ];

  it.each(creations)(
    'situation 8: create_runtime hangs up (%j), though the machine is made: there is one',
    async (fault) => {
      for (const name of await place.faulty.runtimesBehind()) {
        await place.faulty.callBehind('delete_runtime', { name });
      }
      place.faulty.fault('create_runtime', fault, fault);
      const sandbox = await place.connect();
      expect(await place.faulty.runtimesBehind()).toHaveLength(1);
      await sandbox.close();
    },
  );

  it.each([
    ['situation 14: the runtime is gone when a script is sent', 'execute_code'],
    ['situation 24: the machine was taken back while nothing ran', 'create_session'],
  ])('%s: its sessions are lost, and the next one is on a new runtime', async (_what, tool) => {
    await using sandbox = await place.connect();
    const before = await sandbox.openSession();
    await before.execute('x = 1', limit);
    place.faulty.fault(tool, { happens: 'runtime-vanished' });
    const other = tool === 'create_session' ? await sandbox.openSession() : undefined;
    await expect(before.execute('x', limit)).rejects.toMatchObject({
      code: expect.stringMatching(/^(RUNTIME|SESSION)_LOST$/) as string,
    });
    const after = other ?? (await sandbox.openSession());
    expect(await after.execute('"x" in globals()', limit)).toMatchObject({ value: 'False' });
    expect(after.name.split('/')[1]).not.toBe(before.name.split('/')[1]);
  });

  it('situation 14: a session is gone, its runtime is not: only the session is lost', async () => {
    await using sandbox = await place.connect();
    const [lost, kept] = [await sandbox.openSession(), await sandbox.openSession()];
    await kept.execute('x = 1', limit);
    await place.faulty.callBehind('delete_session', { name: lost.name });
    await expect(lost.execute('1', limit)).rejects.toMatchObject({ code: 'SESSION_LOST' });
    expect(await kept.execute('x', limit)).toMatchObject({ value: '1' });
  });
});
