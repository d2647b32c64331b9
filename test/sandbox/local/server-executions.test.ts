import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ColabServer, startColabServer } from '../../../src/sandbox/local/colab-server.js';
import { defer } from '../../../src/sandbox/local/deferred.js';
import {
  callTool,
  cancel,
  initialize,
  post,
  serverNoticed,
  startCall,
  type StreamedCall,
  type ToolResult,
  valueOf,
} from '../../support/colab-post.js';
import { type Script, ScriptedRuntime } from '../../support/scripted-runtime.js';

const RUNTIME = 'runtimes/machine';
const SESSION = `${RUNTIME}/sessions/work`;
const OUTPUT_BYTES = 200_000;

let runtime: ScriptedRuntime;
let server: ColabServer;

beforeEach(async () => {
  runtime = new ScriptedRuntime();
  await start({});
});
afterEach(async () => {
  await server.close();
});

async function start(limits: Parameters<typeof startColabServer>[0]['limits']): Promise<void> {
  server = await startColabServer({
    startRuntime: () => Promise.resolve(runtime),
    gpuNames: () => Promise.resolve([]),
    limits: { outputBytes: OUTPUT_BYTES, outputLines: 1_000, cancelGraceMs: 60_000, ...limits },
  });
  await valueOf(server, 'create_runtime', {
    runtimeId: 'machine',
    runtime: {
      runtimeSpec: { variant: 'VARIANT_CPU', accelerator: 'NONE', shape: 'SHAPE_STANDARD' },
    },
  });
}

async function restart(limits: Parameters<typeof start>[0]): Promise<void> {
  await server.close();
  runtime = new ScriptedRuntime();
  await start(limits);
}

function execute(
  code: string,
  executionId = '',
  options: Parameters<typeof startCall>[3] & { session?: string } = {},
): Promise<StreamedCall> {
  const { session = SESSION, ...rest } = options;
  return startCall(server, 'execute_code', { code, session, executionId }, rest);
}

/** A script that prints `begun`, waits for the test, prints `done` and has the value 42. */
function gated(code: string): { open: () => void; begun: Promise<void> } {
  const gate = defer<undefined>();
  const begun = defer<undefined>();
  const script: Script = async (run) => {
    await run.print('begun\n');
    begun.resolve(undefined);
    await gate.promise;
    await run.print('done\n');
    return '42';
  };
  runtime.scripts[code] = script;
  return {
    open: () => {
      gate.resolve(undefined);
    },
    begun: begun.promise,
  };
}

const ok = {
  executionId: 'e1',
  session: SESSION,
  executionCount: 1,
  stdout: 'begun\ndone\n',
  stderr: '',
  result: '42',
  outputTruncated: false,
};

function textOf(result: ToolResult): string {
  return result.content[0]?.text ?? '';
}

function errorOf(result: ToolResult): Record<string, unknown> {
  expect(result.isError).toBe(true);
  return result.structuredContent['error'] as Record<string, unknown>;
}

describe('output', () => {
  it('arrives as progress while the script runs, and again in the result', async () => {
    const script = gated('code');
    const call = await execute('code', 'e1');
    await call.outputHas('begun\n');
    expect(call.hasResult).toBe(false);
    script.open();
    const result = await call.result();
    expect(result.structuredContent).toEqual(ok);
    expect(JSON.parse(textOf(result))).toEqual(ok);
    expect(call.output).toBe('begun\ndone\n');
    expect(call.progress.map(({ progress }) => progress)).toEqual([1, 2]);
  });

  it('says which stream it belongs to, in the order in which it appeared', async () => {
    runtime.scripts['code'] = async (run) => {
      await run.print('one');
      await run.print('two', 'stderr');
      await run.print('three');
      return undefined;
    };
    const call = await execute('code');
    const { structuredContent } = await call.result();
    expect(structuredContent).toMatchObject({ stdout: 'onethree', stderr: 'two' });
    expect(call.progress.map((item) => [item._meta['colab-solver/stream'], item.message])).toEqual([
      ['stdout', 'one'],
      ['stderr', 'two'],
      ['stdout', 'three'],
    ]);
  });

  it('is not sent as progress to a client that did not ask for it', async () => {
    const call = await execute('code', '', { wantsProgress: false });
    await call.result();
    expect(call.progress).toEqual([]);
  });

  it('of many small writes is gathered into few messages without losing any', async () => {
    const lines = Array.from({ length: 10_000 }, (_, index) => `${index}\n`);
    runtime.scripts['code'] = async (run) => {
      for (const line of lines) await run.print(line);
      return undefined;
    };
    await restartKeeping(() => restart({ outputLines: 100_000 }));
    const call = await execute('code');
    await call.result();
    expect(call.output).toBe(lines.join(''));
    expect(call.progress.length).toBeLessThan(1_000);
  });

  it('beyond the cap in bytes keeps its end and says so', async () => {
    runtime.scripts['code'] = async (run) => {
      await run.print('é'.repeat(OUTPUT_BYTES));
      await run.print('end');
      return undefined;
    };
    const { structuredContent } = await (await execute('code')).result();
    expect(structuredContent['outputTruncated']).toBe(true);
    const stdout = structuredContent['stdout'] as string;
    expect(stdout).toMatch(/^é+end$/);
    expect(Buffer.byteLength(stdout)).toBeGreaterThan(OUTPUT_BYTES - 2);
    expect(Buffer.byteLength(stdout)).toBeLessThanOrEqual(OUTPUT_BYTES);
  });

  it('beyond the cap in lines keeps the last lines of that stream only', async () => {
    const lines = Array.from({ length: 1_500 }, (_, index) => `${index}\n`);
    runtime.scripts['code'] = async (run) => {
      await run.print('warning\n', 'stderr');
      for (const line of lines) await run.print(line);
      return undefined;
    };
    const { structuredContent } = await (await execute('code')).result();
    expect(structuredContent).toMatchObject({
      stdout: lines.slice(-1_000).join(''),
      stderr: 'warning\n',
      outputTruncated: true,
    });
  });

  it('holds a fast script back while its reader is slow, and loses nothing', async () => {
    const piece = `${'x'.repeat(50_000)}\n`;
    const pieces = 400;
    let printed = 0;
    runtime.scripts['code'] = async (run) => {
      for (; printed < pieces; printed += 1) await run.print(piece);
      return undefined;
    };
    const call = await execute('code');
    call.response.pause();
    await settled(() => printed);
    expect(printed).toBeGreaterThan(0);
    expect(printed).toBeLessThan(pieces);
    call.response.resume();
    await call.result();
    expect(call.output === piece.repeat(pieces)).toBe(true);
  });

  it('never stops a script whose slow reader has gone', async () => {
    const piece = `${'x'.repeat(50_000)}\n`;
    const finished = defer<undefined>();
    runtime.scripts['code'] = async (run) => {
      for (let printed = 0; printed < 400; printed += 1) await run.print(piece);
      finished.resolve(undefined);
      return undefined;
    };
    const call = await execute('code');
    call.response.pause();
    call.cut();
    await finished.promise;
    expect(runtime.interrupts).toBe(0);
  });
});

/** Waits until a number has stopped changing over many rounds of server events. */
async function settled(read: () => number): Promise<void> {
  for (let before = -1; before !== read();) {
    before = read();
    for (let round = 0; round < 5; round += 1) await serverNoticed(server);
  }
}

/** Restarts the server with the scripts set so far. */
async function restartKeeping(step: () => Promise<void>): Promise<void> {
  const { scripts } = runtime;
  await step();
  Object.assign(runtime.scripts, scripts);
}

describe('code that raises', () => {
  it('is a result with executionError, not a failed tool', async () => {
    runtime.scripts['code'] = () => {
      throw new RangeError('too far');
    };
    const result = await (await execute('code')).result();
    expect(result.isError).toBeUndefined();
    expect(result.structuredContent).toMatchObject({
      result: '',
      executionError: {
        name: 'RangeError',
        value: 'too far',
        traceback: ['RangeError: too far'],
      },
    });
  });
});

describe('an execution id', () => {
  it('attaches again after a cut while the code runs, and replays what was printed', async () => {
    const script = gated('code');
    const first = await execute('code', 'e1');
    await first.outputHas('begun\n');
    first.cut();
    await serverNoticed(server);
    const second = await execute('code', 'e1');
    await second.outputHas('begun\n');
    script.open();
    expect((await second.result()).structuredContent).toEqual(ok);
    expect(second.output).toBe('begun\ndone\n');
    expect(runtime.ran).toEqual(['code']);
    expect(runtime.interrupts).toBe(0);
  });

  it('attaches again after a cut before the code began', async () => {
    const blocker = gated('blocker');
    const script = gated('code');
    const blocking = await execute('blocker');
    await blocker.begun;
    const first = await execute('code', 'e1');
    first.cut();
    await serverNoticed(server);
    const second = await execute('code', 'e1');
    blocker.open();
    script.open();
    await blocking.result();
    expect((await second.result()).structuredContent).toEqual({ ...ok, executionCount: 2 });
    expect(runtime.ran).toEqual(['blocker', 'code']);
  });

  it('finds the result of code that ended while its client was gone', async () => {
    const script = gated('code');
    const first = await execute('code', 'e1');
    await script.begun;
    first.cut();
    await serverNoticed(server);
    script.open();
    await serverNoticed(server);
    const second = await execute('code', 'e1');
    expect((await second.result()).structuredContent).toEqual(ok);
    expect(second.output).toBe('begun\ndone\n');
    expect(runtime.ran).toEqual(['code']);
  });

  it('keeps a result whose client vanished while it was being sent', async () => {
    const outputBytes = 10_000_000;
    await restart({ outputBytes });
    const finished = defer<undefined>();
    runtime.scripts['code'] = async (run) => {
      await run.print('x'.repeat(outputBytes));
      finished.resolve(undefined);
      return undefined;
    };
    const first = await execute('code', 'e1', { wantsProgress: false });
    first.response.pause();
    await finished.promise;
    await serverNoticed(server);
    first.cut();
    await serverNoticed(server);
    const { structuredContent } = await (
      await execute('code', 'e1', { wantsProgress: false })
    ).result();
    expect((structuredContent['stdout'] as string).length).toBe(outputBytes);
    expect(runtime.ran).toEqual(['code']);
  });

  it('runs the code again once the result was delivered', async () => {
    await (await execute('code', 'e1')).result();
    await serverNoticed(server);
    const { structuredContent } = await (await execute('code', 'e1')).result();
    expect(structuredContent['executionCount']).toBe(2);
    expect(runtime.ran).toEqual(['code', 'code']);
  });

  it('is free again too where the client keeps its connection or takes JSON only', async () => {
    for (const accept of ['text/event-stream', 'application/json']) {
      const params = {
        name: 'execute_code',
        arguments: { code: 'code', session: SESSION, executionId: 'e1' },
      };
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      expect(await (await post(server, body, { accept })).text()).toContain('"executionId":"e1"');
      await serverNoticed(server);
    }
    expect(runtime.ran).toEqual(['code', 'code']);
  });

  it('lets two clients follow one execution at once', async () => {
    const script = gated('code');
    const first = await execute('code', 'e1');
    const second = await execute('code', 'e1');
    await first.outputHas('begun\n');
    await second.outputHas('begun\n');
    script.open();
    for (const call of [first, second]) {
      expect((await call.result()).structuredContent).toEqual(ok);
      expect(call.output).toBe('begun\ndone\n');
    }
    expect(runtime.ran).toEqual(['code']);
  });

  it('is refused with other code while it is held', async () => {
    const script = gated('code');
    const call = await execute('code', 'e1');
    const other = await (await execute('other', 'e1')).result();
    expect(errorOf(other)).toMatchObject({ status: 'INVALID_ARGUMENT', code: 3 });
    script.open();
    await call.result();
  });

  it('means another execution in another session', async () => {
    const script = gated('code');
    const calls = [
      await execute('code', 'e1'),
      await execute('code', 'e1', { session: `${RUNTIME}/sessions/other` }),
    ];
    script.open();
    for (const call of calls) await call.result();
    expect(runtime.ran).toEqual(['code', 'code']);
  });

  it('replays the end of output that was truncated', async () => {
    const gate = defer<undefined>();
    const printed = defer<undefined>();
    runtime.scripts['code'] = async (run) => {
      await run.print(`${'x'.repeat(OUTPUT_BYTES * 3)}tail`);
      printed.resolve(undefined);
      await gate.promise;
      return undefined;
    };
    const first = await execute('code', 'e1', { wantsProgress: false });
    await printed.promise;
    first.cut();
    const second = await execute('code', 'e1');
    await second.outputHas('tail');
    gate.resolve(undefined);
    const { structuredContent } = await second.result();
    expect(second.output.endsWith(structuredContent['stdout'] as string)).toBe(true);
    expect(second.output.length).toBeLessThan(OUTPUT_BYTES * 1.5);
    expect(structuredContent['outputTruncated']).toBe(true);
  });

  it('keeps only so many results that nobody fetched', async () => {
    await restart({ retainedResults: 1 });
    for (const code of ['one', 'two']) {
      const script = gated(code);
      const call = await execute(code, code);
      await script.begun;
      call.cut();
      await serverNoticed(server);
      script.open();
      await serverNoticed(server);
    }
    await (await execute('two', 'two')).result();
    await (await execute('one', 'one')).result();
    expect(runtime.ran).toEqual(['one', 'two', 'one']);
  });
});

describe('calls to one session', () => {
  it('run one after another in their order', async () => {
    const first = gated('first');
    gated('second').open();
    const calls = [await execute('first'), await execute('second'), await execute('third')];
    await first.begun;
    await serverNoticed(server);
    expect(runtime.ran).toEqual(['first']);
    first.open();
    for (const call of calls) await call.result();
    expect(runtime.ran).toEqual(['first', 'second', 'third']);
  });

  it('do not wait for another session', async () => {
    const script = gated('first');
    const call = await execute('first');
    await script.begun;
    await (await execute('second', '', { session: `${RUNTIME}/sessions/other` })).result();
    script.open();
    await call.result();
  });

  it('that nobody waits for and nobody could find again never run', async () => {
    const script = gated('first');
    const first = await execute('first');
    await script.begun;
    const second = await execute('second');
    second.cut();
    await serverNoticed(server);
    script.open();
    await first.result();
    await (await execute('third')).result();
    expect(runtime.ran).toEqual(['first', 'third']);
  });

  it('go on when their client disconnects', async () => {
    const script = gated('code');
    const finished = defer<undefined>();
    const inner = runtime.scripts['code'];
    runtime.scripts['code'] = async (run) => {
      const value = await inner?.(run);
      finished.resolve(undefined);
      return value;
    };
    const call = await execute('code');
    await script.begun;
    call.cut();
    await serverNoticed(server);
    script.open();
    await finished.promise;
    expect(runtime.interrupts).toBe(0);
  });
});

describe('cancelling', () => {
  it('interrupts the running script, answers CANCELLED and ends the stream', async () => {
    const script = gated('code');
    const call = await execute('code', 'e1', { id: 7 });
    await script.begun;
    await cancel(server, 7);
    const result = await call.result();
    expect(textOf(result)).toMatch(/^CANCELLED: /);
    expect(errorOf(result)).toMatchObject({ code: 1, status: 'CANCELLED' });
    expect(runtime.interrupts).toBe(1);
  });

  it('works for request id 0', async () => {
    const script = gated('code');
    const call = await execute('code', '', { id: 0 });
    await script.begun;
    await cancel(server, 0);
    expect(textOf(await call.result())).toMatch(/^CANCELLED: /);
  });

  it('interrupts the original execution of a call that attached again', async () => {
    const script = gated('code');
    const first = await execute('code', 'e1', { id: 1 });
    await script.begun;
    first.cut();
    await serverNoticed(server);
    const second = await execute('code', 'e1', { id: 2 });
    await second.outputHas('begun');
    await cancel(server, 2);
    expect(textOf(await second.result())).toMatch(/^CANCELLED: /);
    expect(runtime.interrupts).toBe(1);
  });

  it('keeps a queued script from ever running, and hits no other', async () => {
    const script = gated('first');
    const first = await execute('first', '', { id: 1 });
    await script.begun;
    const second = await execute('second', 'e2', { id: 2 });
    await cancel(server, 2);
    expect(textOf(await second.result())).toMatch(/^CANCELLED: .* before its code ran/);
    script.open();
    expect((await first.result()).structuredContent).toMatchObject({ result: '42' });
    await (await execute('third')).result();
    expect(runtime.ran).toEqual(['first', 'third']);
    expect(runtime.interrupts).toBe(0);
  });

  it('leaves the next script of the session alone', async () => {
    const script = gated('first');
    const first = await execute('first', '', { id: 1 });
    const second = await execute('second', '', { id: 2 });
    await script.begun;
    await cancel(server, 1);
    await first.result();
    const { structuredContent } = await second.result();
    expect(structuredContent).not.toHaveProperty('executionError');
  });

  it('keeps the request ids of two MCP sessions apart', async () => {
    const [mine, theirs] = [await initialize(server), await initialize(server)];
    const script = gated('mine');
    const other = gated('theirs');
    const options = { session: `${RUNTIME}/sessions/theirs`, id: 1, mcpSession: theirs };
    const myCall = await execute('mine', '', { id: 1, mcpSession: mine });
    const theirCall = await execute('theirs', '', options);
    await Promise.all([script.begun, other.begun]);
    await cancel(server, 1, mine);
    expect(textOf(await myCall.result())).toMatch(/^CANCELLED: /);
    other.open();
    expect((await theirCall.result()).isError).toBeUndefined();
    expect(runtime.interrupts).toBe(1);
  });

  it('cancels nothing where two calls without a session share the id', async () => {
    const script = gated('first');
    const calls = [await execute('first', '', { id: 1 }), await execute('second', '', { id: 1 })];
    await script.begun;
    await cancel(server, 1);
    script.open();
    for (const call of calls) expect((await call.result()).isError).toBeUndefined();
  });

  it('that overtakes its call still cancels it', async () => {
    const mcpSession = await initialize(server);
    await cancel(server, 5, mcpSession);
    const call = await execute('code', '', { id: 5, mcpSession });
    expect(textOf(await call.result())).toMatch(/^CANCELLED: /);
    expect(runtime.ran).toEqual([]);
  });

  it('says so when the script ignores it, and deleting the session ends the script', async () => {
    await restart({ cancelGraceMs: 1 });
    runtime.ignoresInterrupts = true;
    const script = gated('code');
    const call = await execute('code', 'e1', { id: 1 });
    await script.begun;
    await cancel(server, 1);
    const result = await call.result();
    expect(textOf(result)).toMatch(/^CANCELLED: .* still runs/);
    expect(errorOf(result)['details']).toMatchObject([{ reason: 'STILL_RUNNING' }]);
    await valueOf(server, 'delete_session', { name: SESSION });
    await (await execute('next')).result();
    expect(runtime.ran).toEqual(['code', 'next']);
  });
});

describe('the streaming deadline', () => {
  it('ends the call while the code goes on, and the same call gets the result', async () => {
    await restart({ streamingDeadlineMs: 20 });
    const script = gated('code');
    const first = await (await execute('code', 'e1')).result();
    expect(textOf(first)).toMatch(/^DEADLINE_EXCEEDED: .* executionId e1/);
    expect(errorOf(first)).toMatchObject({ code: 4, status: 'DEADLINE_EXCEEDED' });
    script.open();
    await serverNoticed(server);
    expect((await (await execute('code', 'e1')).result()).structuredContent).toEqual(ok);
    expect(runtime.ran).toEqual(['code']);
    expect(runtime.interrupts).toBe(0);
  });

  it('holds without an executionId too', async () => {
    await restart({ streamingDeadlineMs: 20 });
    const script = gated('code');
    const result = await (await execute('code')).result();
    expect(textOf(result)).toMatch(/^DEADLINE_EXCEEDED: /);
    expect(runtime.interrupts).toBe(0);
    script.open();
  });
});

describe('a session that is lost', () => {
  it('answers NOT_FOUND when its kernel dies, and the next call opens it anew', async () => {
    const script = gated('code');
    const call = await execute('code', 'e1');
    await script.begun;
    runtime.killKernel('work');
    const result = await call.result();
    expect(textOf(result)).toMatch(/^NOT_FOUND: /);
    expect(errorOf(result)['details']).toMatchObject([{ reason: 'KERNEL_DIED' }]);
    await serverNoticed(server);
    const next = await (await execute('next')).result();
    expect(next.structuredContent).toMatchObject({ executionCount: 1 });
  });

  it('says so to a client that was gone when the kernel died, and does not run the code again', async () => {
    const script = gated('code');
    const first = await execute('code', 'e1');
    await script.begun;
    first.cut();
    await serverNoticed(server);
    runtime.killKernel('work');
    await serverNoticed(server);
    const second = await (await execute('code', 'e1')).result();
    expect(textOf(second)).toMatch(/^NOT_FOUND: /);
    expect(runtime.ran).toEqual(['code']);
  });

  it('aborts what runs and what waits when it is deleted', async () => {
    const script = gated('first');
    const calls = [await execute('first'), await execute('second')];
    await script.begun;
    await valueOf(server, 'delete_session', { name: SESSION });
    for (const call of calls)
      expect(errorOf(await call.result())).toMatchObject({
        status: 'NOT_FOUND',
        details: [{ reason: 'SESSION_DELETED' }],
      });
    expect(runtime.ran).toEqual(['first']);
  });

  it('answers NOT_FOUND when its runtime ends, which then is no longer listed', async () => {
    const script = gated('code');
    const call = await execute('code');
    await script.begun;
    runtime.end('killed by signal 9');
    expect(textOf(await call.result())).toMatch(/^NOT_FOUND: /);
    await serverNoticed(server);
    expect(await valueOf(server, 'list_runtimes')).toEqual({ runtimes: [] });
    expect(textOf(await (await execute('code')).result())).toMatch(/^NOT_FOUND: runtimes\/machine/);
  });
});

describe('the runtime target', () => {
  it('opens a new session each time, leaves it open and names it', async () => {
    const sessions = [];
    for (const code of ['one', 'two']) {
      const { structuredContent } = await callTool(server, 'execute_code', {
        code,
        runtime: RUNTIME,
      });
      sessions.push({ name: structuredContent['session'] });
    }
    expect(new Set(sessions.map(({ name }) => name)).size).toBe(2);
    expect(await valueOf(server, 'list_sessions', { parent: RUNTIME })).toEqual({ sessions });
  });
});

describe('closing the server', () => {
  it('ends running calls with UNAVAILABLE and frees the port', async () => {
    const script = gated('code');
    const call = await execute('code');
    await script.begun;
    await Promise.all([server.close(), server.close()]);
    expect(textOf(await call.result())).toMatch(/^UNAVAILABLE: /);
    const port = Number(new URL(server.url).port);
    server = await startColabServer({ startRuntime: () => Promise.resolve(runtime), port });
  });
});
