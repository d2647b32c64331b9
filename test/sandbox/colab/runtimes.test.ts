import { describe, expect, it } from 'vitest';
import { CPU, ScriptedColab, T4 } from '../../support/scripted-colab.js';
import type { ToolCall } from '../../support/scripted-colab.js';
import { connect } from './connected.js';

const answer =
  (payload: object) =>
  (call: ToolCall): void => {
    call.result(payload);
  };
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
    const status = { code: 9, message: 'no', details: [{ reason }] };
    server.answer('create_runtime', refusal('no', status));
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
