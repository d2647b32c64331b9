import { COLAB_MCP_URL, resolveSandboxConfig } from '../config.js';
import type { SandboxConfig } from '../config.js';
import type { LogLevel } from '../logger.js';
import { openEndpoint } from '../sandbox/colab/endpoint.js';
import type { McpConnection } from '../sandbox/colab/mcp-connection.js';
import { signIn } from '../sandbox/colab/sign-in.js';
import { openLedger } from '../sandbox/ledger.js';
import type { Ledger } from '../sandbox/ledger.js';
import { stateFolder } from '../state-folder.js';
import { countOf } from './render/amounts.js';
import type { Screen } from './render/screen.js';
import { wrapText } from './render/text-flow.js';

export interface EndpointFlags {
  sandbox: string;
  logLevel: LogLevel;
}

export type EndpointConfig = Extract<SandboxConfig, { kind: 'colab' }>;

/** Undefined for the local sandbox, which no other process can reach. */
export function endpointOf(
  flags: EndpointFlags,
  env: NodeJS.ProcessEnv,
): EndpointConfig | undefined {
  const config = resolveSandboxConfig({ sandbox: flags.sandbox, env });
  return config.kind === 'colab' ? config : undefined;
}

export async function atEndpoint<T>(
  { url, accessToken, quotaProject }: EndpointConfig,
  work: (connection: McpConnection) => Promise<T>,
): Promise<T> {
  const connection = openEndpoint({
    url,
    signIn: signIn(accessToken ?? ''),
    ...(quotaProject !== undefined && { quotaProject }),
  });
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

const LOCAL_IS_PRIVATE =
  'The local sandbox lives inside the process that uses it and ends with it, so nothing of it can be seen or left behind. ' +
  'For a server name one: --sandbox colab, or --sandbox <url>.';

/** For commands that have nothing to do there; says where they would have. */
export async function showLocal(screen: Screen, env: NodeJS.ProcessEnv): Promise<void> {
  for (const row of wrapText(LOCAL_IS_PRIVATE, screen.columns)) screen.resultLine(row);
  for (const [url, what] of await leftBehindByUrl(openLedger(stateFolder(env)))) {
    screen.note(`Left behind on ${url}: ${what}. To see and to close it:`);
    showCommand(screen, 'list', url);
    showCommand(screen, 'clean', url);
  }
}

async function leftBehindByUrl(ledger: Ledger): Promise<Map<string, string>> {
  const counts = new Map<string, { session: number; runtime: number }>();
  for (const entry of await ledger.entries()) {
    if (!(await ledger.isLeftBehind(entry))) continue;
    const count = counts.get(entry.url) ?? { session: 0, runtime: 0 };
    count[entry.kind] += 1;
    counts.set(entry.url, count);
  }
  const text = ({ session, runtime }: { session: number; runtime: number }): string =>
    [
      ...(session > 0 ? [countOf(session, 'session')] : []),
      ...(runtime > 0 ? [countOf(runtime, 'runtime')] : []),
    ].join(' and ');
  return new Map([...counts].map(([url, count]) => [url, text(count)]));
}

/** A command of `sandbox` for an endpoint, in one piece, so that it can be copied. */
export function showCommand(screen: Screen, command: string, url: string): void {
  const [name, ...options] = command.split(' ');
  const where = url === COLAB_MCP_URL ? 'colab' : url;
  screen.line(`    ${['colab-solver sandbox', name, '--sandbox', where, ...options].join(' ')}`);
}
