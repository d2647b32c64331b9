import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

/**
 * Where things are kept that cannot be made again: `COLAB_SOLVER_HOME`, else `$XDG_STATE_HOME/colab-solver`, else the
 * platform's place for such.
 */
export function stateFolder(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): string {
  const own = env['COLAB_SOLVER_HOME'];
  if (own !== undefined && own !== '') return resolve(own);
  const named = env['XDG_STATE_HOME'];
  // The XDG specification has relative paths ignored.
  if (named !== undefined && isAbsolute(named)) return join(named, 'colab-solver');
  const home = env['HOME'] || homedir();
  return join(
    home,
    ...(platform === 'darwin' ? ['Library', 'Application Support'] : ['.local', 'state']),
    'colab-solver',
  );
}
