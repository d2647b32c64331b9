import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Session } from '../../src/sandbox/sandbox.js';
import type { Fault } from '../support/fault.js';
import type { FaultyServer } from './faulty-server.js';
import { startFaultyServer } from './faulty-server.js';

const limit = { timeoutMs: 120_000 };

let place: FaultyServer;
let session: Session;

beforeAll(async () => {
  place = await startFaultyServer();
  session = await place.sandbox.openSession();
});
afterAll(() => place.close());
beforeEach(() => {
  place.faulty.reset();
});

describe('situation 22: the file proxy answers 404', () => {
  it('since its token has ended: a new one is fetched, and the file comes', async () => {
    await session.uploadFile('kept.txt', Buffer.from('here'));
    place.faulty.expireProxyTokens();
    expect(Buffer.from(await session.downloadFile('kept.txt')).toString()).toBe('here');
    place.faulty.expireProxyTokens();
    await session.uploadFile('other.txt', Buffer.from('too'));
    expect((await session.execute('print(open("other.txt").read())', limit)).stdout).toBe('too\n');
  });

  it('since there is no such file: NOT_FOUND', async () => {
    await expect(session.downloadFile('nowhere.txt')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('situation 23: a big upload, into folders that are not there', () => {
  const content = Buffer.alloc(20_000_000, 'colab-solver 0123456789');
  const digest = createHash('sha256').update(content).digest('hex');
  const faults: (Fault | undefined)[][] = [
    [],
    [{ lose: 'hang-up', when: 'before' }],
    [undefined, undefined, undefined, { lose: 'hang-up', when: 'after' }],
    [undefined, undefined, undefined, { refuse: 'UNAVAILABLE', shape: 'http', when: 'after' }],
  ];

  it.each(faults.map((list, index) => [index, list] as const))(
    'arrives whole (faults %#)',
    async (index, list) => {
      const path = `made ${index}/on the way/big.bin`;
      place.faulty.fault('files', ...list);
      await session.uploadFile(path, content);
      const code = `import hashlib\nprint(hashlib.sha256(open("${path}", "rb").read()).hexdigest())`;
      expect((await session.execute(code, limit)).stdout).toBe(`${digest}\n`);
    },
  );

  it('and comes back whole though the connection is cut on the way', async () => {
    await session.uploadFile('back.bin', content);
    place.faulty.fault('files', { lose: 'cut', when: 'while' });
    const back = await session.downloadFile('back.bin');
    expect(createHash('sha256').update(back).digest('hex')).toBe(digest);
  });
});
