import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { DeadlineReached, linkSignal } from '../../abort.js';
import { resolveSandboxConfig } from '../../config.js';
import { ColabSolverError } from '../../errors.js';
import { DEFAULT_RETRY_POLICY } from '../../retry.js';
import { callSafely } from '../../sandbox/colab/call-safely.js';
import { McpConnection } from '../../sandbox/colab/mcp-connection.js';
import { signIn } from '../../sandbox/colab/sign-in.js';
import { LOGIN_COMMAND } from '../../sandbox/sign-in-remedy.js';
import { PROBE_TIMEOUT_MS } from './check.js';
import type { Check, CheckOptions } from './check.js';

const NAME = 'Colab';
const SubscriptionSchema = z.looseObject({ tier: z.string().optional() });

/** A real call, since connecting and listing tools work signed out; only made where there are credentials. */
export async function checkColab(options: CheckOptions): Promise<Check> {
  const check = { name: NAME, isRequired: false };
  const credentials = credentialsIn(options.env);
  if (credentials === undefined) {
    return {
      ...check,
      state: 'skipped',
      found: 'not signed in; only needed for --sandbox colab',
      remedy: `To use it: \`${LOGIN_COMMAND}\`, or set COLAB_ACCESS_TOKEN.`,
    };
  }
  try {
    const { url, tier } = await subscription(options);
    return { ...check, state: 'ok', found: `${url} takes ${credentials}${tier}` };
  } catch (error) {
    options.signal.throwIfAborted();
    return { ...check, state: 'failed', found: reasonOf(error) };
  }
}

/** Where the credentials come from, for people. */
function credentialsIn(env: NodeJS.ProcessEnv): string | undefined {
  if (env['COLAB_ACCESS_TOKEN']?.trim()) return 'COLAB_ACCESS_TOKEN';
  const named = env['GOOGLE_APPLICATION_CREDENTIALS'];
  if (named) return 'GOOGLE_APPLICATION_CREDENTIALS';
  const usual = join(
    env['CLOUDSDK_CONFIG'] || join(env['HOME'] || homedir(), '.config', 'gcloud'),
    'application_default_credentials.json',
  );
  return existsSync(usual) ? 'the Application Default Credentials' : undefined;
}

async function subscription({ env, signal }: CheckOptions): Promise<{ url: string; tier: string }> {
  const config = resolveSandboxConfig({ sandbox: 'colab', env });
  if (config.kind !== 'colab') throw new TypeError('sandbox colab resolved to another one');
  const { url, accessToken, quotaProject } = config;
  const connection = new McpConnection({
    url: new URL(url),
    signIn: signIn(accessToken ?? ''),
    headers: quotaProject === undefined ? {} : { 'x-goog-user-project': quotaProject },
  });
  using link = linkSignal(signal, PROBE_TIMEOUT_MS);
  try {
    const { tier } = await callSafely(connection, 'get_subscription', {}, SubscriptionSchema, {
      policy: { ...DEFAULT_RETRY_POLICY, attempts: 1 },
      signal: link.signal,
    });
    return { url, tier: tier === undefined ? '' : ` (${tier})` };
  } finally {
    await connection.close();
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof ColabSolverError) return error.message;
  if (error instanceof DeadlineReached) {
    return `no answer within ${PROBE_TIMEOUT_MS / 1000} s. Check the network and COLAB_MCP_URL.`;
  }
  return error instanceof Error ? error.message : String(error);
}
