import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError, SandboxError } from '../../../src/errors.js';
import { type ColabServer, startColabServer } from '../../../src/sandbox/local/colab-server.js';
import { defer } from '../../../src/sandbox/local/deferred.js';
import type { JupyterRuntime } from '../../../src/sandbox/local/runtime.js';
import { acceleratorOf } from '../../../src/sandbox/local/runtime-specs.js';
import { callTool, rpc, type ToolResult, valueOf } from '../../support/colab-post.js';
import { ScriptedRuntime } from '../../support/scripted-runtime.js';

const CPU = { variant: 'VARIANT_CPU', accelerator: 'NONE', shape: 'SHAPE_STANDARD' };
const T4 = { variant: 'VARIANT_GPU', accelerator: 'T4', shape: 'SHAPE_STANDARD' };

let started: JupyterRuntime[];
let startRuntime: () => Promise<JupyterRuntime>;
let gpus: string[];
let clock: number;
let server: ColabServer;

beforeEach(async () => {
  started = [];
  gpus = [];
  clock = Date.parse('2030-01-01T00:00:00Z');
  startRuntime = () => {
    const runtime = new ScriptedRuntime();
    started.push(runtime);
    return Promise.resolve(runtime);
  };
  server = await startColabServer({
    startRuntime: () => startRuntime(),
    gpuNames: () => Promise.resolve(gpus),
    now: () => clock,
    limits: { maxRuntimes: 2 },
  });
});
afterEach(async () => {
  await server.close();
});

const create = (args: Record<string, unknown> = {}): Promise<ToolResult> =>
  callTool(server, 'create_runtime', { runtime: { runtimeSpec: CPU }, ...args });

/** `STATUS` of a tool that is expected to fail. */
function statusOf(result: ToolResult): string {
  const [status = ''] = result.content[0]?.text.split(':') ?? [];
  expect(result.isError).toBe(true);
  expect(result.structuredContent['error']).toMatchObject({ status });
  return status;
}

function reasonOf(result: ToolResult): unknown {
  const { details } = result.structuredContent['error'] as { details: { reason: string }[] };
  return details[0]?.reason;
}

describe('tools/list', () => {
  it('names the ten tools with schemas and the documented hints', async () => {
    const answer = await rpc(server, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const tools = answer.result?.['tools'] as {
      name: string;
      description: string;
      inputSchema: { type: string; properties: object; required?: string[] };
      outputSchema: { type: string };
      annotations: object;
    }[];
    expect(tools.map(({ name }) => name).sort()).toEqual([
      'create_runtime',
      'create_session',
      'delete_runtime',
      'delete_session',
      'execute_code',
      'get_runtime',
      'get_subscription',
      'list_runtime_specs',
      'list_runtimes',
      'list_sessions',
    ]);
    for (const { description, inputSchema, outputSchema } of tools) {
      expect(description).not.toBe('');
      expect([inputSchema.type, outputSchema.type]).toEqual(['object', 'object']);
    }
    const byName = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
    expect(byName['execute_code']?.annotations).toEqual({
      destructiveHint: true,
      idempotentHint: false,
      readOnlyHint: false,
      openWorldHint: true,
    });
    expect(byName['list_runtime_specs']?.annotations).toMatchObject({ readOnlyHint: true });
    expect(byName['execute_code']?.inputSchema.required).toEqual(['code']);
    expect(Object.keys(byName['execute_code']?.inputSchema.properties ?? {})).toEqual(
      expect.arrayContaining(['code', 'executionId', 'runtime', 'session']),
    );
  });
});

describe('list_runtime_specs', () => {
  it('offers the CPU, and a GPU only where there is one', async () => {
    expect(await valueOf(server, 'list_runtime_specs')).toEqual({
      runtimeSpecs: [{ key: CPU, eligible: true }],
    });
  });

  it('offers the GPUs that the machine names, each kind once', async () => {
    gpus = ['Tesla T4', 'Tesla T4'];
    expect(await valueOf(server, 'list_runtime_specs')).toEqual({
      runtimeSpecs: [
        { key: CPU, eligible: true },
        { key: T4, eligible: true },
      ],
    });
  });

  it.each([
    ['Tesla T4', 'T4'],
    ['NVIDIA L4', 'L4'],
    ['NVIDIA A100-SXM4-40GB', 'A100'],
    ['NVIDIA H100 80GB HBM3', 'H100'],
    ['NVIDIA GeForce RTX 4090', 'RTX4090'],
  ])('calls %s %s', (name, accelerator) => {
    expect(acceleratorOf(name)).toBe(accelerator);
  });
});

describe('get_subscription', () => {
  it('is the free one', async () => {
    expect(await valueOf(server, 'get_subscription')).toEqual({
      name: 'subscription',
      tier: 'SUBSCRIPTION_TIER_FREE',
    });
  });
});

describe('create_runtime', () => {
  it('waits until the runtime is ready and says how to move files', async () => {
    const { structuredContent } = await create();
    expect(structuredContent).toEqual({
      name: expect.stringMatching(/^runtimes\/r-[0-9a-f-]{36}$/) as string,
      runtimeSpec: CPU,
      connectionInfo: {
        url: `${new URL(server.url).origin}/${String(structuredContent['name'])}`,
        token: expect.stringMatching(/^[\w-]{43}$/) as string,
        expireTime: '2030-01-01T01:00:00.000Z',
      },
      version: 'python-3.12.0',
    });
  });

  it('makes one runtime for one requestId, also when both calls come at once', async () => {
    const requestId = '6fa7b3c1-58f6-4b6e-9b3e-2f2f1a5a9d01';
    const results = [
      ...(await Promise.all([create({ requestId }), create({ requestId })])),
      await create({ requestId }),
    ];
    expect(new Set(results.map((result) => result.structuredContent['name'])).size).toBe(1);
    expect(started).toHaveLength(1);
  });

  it('refuses a requestId that was used for another runtime', async () => {
    await create({ requestId: 'r' });
    expect(statusOf(await create({ requestId: 'r', runtimeId: 'other' }))).toBe('INVALID_ARGUMENT');
  });

  it('makes a new runtime for a requestId whose runtime is gone', async () => {
    const { name } = (await create({ requestId: 'r' })).structuredContent;
    await valueOf(server, 'delete_runtime', { name });
    const again = await create({ requestId: 'r' });
    expect(again.structuredContent['name']).not.toBe(name);
  });

  it('tries again under the same requestId after a failed start', async () => {
    const works = startRuntime;
    startRuntime = () =>
      Promise.reject(new SandboxError('RUNTIME_START_FAILED', 'No.', { isRetryable: true }));
    expect(statusOf(await create({ requestId: 'r' }))).toBe('UNAVAILABLE');
    startRuntime = works;
    expect((await create({ requestId: 'r' })).isError).toBeUndefined();
  });

  it('takes the runtimeId asked for and refuses one that exists, being started included', async () => {
    const gate = defer<undefined>();
    const works = startRuntime;
    startRuntime = async () => {
      await gate.promise;
      return await works();
    };
    const first = create({ runtimeId: 'mine' });
    const second = await create({ runtimeId: 'mine' });
    expect(statusOf(second)).toBe('ALREADY_EXISTS');
    gate.resolve(undefined);
    expect((await first).structuredContent['name']).toBe('runtimes/mine');
    expect(statusOf(await create({ runtimeId: 'mine' }))).toBe('ALREADY_EXISTS');
  });

  it('refuses what the machine has not, naming what it has', async () => {
    const result = await create({ runtime: { runtimeSpec: T4 } });
    expect(statusOf(result)).toBe('FAILED_PRECONDITION');
    expect(result.content[0]?.text).toMatch(/VARIANT_CPU NONE/);
    expect(started).toHaveLength(0);
  });

  it('refuses an image version, having only one', async () => {
    const result = await create({ runtime: { runtimeSpec: CPU, version: '2026.07' } });
    expect(statusOf(result)).toBe('FAILED_PRECONDITION');
  });

  it('refuses more runtimes than allowed, in the documented words', async () => {
    await create();
    await create();
    const third = await create();
    expect([statusOf(third), reasonOf(third)]).toEqual([
      'FAILED_PRECONDITION',
      'TOO_MANY_ACTIVE_RUNTIMES',
    ]);
  });

  it('passes on why a runtime could not start', async () => {
    startRuntime = () => Promise.reject(new ConfigError('ISOLATION_UNAVAILABLE', 'Install bwrap.'));
    const result = await create();
    expect([statusOf(result), reasonOf(result)]).toEqual([
      'FAILED_PRECONDITION',
      'ISOLATION_UNAVAILABLE',
    ]);
    expect(result.content[0]?.text).toContain('Install bwrap.');
  });
});

describe('runtimes', () => {
  it('are listed and described while they live', async () => {
    const { structuredContent: made } = await create({ runtimeId: 'mine' });
    expect(await valueOf(server, 'get_runtime', { name: 'runtimes/mine' })).toEqual(made);
    expect(await valueOf(server, 'list_runtimes')).toEqual({ runtimes: [made] });
    expect(await valueOf(server, 'delete_runtime', { name: 'runtimes/mine' })).toEqual({});
    expect(await valueOf(server, 'list_runtimes')).toEqual({ runtimes: [] });
  });

  it('that are missing answer NOT_FOUND, unless that is allowed', async () => {
    const name = 'runtimes/none';
    expect(statusOf(await callTool(server, 'get_runtime', { name }))).toBe('NOT_FOUND');
    expect(statusOf(await callTool(server, 'delete_runtime', { name }))).toBe('NOT_FOUND');
    expect(await valueOf(server, 'delete_runtime', { name, allowMissing: true })).toEqual({});
  });

  it('get a new proxy token shortly before the old one ends', async () => {
    const tokenNow = async (): Promise<unknown> => {
      const runtime = await valueOf(server, 'get_runtime', { name: 'runtimes/mine' });
      return (runtime['connectionInfo'] as { token: string }).token;
    };
    await create({ runtimeId: 'mine' });
    const first = await tokenNow();
    clock += 30 * 60_000;
    expect(await tokenNow()).toBe(first);
    clock += 26 * 60_000;
    expect(await tokenNow()).not.toBe(first);
  });
});

describe('sessions', () => {
  beforeEach(async () => {
    await create({ runtimeId: 'mine' });
  });

  it('are opened once for one id, listed and deleted', async () => {
    const parent = 'runtimes/mine';
    const name = `${parent}/sessions/work`;
    for (let time = 0; time < 2; time += 1)
      expect(await valueOf(server, 'create_session', { parent, sessionId: 'work' })).toEqual({
        name,
      });
    expect(await valueOf(server, 'list_sessions', { parent })).toEqual({ sessions: [{ name }] });
    expect(await valueOf(server, 'delete_session', { name })).toEqual({});
    expect(await valueOf(server, 'list_sessions', { parent })).toEqual({ sessions: [] });
    expect(statusOf(await callTool(server, 'delete_session', { name }))).toBe('NOT_FOUND');
  });

  it('without an id get a random UUID that is itself a valid id', async () => {
    const parent = 'runtimes/mine';
    for (let time = 0; time < 20; time += 1) {
      const { name } = await valueOf<{ name: string }>(server, 'create_session', { parent });
      expect(name).toMatch(/\/sessions\/[a-f][0-9a-f]{7}-[0-9a-f-]{27}$/);
      await valueOf(server, 'delete_session', { name });
    }
  });

  it('need their runtime', async () => {
    for (const [tool, args] of [
      ['create_session', { parent: 'runtimes/none' }],
      ['list_sessions', { parent: 'runtimes/none' }],
      ['delete_session', { name: 'runtimes/none/sessions/work' }],
      ['execute_code', { session: 'runtimes/none/sessions/work', code: '1' }],
      ['execute_code', { runtime: 'runtimes/none', code: '1' }],
    ] as const)
      expect(statusOf(await callTool(server, tool, args))).toBe('NOT_FOUND');
  });
});

describe('bad arguments', () => {
  it.each([
    ['get_runtime', {}, 'name'],
    ['get_runtime', { name: 'mine' }, 'name'],
    ['get_runtime', { name: 'runtimes/mine/sessions/x' }, 'name'],
    ['create_runtime', {}, 'runtime'],
    ['create_runtime', { runtime: {} }, 'runtime.runtimeSpec'],
    [
      'create_runtime',
      { runtime: { runtimeSpec: { ...CPU, shape: 'BIG' } } },
      'runtime.runtimeSpec.shape',
    ],
    ['create_runtime', { runtime: { runtimeSpec: CPU }, runtimeId: 'Mine' }, 'runtimeId'],
    ['delete_runtime', { name: 'runtimes/mine', allowMissing: 'yes' }, 'allowMissing'],
    ['create_session', { parent: 'runtimes/mine', sessionId: '1st' }, 'sessionId'],
    ['create_session', { parent: 'runtimes/mine', sessionId: 'ends-' }, 'sessionId'],
    ['create_session', { parent: 'runtimes/mine', sessionId: 'x'.repeat(64) }, 'sessionId'],
    ['execute_code', { session: 'runtimes/mine/sessions/work' }, 'code'],
    ['execute_code', { code: 1, session: 'runtimes/mine/sessions/work' }, 'code'],
    ['execute_code', { code: '1', session: 'work' }, 'session'],
    ['execute_code', { code: '1' }, 'target'],
    ['execute_code', { code: '1', session: '', runtime: null }, 'target'],
    [
      'execute_code',
      { code: '1', session: 'runtimes/mine/sessions/work', runtime: 'runtimes/mine' },
      'target',
    ],
  ])('of %s (%j) are refused naming the field', async (tool, args, field) => {
    const result = await callTool(server, tool, args);
    expect(statusOf(result)).toBe('INVALID_ARGUMENT');
    expect(result.content[0]?.text).toMatch(new RegExp(`INVALID_ARGUMENT: (.*; )?${field}: `));
  });

  it('do not include unknown fields or absent ones sent as null or empty', async () => {
    await create({ runtimeId: 'mine', future: true });
    const result = await callTool(server, 'execute_code', {
      code: '1',
      session: 'runtimes/mine/sessions/work',
      runtime: '',
      executionId: null,
      future: { a: 1 },
    });
    expect(result.structuredContent).toMatchObject({ executionId: '', executionCount: 1 });
  });
});
