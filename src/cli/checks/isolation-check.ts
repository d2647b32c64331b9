import { checkBubblewrap } from '../../sandbox/local/isolation.js';
import type { Check } from './check.js';

export async function checkIsolation(): Promise<Check> {
  const { isAvailable, reason } = await checkBubblewrap();
  const check = { name: 'Isolation', isRequired: false };
  if (isAvailable) {
    const found =
      'bubblewrap works: scripts get no network, a read-only system and their own folders';
    return { ...check, state: 'ok', found };
  }
  return {
    ...check,
    state: 'failed',
    found: `none, since ${reason}: local scripts can use your files and the network`,
    remedy:
      process.platform === 'linux'
        ? 'Install bubblewrap (apt install bubblewrap, dnf install bubblewrap) and allow user namespaces.'
        : 'Use a Linux machine, or --sandbox colab, for scripts you do not trust.',
  };
}
