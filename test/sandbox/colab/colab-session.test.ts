import { describe, expect, it } from 'vitest';
import { connectColab } from '../../../src/sandbox/colab/colab-sandbox.js';
import type { ColabOptions } from '../../../src/sandbox/colab/colab-sandbox.js';
import { fixedToken } from '../../../src/sandbox/colab/sign-in.js';
import type { Sandbox } from '../../../src/sandbox/sandbox.js';
import type { OutputChunk } from '../../../src/sandbox/execution.js';
import { ScriptedColab } from '../../support/scripted-colab.js';
import type { ToolCall } from '../../support/scripted-colab.js';

const fast = { attempts: 4, firstDelayMs: 1, maxDelayMs: 2, maxServerDelayMs: 1_000 };

function connect(server: ScriptedColab, options: Partial<ColabOptions> = {}): Promise<Sandbox> {
  return connectColab({
    url: server.url,
    signIn: fixedToken('secret-token'),
    policy: fast,
    ...options,
  });
}

/** A kernel's answer to a script. */
function ok(server: ScriptedColab, fields: object = {}): (call: ToolCall) => void {
  return (call) => {
    server.kernel.executionCount += 1;
    call.result({ executionCount: server.kernel.executionCount, ...fields });
  };
}

describe('running a script', () => {
  it('always names the session and a fresh execution id', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    await session.execute('1', { timeoutMs: 60_000 });
    await session.execute('2', { timeoutMs: 60_000 });
    const calls = server.callsOf('execute_code');
    expect(session.name).toMatch(/^runtimes\/r1\/sessions\/cs-[a-z0-9-]+$/);
    expect(calls.map((call) => call['session'])).toEqual([session.name, session.name]);
    expect(calls[0]?.['executionId']).toMatch(/^[0-9a-f-]{36}$/);
    expect(calls[0]?.['executionId']).not.toBe(calls[1]?.['executionId']);
    expect(calls[0]).not.toHaveProperty('runtime');
  });

  it('shows output as it appears and ends with the aggregated result', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    server.answer('execute_code', (call) => {
      call.progress('one\n');
      call.progress('oops\n', 'stderr');
      ok(server, { stdout: 'one\n', stderr: 'oops\n', result: '42' })(call);
    });
    const shown: OutputChunk[] = [];
    const result = await session.execute('x', {
      timeoutMs: 60_000,
      onOutput: (chunk) => shown.push(chunk),
    });
    expect(shown).toEqual([
      { stream: 'stdout', text: 'one\n' },
      { stream: 'stderr', text: 'oops\n' },
    ]);
    expect(result).toMatchObject({ status: 'ok', stdout: 'one\n', stderr: 'oops\n', value: '42' });
  });

  it('gives a raised exception as a value', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    const executionError = { name: 'ValueError', value: 'no', traceback: ['line'] };
    server.answer('execute_code', ok(server, { executionError }));
    const result = await session.execute('x', { timeoutMs: 60_000 });
    expect(result).toMatchObject({ status: 'failed', error: executionError, stdout: '' });
  });
});

describe('nothing runs twice', () => {
  it('re-attaches with the identical call when the stream is cut, resets or ends silently', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    server.answer(
      'execute_code',
      (call) => {
        call.progress('a');
        call.cut();
      },
      (call) => {
        call.endSilently();
      },
      (call) => {
        call.rpcError(-32_000, 'DEADLINE_EXCEEDED: stream deadline');
      },
      ok(server, { stdout: 'ab' }),
    );
    const result = await session.execute('work()', { timeoutMs: 60_000 });
    const calls = server.callsOf('execute_code');
    expect(result).toMatchObject({ status: 'ok', stdout: 'ab' });
    expect(calls).toHaveLength(4);
    for (const call of calls) expect(call).toEqual(calls[0]);
  });
});

describe('a limit of its own', () => {
  it('interrupts, returns what was printed and leaves the session usable', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    let cancelled: Promise<void> | undefined;
    server.answer('execute_code', (call) => {
      call.progress('so far');
      cancelled = call.cancelled;
    });
    const result = await session.execute('while True: pass', { timeoutMs: 50 });
    expect(result).toMatchObject({ status: 'deadline-exceeded', limitMs: 50, stdout: 'so far' });
    await cancelled;
    expect(await session.execute('1', { timeoutMs: 60_000 })).toMatchObject({ status: 'ok' });
  });
});
