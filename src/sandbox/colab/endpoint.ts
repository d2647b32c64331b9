import type { RetryPolicy } from '../../retry.js';
import { requireSafeUrl } from '../../safe-url.js';
import { McpConnection } from './mcp-connection.js';
import type { SignIn } from './sign-in.js';

/** A Colab MCP server, and who asks it. */
export interface Endpoint {
  /** https, or http on this machine. */
  url: string;
  signIn: SignIn;
  /** Sent as `x-goog-user-project`. */
  quotaProject?: string;
  /** Sent as `x-colab-client-agent`; some OAuth clients are refused without theirs. Default none. */
  clientAgent?: string;
  /** How long a refusal for the rate of calls makes all calls wait. Default as for retries. */
  policy?: RetryPolicy;
}

/** @throws {ConfigError} for a bad URL. Nothing is sent yet. */
export function openEndpoint({
  url,
  signIn,
  quotaProject,
  clientAgent,
  policy,
}: Endpoint): McpConnection {
  const headers = {
    ...(quotaProject !== undefined && { 'x-goog-user-project': quotaProject }),
    ...(clientAgent !== undefined && { 'x-colab-client-agent': clientAgent }),
  };
  const safeUrl = requireSafeUrl(url, 'The Colab MCP URL');
  return new McpConnection({ url: safeUrl, signIn, headers, policy });
}
