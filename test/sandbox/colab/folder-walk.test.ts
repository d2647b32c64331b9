import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectColab } from '../../../src/sandbox/colab/colab-sandbox.js';
import { fixedToken } from '../../../src/sandbox/colab/sign-in.js';
import type { Sandbox, Session } from '../../../src/sandbox/sandbox.js';
import type { EmbeddedColab } from '../../support/embedded-colab.js';
import { startEmbeddedColab } from '../../support/embedded-colab.js';
import { LONG_MS } from './connected.js';

let server: EmbeddedColab;
let sandbox: Sandbox;
let session: Session;

beforeAll(async () => {
  server = await startEmbeddedColab();
  sandbox = await connectColab({ url: server.url, signIn: fixedToken(server.token) });
  session = await sandbox.openSession();
});

afterAll(async () => {
  await sandbox.close();
  await server.close();
});

/** What is listed after a script in a folder that starts empty but for `kept.txt`. */
async function listedAfter(script: string): Promise<string[]> {
  const empty = `
import os, subprocess
subprocess.run("rm -rf -- *", shell=True)
open("kept.txt", "w").close()
here = os.getcwd()
`;
  const after = '\nos.chdir(here)';
  const result = await session.execute(empty + script + after, { timeoutMs: LONG_MS });
  expect(result).toMatchObject({ status: 'ok' });
  return (await session.listFiles()).map(({ path }) => path);
}

it.each([
  ['links back to where they lie', 'os.symlink(".", "one")\nos.symlink(".", "two")'],
  ['file names in no known encoding', 'open(b"bad\\xff.txt", "w").close()'],
  ['folders deeper than paths go', 'for _ in range(1500): os.mkdir("d"); os.chdir("d")'],
])('%s do not keep the files from being listed', async (_, script) => {
  expect(await listedAfter(script)).toEqual(['kept.txt']);
});

it('of more than can be wanted, the nearest files are listed', async () => {
  const script = `
for number in range(300):
    os.mkdir(f"{number:03}")
    open(f"{number:03}/inner.txt", "w").close()`;
  const listed = await listedAfter(script);
  expect(listed).toContain('kept.txt');
  expect(listed).toHaveLength(1 + 199);
});
