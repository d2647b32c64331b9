import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '../../errors.js';

/**
 * Lets the user write in `$VISUAL`, else `$EDITOR`, else `vi`, and returns the text without blank lines at its end.
 * @throws {ConfigError} where there is no such editor, or it failed.
 */
export async function editText(text: string, env: NodeJS.ProcessEnv): Promise<string> {
  const editor = env['VISUAL'] || env['EDITOR'] || 'vi';
  const folder = await mkdtemp(join(tmpdir(), 'colab-solver-'));
  const path = join(folder, 'message.md');
  try {
    await writeFile(path, text, { mode: 0o600 });
    // The variable may hold arguments, which is the shell's to read.
    const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', path], { stdio: 'inherit' });
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`it ended with ${code ?? 'a signal'}`);
    return (await readFile(path, 'utf8')).trimEnd();
  } catch (cause) {
    throw new ConfigError(
      'BAD_OPTION',
      `The editor ${editor} could not be used: ${cause instanceof Error ? cause.message : String(cause)}. Set EDITOR to another one.`,
      { cause },
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
