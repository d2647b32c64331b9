import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** Where things are kept that can be made again: `$XDG_CACHE_HOME/colab-solver`, else the platform's place for such. */
export function cacheFolder(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): string {
  const named = env['XDG_CACHE_HOME'];
  // The XDG specification has relative paths ignored.
  if (named !== undefined && isAbsolute(named)) return join(named, 'colab-solver');
  const home = env['HOME'] ?? homedir();
  return join(
    home,
    ...(platform === 'darwin' ? ['Library', 'Caches'] : ['.cache']),
    'colab-solver',
  );
}
