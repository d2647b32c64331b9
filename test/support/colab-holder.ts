/** Connects to a Colab server with a ledger and opens a session, prints its name, and waits to be killed. */
import { connectColab } from '../../src/sandbox/colab/colab-sandbox.js';
import { fixedToken } from '../../src/sandbox/colab/sign-in.js';
import { Ledger } from '../../src/sandbox/ledger.js';

const [url = '', folder = '', accelerator = 'NONE'] = process.argv.slice(2);
const sandbox = await connectColab({
  url,
  signIn: fixedToken('secret-token-1234'),
  ledger: new Ledger({ folder }),
  accelerator,
});
const session = await sandbox.openSession();
process.stdout.write(`${session.name}\n`);
setInterval(() => undefined, 60_000);
