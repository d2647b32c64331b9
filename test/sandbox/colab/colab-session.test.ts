import { describe, expect, it } from 'vitest';
import type { SandboxError } from '../../../src/errors.js';
import type { OutputChunk } from '../../../src/sandbox/execution.js';
import { ScriptedColab } from '../../support/scripted-colab.js';
import type { ToolCall } from '../../support/scripted-colab.js';
import { connect, LONG_MS, ok } from './connected.js';

const limit = { timeoutMs: LONG_MS };

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('It should have been rejected.');
}

describe('running a script', () => {
  it('always names the session and a fresh execution id, never the runtime', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    await session.execute('1', limit);
    await session.execute('2', limit);
    const calls = server.callsOf('execute_code');
    expect(session.name).toMatch(/^runtimes\/r1\/sessions\/cs-[a-z0-9-]{1,57}[a-z0-9]$/);
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
    const onOutput = (chunk: OutputChunk): number => shown.push(chunk);
    const result = await session.execute('x', { ...limit, onOutput });
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
    const result = await session.execute('x', limit);
    expect(result).toMatchObject({ status: 'failed', error: executionError, stdout: '' });
  });

  it('reads results with absent fields, numbers as strings and fields of a later version', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    server.answer('execute_code', (call) => {
      call.result({
        executionCount: '7',
        futureField: { a: 1 },
        richOutputs: [{ mimeTypes: ['image/png'], filePath: '/content/x.json', sizeBytes: '99' }],
      });
    });
    expect(await session.execute('x', limit)).toMatchObject({
      status: 'ok',
      stdout: '',
      value: '',
      executionCount: 7,
      outputTruncated: false,
      richOutputs: [{ index: 0, mimeTypes: ['image/png'], sizeBytes: 99 }],
    });
  });

  it('keeps two scripts of one session apart: the second is sent when the first has ended', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    let first: ToolCall | undefined;
    const arrived = new Promise<void>((resolve) => {
      server.answer('execute_code', (call) => {
        first = call;
        resolve();
      });
    });
    const executions = [session.execute('first', limit), session.execute('second', limit)];
    await arrived;
    expect(server.callsOf('execute_code')).toHaveLength(1);
    if (first !== undefined) ok(server)(first);
    await Promise.all(executions);
    expect(server.callsOf('execute_code').map((call) => call['code'])).toEqual(['first', 'second']);
  });

  it('reports a failing output listener after the script, which it does not disturb', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    server.answer('execute_code', (call) => {
      call.progress('a');
      ok(server, { stdout: 'a' })(call);
    });
    const failure = new Error('listener');
    const onOutput = (): void => {
      throw failure;
    };
    expect(await rejection(session.execute('x', { ...limit, onOutput }))).toBe(failure);
    expect(server.callsOf('execute_code')).toHaveLength(1);
  });
});

describe('nothing runs twice', () => {
  it('re-attaches with the identical call when the stream is cut, ends silently or at its deadline', async () => {
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
      (call) => {
        call.toolError('UNAVAILABLE: the runtime is slow');
      },
      (call) => {
        call.http(503, { error: { code: 503, status: 'UNAVAILABLE', message: 'later' } });
      },
      ok(server, { stdout: 'ab' }),
    );
    const result = await session.execute('work()', limit);
    const calls = server.callsOf('execute_code');
    expect(result).toMatchObject({ status: 'ok', stdout: 'ab' });
    expect(calls).toHaveLength(6);
    for (const call of calls) expect(call).toEqual(calls[0]);
  });

  it('reports EXECUTION_UNKNOWN where the kernel refused a repetition: the answer went astray', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    const executionError = { name: 'InputRejected', value: 'This execution has begun before.' };
    server.answer(
      'execute_code',
      (call) => {
        call.cut();
      },
      ok(server, { executionError }),
    );
    expect(await rejection(session.execute('pay()', limit))).toMatchObject({
      code: 'EXECUTION_UNKNOWN',
      isRetryable: false,
    });
  });

  it('gives up on an error it cannot explain, as EXECUTION_UNKNOWN and with the raw error as cause', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    const strange = (call: ToolCall): void => {
      call.toolError('Something odd happened');
    };
    server.answer('execute_code', strange, strange, strange, strange);
    const error = await rejection(session.execute('pay()', limit));
    expect(error).toMatchObject({ code: 'EXECUTION_UNKNOWN', isRetryable: false });
    expect((error as SandboxError).cause).toMatchObject({ message: 'Something odd happened' });
    expect(server.callsOf('execute_code')).toHaveLength(3);
  });

  it('does not re-attach to a session that is gone, which would run the script in an empty kernel', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    server.answer('execute_code', (call) => {
      server.sessions.clear();
      call.cut();
    });
    expect(await rejection(session.execute('pay()', limit))).toMatchObject({
      code: 'SESSION_LOST',
    });
    expect(server.callsOf('execute_code')).toHaveLength(1);
  });

  it('repeats a call that was turned away before it ran, but not for ever', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    const full = (call: ToolCall): void => {
      call.toolError('RESOURCE_EXHAUSTED: quota');
    };
    server.answer('execute_code', full, full, ok(server));
    expect(await session.execute('a', limit)).toMatchObject({ status: 'ok' });
    server.answer('execute_code', full, full, full, full);
    expect(await rejection(session.execute('b', limit))).toMatchObject({
      code: 'RATE_LIMITED',
      isRetryable: true,
    });
  });
});

describe('output over several attachments', () => {
  it('is neither lost nor shown twice', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    server.answer(
      'execute_code',
      (call) => {
        call.progress('1\n');
        call.progress('2\n');
        call.progress('warn\n', 'stderr');
        call.cut();
      },
      (call) => {
        call.progress('1\n2');
        call.cut();
      },
      (call) => {
        call.progress('1\n2\n3\n');
        call.progress('warn\nmore\n', 'stderr');
        ok(server, { stdout: '1\n2\n3\n4\n', stderr: 'warn\nmore\n' })(call);
      },
    );
    const shown = { stdout: '', stderr: '' };
    await session.execute('x', {
      ...limit,
      onOutput: ({ stream, text }) => {
        shown[stream] += text;
      },
    });
    expect(shown).toEqual({ stdout: '1\n2\n3\n4\n', stderr: 'warn\nmore\n' });
  });

  it('is shown at the end where the server streams none', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    server.answer('execute_code', ok(server, { stdout: 'all of it' }));
    const shown: string[] = [];
    await session.execute('x', { ...limit, onOutput: ({ text }) => shown.push(text) });
    expect(shown).toEqual(['all of it']);
  });
});

describe('the limit of a script', () => {
  it('interrupts, returns what was printed and leaves the session usable', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    let cancelled: Promise<void> | undefined;
    server.answer('execute_code', (call) => {
      call.progress('so far');
      cancelled = call.cancelled;
    });
    const result = await session.execute('while True: pass', { timeoutMs: 400 });
    expect(result).toMatchObject({ status: 'deadline-exceeded', limitMs: 400, stdout: 'so far' });
    await cancelled;
    expect(await session.execute('1', limit)).toMatchObject({ status: 'ok' });
  });

  it('deletes the session of a script that ignores the interrupt', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server, { settleMs: 50 });
    const session = await sandbox.openSession();
    server.answer('execute_code', (call) => {
      call.progress('stubborn');
      server.kernel.hangs = true;
    });
    const result = await session.execute('x', { timeoutMs: 400 });
    expect(result).toMatchObject({ status: 'deadline-exceeded', stdout: 'stubborn' });
    expect(server.callsOf('delete_session')).toEqual([{ name: session.name }]);
    expect(await rejection(session.execute('1', limit))).toMatchObject({ code: 'SESSION_LOST' });
  });

  it('reaches a script whose stream is cut just then: attaches and cancels', async () => {
    await using server = await ScriptedColab.start();
    const policy = {
      attempts: 4,
      firstDelayMs: LONG_MS,
      maxDelayMs: LONG_MS,
      maxServerDelayMs: 1,
      random: () => 1,
    };
    await using sandbox = await connect(server, { policy });
    const session = await sandbox.openSession();
    const cancelled: Promise<void>[] = [];
    server.answer(
      'execute_code',
      (call) => {
        call.progress('a');
        call.cut();
      },
      (call) => {
        call.begin();
        cancelled.push(call.cancelled);
      },
    );
    const result = await session.execute('x', { timeoutMs: 400 });
    expect(result).toMatchObject({ status: 'deadline-exceeded', stdout: 'a' });
    const calls = server.callsOf('execute_code');
    expect(calls).toHaveLength(2);
    expect(calls[1]).toEqual(calls[0]);
    await Promise.all(cancelled);
  });

  it('is EXECUTION_UNKNOWN where the script could neither be interrupted nor ended', async () => {
    await using server = await ScriptedColab.start();
    const sandbox = await connect(server, { settleMs: 50 });
    const session = await sandbox.openSession();
    server.answer('execute_code', (call) => {
      call.begin();
      server.kernel.hangs = true;
    });
    const refuse = (call: ToolCall): void => {
      call.toolError('PERMISSION_DENIED');
    };
    server.answer('delete_session', refuse);
    expect(await rejection(session.execute('x', { timeoutMs: 400 }))).toMatchObject({
      code: 'EXECUTION_UNKNOWN',
    });
    await expect(sandbox.close()).resolves.toBeUndefined();
  });
});

describe('cancelling', () => {
  it('interrupts, and rejects with the reason itself once the script has ended', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    const controller = new AbortController();
    const events: string[] = [];
    server.answer('execute_code', (call) => {
      call.begin();
      void call.cancelled.then(() => events.push('cancelled'));
      controller.abort(reason);
    });
    const reason = new Error('stop');
    const error = await rejection(session.execute('x', { ...limit, signal: controller.signal }));
    events.push('rejected');
    expect(error).toBe(reason);
    expect(events).toEqual(['cancelled', 'rejected']);
    expect(await session.execute('1', limit)).toMatchObject({ status: 'ok' });
  });

  it('rejects with the reason even where the session had to be deleted', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server, { settleMs: 20 });
    const session = await sandbox.openSession();
    const controller = new AbortController();
    server.answer('execute_code', (call) => {
      call.begin();
      server.kernel.hangs = true;
      controller.abort('any value');
    });
    const error = await rejection(session.execute('x', { ...limit, signal: controller.signal }));
    expect(error).toBe('any value');
    expect(server.sessions.size).toBe(0);
  });

  it('of a script that waits its turn does not touch the one that runs', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    const controller = new AbortController();
    let running: ToolCall | undefined;
    const arrived = new Promise<void>((resolve) => {
      server.answer('execute_code', (call) => {
        running = call;
        call.begin();
        resolve();
      });
    });
    const first = session.execute('first', limit);
    const second = session.execute('second', { ...limit, signal: controller.signal });
    await arrived;
    controller.abort(new Error('not needed'));
    await expect(second).rejects.toThrow('not needed');
    if (running !== undefined) ok(server)(running);
    expect(await first).toMatchObject({ status: 'ok' });
    expect(server.others).not.toContain('notifications/cancelled');
    expect(server.callsOf('execute_code')).toHaveLength(1);
  });

  it('after the script has ended sends nothing', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    const controller = new AbortController();
    await session.execute('1', { ...limit, signal: controller.signal });
    controller.abort();
    await session.execute('2', limit);
    expect(server.others).not.toContain('notifications/cancelled');
  });
});

describe('what is gone', () => {
  it('is noticed where another kernel was silently put in its place', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    await session.execute('x = 1', limit);
    server.kernel.isReplaced = true;
    server.kernel.executionCount = 0;
    expect(await rejection(session.execute('y = 2', limit))).toMatchObject({
      code: 'SESSION_LOST',
    });
    expect(await rejection(session.execute('y = 2', limit))).toMatchObject({
      code: 'SESSION_LOST',
    });
    expect(server.callsOf('execute_code')).toHaveLength(2);
  });

  it('is not suspected for a falling count alone', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    server.answer('execute_code', (call) => {
      server.kernel.executionCount = 0;
      call.result({ stdout: 'no count' });
    });
    expect(await session.execute('x', limit)).toMatchObject({ status: 'ok', stdout: 'no count' });
  });

  it.each([
    ['SESSION_LOST', [{ name: 'runtimes/r1' }]],
    ['RUNTIME_LOST', []],
  ])('is %s where the server answers NOT_FOUND and lists %j', async (code, runtimes) => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    server.answer('execute_code', (call) => {
      call.toolError('NOT_FOUND: no such runtime or session');
    });
    server.answer('list_runtimes', (call) => {
      call.result({ runtimes });
    });
    expect(await rejection(session.execute('x', limit))).toMatchObject({ code });
  });

  it('a closed session refuses scripts, deletes itself once and minds nothing already gone', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    server.answer('delete_session', (call) => {
      call.toolError('NOT_FOUND');
    });
    await session.close();
    await session.close();
    expect(server.callsOf('delete_session')).toHaveLength(1);
    expect(await rejection(session.execute('x', limit))).toMatchObject({ code: 'CLOSED' });
  });
});
