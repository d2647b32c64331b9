import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { allProcesses, CliProcess, descendantsOf } from './cli-process.js';
import { script, temporaryFolder, writeRuns } from './recorded-file.js';

/** How long processes may take to notice that nobody wants them any more. */
const GONE_WITHIN = { timeout: 15_000, interval: 100 };

let markers = 0;

/** A run whose script prints, starts a process that this machine can tell from all others, and never ends. */
function endlessScript(): { code: string; marker: string } {
  markers += 1;
  const marker = `${process.pid}.${markers}`;
  const code = [
    'import subprocess, time',
    `subprocess.Popen(["sleep", "99${marker}"])`,
    'print("half of", "the work", flush=True)',
    'while True: time.sleep(0.05); print("more", flush=True)',
  ].join('\n');
  return { code, marker: `sleep 99${marker}` };
}

interface Running extends AsyncDisposable {
  cli: CliProcess;
  /** Neither what it started nor what its script started is left. */
  expectNothingLeft: () => Promise<void>;
}

/** A solve in the middle of its script. */
async function runningSolve(folder: string, args: string[] = []): Promise<Running> {
  const { code, marker } = endlessScript();
  const runs = await writeRuns(folder, { q: [script(code)] });
  const cli = new CliProcess(['solve', '--model', `replay:${runs}`, ...args, 'q']);
  await cli.printed(args.includes('--events') ? 'stdout' : 'stderr', /half of the work/);
  const started = await descendantsOf(cli.pid);
  expect(started.some(({ command }) => command === marker)).toBe(true);
  return {
    cli,
    [Symbol.asyncDispose]: () => cli[Symbol.asyncDispose](),
    expectNothingLeft: async () => {
      await vi.waitFor(async () => {
        const now = await allProcesses();
        const left = now.filter(
          ({ pid, command }) =>
            command === marker || started.some((row) => row.pid === pid && row.command === command),
        );
        expect(left).toEqual([]);
      }, GONE_WITHIN);
    },
  };
}

describe('a signal while a script runs', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    '%s ends it with 130, what was printed stays, nothing is left running',
    async (signal) => {
      await using folder = await temporaryFolder();
      await using running = await runningSolve(folder.path);
      const { cli } = running;
      cli.kill(signal);
      const { code, stdout, stderr } = await cli.ended;
      expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
      expect(stderr).toMatch(/│ half of the work\n.*✗ stopped.*colab-solver: Cancelled/s);
      await running.expectNothingLeft();
    },
  );

  it('that comes twice within half a second counts once: everything is closed in order', async () => {
    await using folder = await temporaryFolder();
    await using running = await runningSolve(folder.path, ['--events']);
    const { cli } = running;
    cli.kill('SIGINT');
    cli.kill('SIGINT');
    const { code, stdout } = await cli.ended;
    expect(code).toBe(130);
    expect(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      type: 'error',
      code: 'CANCELLED',
    });
    await running.expectNothingLeft();
  });

  it('kill -9 leaves nothing running either', async () => {
    await using folder = await temporaryFolder();
    await using running = await runningSolve(folder.path);
    const { cli } = running;
    cli.kill('SIGKILL');
    await cli.ended;
    await running.expectNothingLeft();
  });
});

describe('a reader that goes away', () => {
  it('ends it quietly', async () => {
    await using folder = await temporaryFolder();
    await using running = await runningSolve(folder.path, ['--events']);
    const { cli } = running;
    cli.child.stdout.destroy();
    const { code, stderr } = await cli.ended;
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/EPIPE|Error/);
    await running.expectNothingLeft();
  });

  it('of a long answer makes no noise', async () => {
    const line = 'x'.repeat(99);
    await using folder = await temporaryFolder();
    const runs = await writeRuns(folder.path, {
      q: [{ text: Array.from({ length: 20_000 }, () => line).join('\n') }],
    });
    await using cli = new CliProcess(['solve', '--model', `replay:${runs}`, 'q']);
    const head = spawn('head', ['-n', '1'], { stdio: ['pipe', 'pipe', 'ignore'] });
    head.stdin.on('error', () => {
      cli.child.stdout.destroy();
    });
    cli.child.stdout.pipe(head.stdin);
    await once(head, 'close');
    const { code, stderr } = await cli.ended;
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/EPIPE|Error|colab-solver:/);
  });

  it('a full disk is told in one line, with code 1', async () => {
    if (!existsSync('/dev/full')) return;
    await using folder = await temporaryFolder();
    const runs = await writeRuns(folder.path, { q: [{ text: 'the answer' }] });
    await using cli = new CliProcess(['solve', '--model', `replay:${runs}`, 'q'], {
      stdoutPath: '/dev/full',
    });
    const { code, stderr } = await cli.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^colab-solver: standard output cannot be written: ENOSPC[^\n]+\n/m);
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});
