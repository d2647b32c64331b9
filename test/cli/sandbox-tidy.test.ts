import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tableLines } from '../../src/cli/render/table.js';
import { openLedger } from '../../src/sandbox/ledger.js';
import { CPU, ScriptedColab, T4 } from '../support/scripted-colab.js';
import { CliProcess } from './cli-process.js';
import { commandLine } from './command-line.js';
import { result, script, temporaryFolder, writeRuns } from './recorded-file.js';

const TOKEN = 'token-of-the-server';

/** Runs a command of `sandbox` against a server, with a state folder of its own. */
async function sandboxCommand(server: ScriptedColab, home: string, ...args: string[]) {
  const env = { COLAB_ACCESS_TOKEN: TOKEN, COLAB_SOLVER_HOME: home };
  return commandLine(['sandbox', ...args, '--sandbox', server.url], { env });
}

/** A server as after a run that was killed on a runtime it had made, beside a user's notebook. */
async function afterCrash(home: string): Promise<ScriptedColab> {
  const server = await ScriptedColab.start({ tokens: new Set([TOKEN]) });
  const connectionInfo = { url: 'https://proxy.test', token: 'proxy-secret', expireTime: '' };
  const ours = { name: 'runtimes/cs-1', runtimeSpec: T4, version: '2026.07', connectionInfo };
  const theirs = { name: 'runtimes/abc', runtimeSpec: CPU };
  for (let call = 0; call < 4; call += 1) {
    server.answer('list_runtimes', (list) => {
      list.result({ runtimes: [ours, theirs] });
    });
  }
  const url = server.url;
  const ledger = openLedger(home);
  const runtime = { kind: 'runtime', url, name: ours.name, runtimeSpec: T4, isMade: true } as const;
  await ledger.disown({ ...runtime, requestId: crypto.randomUUID() });
  const session = `${ours.name}/sessions/cs-2`;
  await ledger.disown({ kind: 'session', url, name: session, holder: 'gone' });
  server.answer('list_sessions', (list) => {
    const isOurs = list.args['parent'] === ours.name;
    list.result({ sessions: isOurs ? [{ name: session }] : [] });
  });
  server.answer('list_sessions', (list) => {
    list.result({ sessions: [{ name: 'runtimes/abc/sessions/notebook' }] });
  });
  return server;
}

describe('sandbox list', () => {
  it('shows what is open and whose it is', async () => {
    await using home = await temporaryFolder();
    await using server = await afterCrash(home.path);
    const { code, stdout, stderr } = await sandboxCommand(server, home.path, 'list');
    expect(code).toBe(0);
    expect(stdout.split('\n')).toEqual([
      'RUNTIME AND ITS SESSIONS  ACCELERATOR  IMAGE    WHOSE',
      'runtimes/cs-1             T4           2026.07  made by us',
      '  cs-2                                          ours, left behind',
      'runtimes/abc              NONE         latest   not ours',
      '  notebook                                      not ours',
      '',
    ]);
    expect(stderr).toContain(`    colab-solver sandbox clean --sandbox ${server.url}\n`);
    expect(stderr).toContain('--runtimes');
  });

  it('prints the same as one JSON object, without a token', async () => {
    await using home = await temporaryFolder();
    await using server = await afterCrash(home.path);
    const { code, stdout } = await sandboxCommand(server, home.path, 'list', '--json');
    expect(code).toBe(0);
    expect(stdout).not.toMatch(/proxy-secret|token/);
    expect(JSON.parse(stdout)).toEqual({
      url: server.url,
      runtimes: [
        {
          ...{ name: 'runtimes/cs-1', isOurs: true, processId: null },
          ...{ ...T4, version: '2026.07' },
          sessions: [{ name: 'runtimes/cs-1/sessions/cs-2', isOurs: true, processId: null }],
        },
        {
          ...{ name: 'runtimes/abc', isOurs: false, processId: null },
          ...{ ...CPU, version: '' },
          sessions: [{ name: 'runtimes/abc/sessions/notebook', isOurs: false, processId: null }],
        },
      ],
    });
  });

  it('says that nothing is open', async () => {
    await using home = await temporaryFolder();
    await using server = await ScriptedColab.start();
    server.answer('list_runtimes', (list) => {
      list.result({});
    });
    const { code, stdout } = await sandboxCommand(server, home.path, 'list');
    expect({ code, stdout }).toEqual({ code: 0, stdout: `No runtime is open on ${server.url}.\n` });
  });

  it('without a sign-in that the server takes fails as elsewhere', async () => {
    await using home = await temporaryFolder();
    await using server = await ScriptedColab.start({ tokens: new Set(['another']) });
    const { code, stdout, stderr } = await sandboxCommand(server, home.path, 'list');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^colab-solver: .*COLAB_ACCESS_TOKEN/m);
    expect(stderr).not.toContain(TOKEN);
  });
});

describe('the local sandbox', () => {
  it.each(['list', 'clean'])(
    'has nothing for %s, which says so and what is left elsewhere',
    async (name) => {
      await using home = await temporaryFolder();
      const env = { COLAB_SOLVER_HOME: home.path };
      const url = 'https://colaboratory.googleapis.com/mcp';
      const session = {
        kind: 'session',
        url,
        name: 'runtimes/r/sessions/cs-1',
        holder: 'h',
      } as const;
      await openLedger(home.path).disown(session);
      const { code, stdout, stderr } = await commandLine(['sandbox', name], { env });
      expect(code).toBe(0);
      expect(stdout).toMatch(/lives inside the process.*ends\s+with it/s);
      expect(stderr).toMatch(
        /1 session.*\n.*sandbox list --sandbox colab\n.*sandbox clean --sandbox colab\n/,
      );
    },
  );

  it('shows what this machine has without starting anything', async () => {
    await using home = await temporaryFolder();
    const env = { COLAB_SOLVER_HOME: home.path, COLAB_SOLVER_PYTHON: '/nowhere/python' };
    const { code, stdout } = await commandLine(['sandbox', 'specs', '--json'], { env });
    expect(code).toBe(0);
    const { url, specs } = JSON.parse(stdout) as { url: null; specs: object[] };
    expect(url).toBeNull();
    expect(specs).toContainEqual({ name: 'NONE', ...CPU, eligible: true });
  });
});

describe('sandbox specs', () => {
  const runtimeSpecs = [
    { key: CPU, eligible: true },
    { key: { ...T4, accelerator: 'L4', shape: 'SHAPE_HIGHMEM' }, eligible: true },
    { key: { ...T4, accelerator: 'A100' } },
  ];

  it('shows what --accelerator takes and what the account may have', async () => {
    await using home = await temporaryFolder();
    await using server = await ScriptedColab.start();
    server.answer('list_runtime_specs', (list) => {
      list.result({ runtimeSpecs });
    });
    const { code, stdout } = await sandboxCommand(server, home.path, 'specs');
    expect(code).toBe(0);
    expect(stdout.split('\n')).toEqual([
      'ACCELERATOR  KIND  SHAPE     ELIGIBLE',
      'NONE         CPU   STANDARD  yes',
      'L4:HIGHMEM   GPU   HIGHMEM   yes',
      'A100         GPU   STANDARD  no',
      '',
    ]);
  });
});

describe('sandbox clean', () => {
  it('says what became of each, and deletes no runtime unasked, or that somebody uses', async () => {
    await using home = await temporaryFolder();
    await using server = await afterCrash(home.path);
    const first = await sandboxCommand(server, home.path, 'clean');
    expect(first.code).toBe(0);
    expect(first.stdout).toBe(
      'Deleted runtimes/cs-1/sessions/cs-2\n' +
        'Left open: runtimes/cs-1, which we made; --runtimes deletes it\n',
    );
    const second = await sandboxCommand(server, home.path, 'clean', '--runtimes');
    expect(second.stdout).toMatch(
      /^Left open: runtimes\/cs-1, since it has sessions .*: \S+\/cs-2\n$/,
    );
    expect(server.callsOf('delete_runtime')).toEqual([]);
    expect(server.callsOf('delete_session')).toHaveLength(1);
  });

  it('that could not close something ends with 1 and says why', async () => {
    await using home = await temporaryFolder();
    await using server = await afterCrash(home.path);
    server.answer('delete_session', (call) => {
      call.toolError('PERMISSION_DENIED: not yours');
    });
    const { code, stdout, stderr } = await sandboxCommand(server, home.path, 'clean');
    expect(code).toBe(1);
    expect(stdout).toContain('Left open: runtimes/cs-1');
    expect(stderr).toMatch(
      /^colab-solver: delete_session failed on runtimes\/cs-1\/sessions\/cs-2/m,
    );
  });

  it('with a ledger that cannot be read ends with 2', async () => {
    await using home = await temporaryFolder();
    await using server = await ScriptedColab.start();
    const path = await writeRuns(home.path, {});
    const { code, stderr } = await sandboxCommand(server, path, 'clean');
    expect(code).toBe(2);
    expect(stderr).toMatch(/^colab-solver: The ledger .* cannot be read.*COLAB_SOLVER_HOME/m);
  });

  it('deletes for good what a solve that was killed had opened', async () => {
    await using folder = await temporaryFolder();
    const path = await writeRuns(folder.path, {
      q: [
        script('print("begun", flush=True)\nimport time\ntime.sleep(600)'),
        result(''),
        { text: '' },
      ],
    });
    await using serve = new CliProcess(['sandbox', 'serve', '--isolation', 'none']);
    const [, url = '', token = ''] = await serve.printed(
      'stdout',
      /endpoint: (\S+)\nToken: (\S+)\n/,
    );
    const env = { COLAB_ACCESS_TOKEN: token, COLAB_SOLVER_HOME: join(folder.path, 'home') };
    const at = ['--sandbox', url];
    await using run = new CliProcess(
      ['solve', '--events', ...at, '--model', `replay:${path}`, 'q'],
      { env },
    );
    await run.printed('stdout', /begun/);
    const during = await commandLine(['sandbox', 'clean', '--runtimes', ...at], { env });
    expect(during.stdout).toContain('Nothing of ours is left behind');
    run.kill('SIGKILL');
    await run.ended;
    const after = await commandLine(['sandbox', 'clean', '--runtimes', ...at], { env });
    expect(after.stdout).toMatch(
      /^Deleted runtimes\/(\S+)\/sessions\/cs-\S+\nDeleted runtimes\/\1\n$/,
    );
    const list = await commandLine(['sandbox', 'list', ...at], { env });
    expect(list.stdout).toContain('No runtime is open');
  });
});

it('a table has columns as wide as their widest cell, also where letters are wide', () => {
  expect(
    tableLines([
      ['a', 'b'],
      ['日本', ''],
      ['x', 'y', 'z'],
    ]),
  ).toEqual(['a     b', '日本', 'x     y  z']);
  expect(tableLines([])).toEqual([]);
});
