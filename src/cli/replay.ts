import { stat } from 'node:fs/promises';
import { linkSignal } from '../abort.js';
import { attachFiles } from '../agent/attached-file.js';
import { readLines } from '../agent/json-lines.js';
import { isNotebook } from '../agent/run-file.js';
import { resolveRunConfig, resolveSandboxConfig } from '../config.js';
import { SessionPool } from '../sandbox/session-pool.js';
import { openSandbox } from '../solver.js';
import type { CommandContext } from './command-context.js';
import { exitCodes } from './exit-code.js';
import type { ExitCode } from './exit-code.js';
import { sandboxOptions } from './options.js';
import type { SandboxFlags } from './options.js';
import { RecordedRunFeed } from './recorded-run-feed.js';
import { resultScreen } from './result-screen.js';
import { ReplayReport } from './replay-report.js';
import { replayRun } from './replay-run.js';
import type { ReplayOptions } from './replay-run.js';

export interface ReplayFlags extends SandboxFlags {
  concurrency: number;
  limit?: number;
  file?: string[];
  json?: boolean;
  scripts?: boolean;
}

/** A sandbox that fails this many runs in a row will fail the rest too. */
const MAX_FAILURES_IN_A_ROW = 5;

export async function replayCommand(
  path: string,
  flags: ReplayFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const { signal, stdout, env } = context;
  const given = sandboxOptions(flags, env);
  const sandboxConfig = resolveSandboxConfig(given);
  const { executionTimeoutMs, logLevel } = resolveRunConfig(given);
  const files = await attachFiles(flags.file ?? []);
  await using feed = await RecordedRunFeed.open(path, { limit: flags.limit, signal });

  using screen = resultScreen({ logLevel }, context, flags.json);
  screen.status((frame) => `${frame} starting the sandbox`);
  await using sandbox = await openSandbox(sandboxConfig, {
    signal,
    onNotice: (text) => {
      screen.note(text);
    },
  });
  await using pool = new SessionPool(sandbox, { size: flags.concurrency });
  const total = screen.isLive ? await totalOf(path, flags.limit, signal) : undefined;
  const listsScripts = flags.scripts ?? isNotebook(path);
  const report = new ReplayReport(screen, { total, listsScripts });
  try {
    const options = { path, executionTimeoutMs, files, signal };
    await replayAll(feed, pool, report, flags.concurrency, options);
  } finally {
    report.end();
  }
  if (flags.json === true) stdout.write(`${JSON.stringify(report.record(path), undefined, 2)}\n`);
  if (report.failedRuns > 0) return exitCodes.fault;
  return report.differ > 0 ? exitCodes.unanswered : exitCodes.done;
}

async function totalOf(
  path: string,
  limit: number | undefined,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (isNotebook(path)) return 1;
  if (!(await stat(path)).isFile()) return undefined;
  const lines = readLines(path, { signal });
  let total = 0;
  while (total !== limit && (await lines.next()).done !== true) total += 1;
  await lines.return();
  return total;
}

/** The first failure stops all; what runs then has ended when this rejects. */
async function replayAll(
  feed: RecordedRunFeed,
  pool: SessionPool,
  report: ReplayReport,
  concurrency: number,
  options: ReplayOptions,
): Promise<void> {
  using link = linkSignal(options.signal);
  let failuresInARow = 0;
  const work = async (): Promise<void> => {
    for (let next = await feed.take(); next !== undefined; next = await feed.take()) {
      const verdict = await replayRun(next.run, pool, { ...options, signal: link.signal });
      report.add(next.index, verdict);
      failuresInARow = verdict.fault === undefined ? 0 : failuresInARow + 1;
      if (verdict.fault !== undefined && failuresInARow >= MAX_FAILURES_IN_A_ROW) {
        throw verdict.fault;
      }
    }
  };
  const stop = (error: unknown): never => {
    link.abort(error);
    throw error;
  };
  const workers = Array.from({ length: concurrency }, () => work().catch(stop));
  const settled = await Promise.allSettled(workers);
  if (settled.some(({ status }) => status === 'rejected')) throw link.signal.reason;
}
