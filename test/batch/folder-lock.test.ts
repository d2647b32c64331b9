import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockFolder } from '../../src/batch/folder-lock.js';
import { ownIdentity } from '../../src/sandbox/process-identity.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lock-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** A lock of a process that had our id before us. */
async function leaveStaleLock(name = 'lock'): Promise<void> {
  const identity = { ...(await ownIdentity()), startedAt: 'in another life' };
  await writeFile(join(folder, name), JSON.stringify(identity));
}

describe('a locked folder', () => {
  it('is refused to a second one, by process id, until it is given back', async () => {
    const lock = await lockFolder(folder);
    await expect(lockFolder(folder)).rejects.toMatchObject({ code: 'BATCH_IN_USE' });
    await expect(lockFolder(folder)).rejects.toThrow(new RegExp(`Process ${process.pid} works`));
    await lock[Symbol.asyncDispose]();
    await using _ = await lockFolder(folder);
  });

  it('leaves nothing behind', async () => {
    await leaveStaleLock();
    const lock = await lockFolder(folder);
    expect(await readdir(folder)).toEqual(['lock']);
    await lock[Symbol.asyncDispose]();
    expect(await readdir(folder)).toEqual([]);
  });

  it('goes to exactly one of many where its process has gone', async () => {
    for (let round = 0; round < 20; round += 1) {
      await leaveStaleLock();
      const attempts = await Promise.allSettled(
        Array.from({ length: 8 }, () => lockFolder(folder)),
      );
      const locks = attempts.filter((each) => each.status === 'fulfilled');
      expect(locks).toHaveLength(1);
      await locks[0]?.value[Symbol.asyncDispose]();
    }
  });

  it('is refused where nobody can know whether its process lives', async () => {
    const identity = { ...(await ownIdentity()), machine: 'another' };
    await writeFile(join(folder, 'lock'), JSON.stringify(identity));
    await expect(lockFolder(folder)).rejects.toThrow(/another machine.*delete .*lock/);
    await writeFile(join(folder, 'lock'), 'no identity');
    await expect(lockFolder(folder)).rejects.toMatchObject({ code: 'BATCH_IN_USE' });
  });
});
