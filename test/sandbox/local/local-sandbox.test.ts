import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { ConfigError } from '../../../src/errors.js';
import { openLocalSandbox } from '../../../src/sandbox/local/local-sandbox.js';

afterEach(() => {
  vi.unstubAllEnvs();
});

test('isolation that is required and not to be had is said as the caller’s affair, with the remedy', async () => {
  const env = { ...process.env };
  vi.stubEnv('PATH', await mkdtemp(join(tmpdir(), 'no-programs-')));
  const opening = openLocalSandbox({ env, isolation: 'required', allowNetwork: false });
  await expect(opening).rejects.toBeInstanceOf(ConfigError);
  await expect(opening).rejects.toMatchObject({
    code: 'ISOLATION_UNAVAILABLE',
    message: expect.stringMatching(/bubblewrap.*--isolation none/s) as string,
  });
});
