/**
 * Carries a file up to a Colab server and back down, streamed, then prints by how many bytes the memory of this process was
 * larger at its peak than when it had connected and carried something small.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectColab } from '../../src/sandbox/colab/colab-sandbox.js';
import { fixedToken } from '../../src/sandbox/colab/sign-in.js';

const [url = '', token = '', folder = '', name = ''] = process.argv.slice(2);
const peakBytes = (): number => process.resourceUsage().maxRSS * 1024;

{
  await using sandbox = await connectColab({ url, signIn: fixedToken(token) });
  const session = await sandbox.openSession();
  await writeFile(join(folder, 'small'), Buffer.alloc(9 * 1024 * 1024));
  await session.uploadFile('small', { path: join(folder, 'small') });
  const before = peakBytes();
  await session.uploadFile(name, { path: join(folder, name) });
  await session.saveFile(name, join(folder, `${name}.back`));
  process.stdout.write(`${peakBytes() - before}\n`);
}
