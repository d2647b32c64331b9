import { connectColab } from '../../src/sandbox/colab/colab-sandbox.js';
import { fixedToken } from '../../src/sandbox/colab/sign-in.js';
import type { Sandbox } from '../../src/sandbox/sandbox.js';
import { startEmbeddedColab } from '../support/embedded-colab.js';
import { FaultyColab } from '../support/faulty-colab.js';
import { quickly } from './colab/connected.js';
import { describeSandbox } from './conformance.js';

/** How long a script that ignores its interrupt is waited for, by the server and by the client. */
const cancelGraceMs = 500;
const settleMs = 2_000;
/** Short, so that many a script outlives its stream. */
const streamingDeadlineMs = 400;

describeSandbox('the embedded server', async () => {
  const server = await startEmbeddedColab({ isolation: 'auto', limits: { cancelGraceMs } });
  const signIn = fixedToken(server.token);
  const sandbox = await connectColab({ url: server.url, signIn, settleMs });
  return closedWith(sandbox, [server]);
});

describeSandbox('a Colab server with every harmless oddity', async () => {
  const server = await startEmbeddedColab({ limits: { cancelGraceMs, streamingDeadlineMs } });
  const faulty = await FaultyColab.start(server, { isOdd: true });
  const signIn = fixedToken(server.token);
  const sandbox = await connectColab({ url: faulty.url, signIn, settleMs, policy: quickly });
  return closedWith(sandbox, [faulty, server]);
});

function closedWith(sandbox: Sandbox, servers: AsyncDisposable[]): Sandbox {
  const close = async (): Promise<void> => {
    await sandbox.close();
    for (const server of servers) await server[Symbol.asyncDispose]();
  };
  return {
    description: sandbox.description,
    openSession: (options) => sandbox.openSession(options),
    close,
    [Symbol.asyncDispose]: close,
  };
}
