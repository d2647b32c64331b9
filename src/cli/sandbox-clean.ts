import { DEFAULT_RETRY_POLICY } from '../retry.js';
import { clearLeftBehind } from '../sandbox/colab/left-behind.js';
import type { Clearing } from '../sandbox/colab/left-behind.js';
import { openLedger } from '../sandbox/ledger.js';
import type { CommandContext } from './command-context.js';
import { atEndpoint, endpointOf, showLocal } from './endpoint.js';
import type { EndpointConfig, EndpointFlags } from './endpoint.js';
import { exitCodes } from './exit-code.js';
import type { ExitCode } from './exit-code.js';
import { printable } from './render/printable.js';
import type { Screen } from './render/screen.js';
import { resultScreen } from './result-screen.js';

export interface CleanFlags extends EndpointFlags {
  runtimes?: boolean;
}

/** Closes what processes of ours left behind at an endpoint, and says what became of each. */
export async function cleanCommand(flags: CleanFlags, context: CommandContext): Promise<ExitCode> {
  const { env, signal, stderr } = context;
  const config = endpointOf(flags, env);
  using screen = resultScreen(flags, context);
  if (config === undefined) {
    await showLocal(screen, env);
    return exitCodes.done;
  }
  screen.status((frame) => `${frame} asking ${config.url}`);
  const failures = await clean(config, flags.runtimes === true, screen, signal);
  screen.clearStatus();
  for (const failure of failures) stderr.write(`colab-solver: ${printable(failure)}\n`);
  return failures.length === 0 ? exitCodes.done : exitCodes.fault;
}

/** Shows what was done as it is done, and returns what was not. */
function clean(
  config: EndpointConfig,
  withRuntimes: boolean,
  screen: Screen,
  signal: AbortSignal,
): Promise<string[]> {
  const ledger = openLedger(config.stateFolder, (text) => {
    screen.note(text);
  });
  return atEndpoint(config, async (connection) => {
    const calls = { connection, ledger, policy: DEFAULT_RETRY_POLICY, signal };
    const failures: string[] = [];
    let isAnyLeft = false;
    for await (const clearing of clearLeftBehind(calls, { withRuntimes })) {
      isAnyLeft = true;
      if (clearing.outcome === 'failed') failures.push(clearing.error.message);
      else screen.resultLine(printable(clearingText(clearing)));
    }
    if (!isAnyLeft) screen.resultLine(`Nothing of ours is left behind on ${config.url}.`);
    return failures;
  });
}

function clearingText(clearing: Exclude<Clearing, { outcome: 'failed' }>): string {
  const { name, outcome } = clearing;
  switch (outcome) {
    case 'deleted':
      return `Deleted ${name}`;
    case 'gone':
      return `Gone already: ${name}`;
    case 'kept':
      return clearing.users === undefined
        ? `Left open: ${name}, which we made; --runtimes deletes it`
        : `Left open: ${name}, since it has sessions that others or running processes use: ${clearing.users.join(', ')}`;
  }
}
