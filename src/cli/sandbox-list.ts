import { DEFAULT_RETRY_POLICY } from '../retry.js';
import { specText } from '../sandbox/colab/accelerator-wish.js';
import { takeStock } from '../sandbox/colab/stock.js';
import type { StockedRuntime, Stocked } from '../sandbox/colab/stock.js';
import { openLedger } from '../sandbox/ledger.js';
import type { CommandContext } from './command-context.js';
import { atEndpoint, endpointOf, showCommand, showLocal } from './endpoint.js';
import type { EndpointConfig, EndpointFlags } from './endpoint.js';
import { exitCodes } from './exit-code.js';
import type { ExitCode } from './exit-code.js';
import { countOf } from './render/amounts.js';
import { printable } from './render/printable.js';
import type { Screen } from './render/screen.js';
import { tableLines } from './render/table.js';
import { resultScreen } from './result-screen.js';

export interface ListFlags extends EndpointFlags {
  json?: boolean;
}

/** What is open at an endpoint, and what of it is ours. Changes nothing. */
export async function listCommand(flags: ListFlags, context: CommandContext): Promise<ExitCode> {
  const { stdout, env, signal } = context;
  const config = endpointOf(flags, env);
  using screen = resultScreen(flags, context, flags.json);
  if (config !== undefined) screen.status((frame) => `${frame} asking ${config.url}`);
  const runtimes = config === undefined ? [] : await stockAt(config, signal);
  screen.clearStatus();
  if (flags.json === true) {
    const record = { url: config?.url ?? null, runtimes: runtimes.map(runtimeRecord) };
    stdout.write(`${JSON.stringify(record, undefined, 2)}\n`);
  } else if (config === undefined) {
    await showLocal(screen, env);
  } else {
    show(runtimes, config.url, screen);
  }
  return exitCodes.done;
}

function stockAt(config: EndpointConfig, signal: AbortSignal): Promise<StockedRuntime[]> {
  const ledger = openLedger(config.stateFolder);
  return atEndpoint(config, (connection) =>
    takeStock({ connection, ledger, policy: DEFAULT_RETRY_POLICY, signal }),
  );
}

const HEADER = ['RUNTIME AND ITS SESSIONS', 'ACCELERATOR', 'IMAGE', 'WHOSE'];

function show(runtimes: readonly StockedRuntime[], url: string, screen: Screen): void {
  if (runtimes.length === 0) {
    screen.resultLine(`No runtime is open on ${url}.`);
    return;
  }
  screen.note(`Open on ${url}:`);
  const rows = runtimes.flatMap((runtime) => [
    [runtime.name, specText(runtime.spec), runtime.version || 'latest', whose(runtime, 'made by')],
    ...runtime.sessions.map((session) => [
      `  ${session.name.split('/').at(-1) ?? ''}`,
      '',
      '',
      whose(session, 'opened by'),
    ]),
  ]);
  for (const line of tableLines([HEADER, ...rows.map((row) => row.map(printable))])) {
    screen.resultLine(line);
  }
  const left = runtimes.flatMap(({ sessions }) => sessions).filter(isLeft).length;
  const kept = runtimes.filter(isLeft).length;
  if (left > 0) {
    screen.note(`${countOf(left, 'session')} left behind. To close what was left:`);
    showCommand(screen, 'clean', url);
  }
  if (kept > 0) {
    screen.note(`${countOf(kept, 'runtime')} of ours that no run of ours uses. To delete:`);
    showCommand(screen, 'clean --runtimes', url);
  }
}

function isLeft({ state }: Stocked): boolean {
  return state === 'left-behind';
}

function whose({ state, pid }: Stocked, verb: 'made by' | 'opened by'): string {
  if (state === 'not-ours') return 'not ours';
  if (state === 'left-behind') return verb === 'made by' ? 'made by us' : 'ours, left behind';
  return pid === undefined ? `${verb} us` : `${verb} us, process ${pid}`;
}

/** The connection info, which holds a token, stays out. */
function runtimeRecord({ spec, version, sessions, ...rest }: StockedRuntime) {
  const { variant, accelerator, shape } = spec;
  return {
    ...stockedRecord(rest),
    ...{ variant, accelerator, shape, version },
    sessions: sessions.map(stockedRecord),
  };
}

function stockedRecord({ name, state, pid }: Stocked) {
  return { name, isOurs: state !== 'not-ours', processId: pid ?? null };
}
