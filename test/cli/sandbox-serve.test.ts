import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { CliProcess, allProcesses, descendantsOf } from './cli-process.js';
import { commandLine } from './command-line.js';
import { result, script, temporaryFolder, writeRuns } from './recorded-file.js';

const ADDRESS = /^MCP endpoint: (http:\/\/127\.0\.0\.1:\d+\/mcp)\nToken: (\S+)\n$/;

describe('sandbox serve', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'serves runs of another process until %s, then ends with 0 and leaves nothing',
    async (signal) => {
      await using folder = await temporaryFolder();
      const path = await writeRuns(folder.path, {
        q: [script('print(6 * 7)'), result('42'), { text: 'done' }],
      });
      await using server = new CliProcess(['sandbox', 'serve']);
      const [, url = '', token = ''] = await server.printed('stdout', ADDRESS);

      const env = { COLAB_ACCESS_TOKEN: token };
      const args = ['solve', '--json', '--sandbox', url, '--model', `replay:${path}`, 'q'];
      const { code, stdout } = await commandLine(args, { env });
      expect(code).toBe(0);
      expect(stdout).toContain('42');
      const started = await descendantsOf(server.pid);
      expect(started).not.toEqual([]);

      server.kill(signal);
      const end = await server.ended;
      expect(end.code).toBe(0);
      expect(end.stdout).toMatch(ADDRESS);
      expect(end.stderr).not.toContain(token);
      await vi.waitFor(async () => {
        const pids = (await allProcesses()).map(({ pid }) => pid);
        expect(started.filter(({ pid }) => pids.includes(pid))).toEqual([]);
      }, 15_000);
    },
  );

  it('without the token nothing runs', async () => {
    await using folder = await temporaryFolder();
    const path = await writeRuns(folder.path, { q: [script('print(1)'), { text: 'done' }] });
    await using server = new CliProcess(['sandbox', 'serve']);
    const [, url = ''] = await server.printed('stdout', ADDRESS);
    const env = { COLAB_ACCESS_TOKEN: 'wrong' };
    const args = ['solve', '--sandbox', url, '--model', `replay:${path}`, 'q'];
    const { code, stdout, stderr } = await commandLine(args, { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/colab-solver: .*(COLAB_ACCESS_TOKEN|token|sign)/i);
  });

  it('refuses a port that is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { code, stdout, stderr } = await commandLine([
      'sandbox',
      'serve',
      '--port',
      String(port),
    ]);
    other.close();
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(new RegExp(`colab-solver: .*${port}`));
  });
});
