import type { LogLevel } from '../logger.js';
import type { CommandContext } from './command-context.js';
import { NOWHERE, Screen } from './render/screen.js';

/** Results go to standard output, all else to standard error; a program that reads JSON gets no text beside it. */
export function resultScreen(
  { logLevel }: { logLevel: LogLevel },
  { stdout, stderr, env }: Pick<CommandContext, 'stdout' | 'stderr' | 'env'>,
  isForPrograms = false,
): Screen {
  return new Screen({
    log: logLevel === 'silent' ? NOWHERE : stderr,
    text: isForPrograms ? NOWHERE : stdout,
    env,
  });
}
