import { connectColab } from '../../src/sandbox/colab/colab-sandbox.js';
import type { ColabOptions } from '../../src/sandbox/colab/colab-sandbox.js';
import type { ColabServerOptions } from '../../src/sandbox/local/colab-server.js';
import type { Sandbox } from '../../src/sandbox/sandbox.js';
import { startEmbeddedColab } from '../support/embedded-colab.js';
import { FaultyColab } from '../support/faulty-colab.js';
import { quickly } from './colab/connected.js';

/** A client of a Colab server, real kernels behind it, between which everything can go wrong. */
export interface FaultyServer {
  sandbox: Sandbox;
  faulty: FaultyColab;
  /** Another client of the same server. */
  connect(options?: Partial<ColabOptions>): Promise<Sandbox>;
  /** Names of the sessions that are open. */
  sessions(): Promise<string[]>;
  close(): Promise<void>;
}

const settleMs = 2_000;
const cancelGraceMs = 500;

export async function startFaultyServer(
  options: Omit<ColabServerOptions, 'startRuntime'> = {},
): Promise<FaultyServer> {
  const limits = { cancelGraceMs, ...options.limits };
  const server = await startEmbeddedColab({ ...options, limits });
  const faulty = await FaultyColab.start(server);
  const signIn = {
    accessToken: () => Promise.resolve(server.token),
    refresh: () => undefined,
  };
  const connect = (more: Partial<ColabOptions> = {}): Promise<Sandbox> =>
    connectColab({ url: faulty.url, signIn, policy: quickly, settleMs, ...more });
  const sandbox = await connect();
  return {
    sandbox,
    faulty,
    connect,
    sessions: () => faulty.sessionsBehind(),
    async close() {
      await sandbox.close();
      await faulty[Symbol.asyncDispose]();
      await server.close();
    },
  };
}
