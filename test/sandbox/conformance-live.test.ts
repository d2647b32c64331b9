import { describe, it } from 'vitest';
import { resolveSandboxConfig } from '../../src/config.js';
import { signIn } from '../../src/sandbox/colab/sign-in.js';
import { openSandbox } from '../../src/solver.js';
import { describeSandbox } from './conformance.js';

/** Costs quota, so it is asked for by `npm run test:live` and never runs beside the other tests. */
const isWanted = process.env['COLAB_SOLVER_LIVE'] === '1';

if (isWanted && (await canSignIn())) {
  describeSandbox('Google Colab', () => openSandbox(resolveSandboxConfig({ sandbox: 'colab' })));
} else {
  describe.skip('Google Colab', () => {
    it('is asked for by `npm run test:live`, and needs credentials');
  });
}

async function canSignIn(): Promise<boolean> {
  try {
    return (await signIn().accessToken()) !== '';
  } catch {
    return false;
  }
}
