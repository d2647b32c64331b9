import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { SandboxError } from '../../errors.js';
import { installerEnvironment } from './installer-environment.js';
import { pythonFile } from './python-folder.js';
import { findProgram } from './python-interpreter.js';

const EventSchema = z.discriminatedUnion('event', [
  z.object({ event: z.literal('progress'), text: z.string() }),
  z.object({ event: z.literal('done') }),
  z.object({
    event: z.literal('failed'),
    why: z.enum(['disk-full', 'not-writable', 'step-failed']),
    text: z.string(),
  }),
]);
type BuildEvent = z.infer<typeof EventSchema>;

export interface BuildOptions {
  /** The interpreter to build with. */
  pythonPath: string;
  folder: string;
  requirementsPath: string;
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Makes the environment, or waits for another process that is at it. What was begun is removed when it fails, when the
 * signal fires and when this process is killed.
 * @throws {SandboxError} `DISK_FULL`, `PYTHON_SETUP_FAILED`.
 */
export async function buildEnvironment(options: BuildOptions): Promise<void> {
  const { folder, signal, onProgress } = options;
  signal?.throwIfAborted();
  const uvPath = await findProgram('uv', options.env);
  const argv = [pythonFile('make_environment.py'), folder, options.requirementsPath];
  const builder = spawn(
    options.pythonPath,
    ['-I', '-B', ...argv, ...(uvPath === undefined ? [] : [uvPath])],
    {
      env: installerEnvironment(options.env),
      stdio: ['pipe', 'pipe', 'pipe'],
      // Ctrl-C in a terminal reaches us alone; the builder is told by the end of its input.
      detached: true,
    },
  );
  const giveUp = (): void => {
    builder.stdin.end();
  };
  signal?.addEventListener('abort', giveUp, { once: true });
  let last: BuildEvent | undefined;
  let stderr = '';
  builder.stdin.on('error', () => undefined);
  builder.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  createInterface(builder.stdout).on('line', (line) => {
    last = EventSchema.parse(JSON.parse(line));
    if (last.event === 'progress') onProgress(last.text);
  });
  let ending: unknown[];
  try {
    ending = await once(builder, 'close');
  } catch (cause) {
    throw toError(folder, { why: 'step-failed', text: String(cause) }, { cause });
  } finally {
    signal?.removeEventListener('abort', giveUp);
    builder.stdin.end();
  }
  if (last?.event === 'done') return;
  signal?.throwIfAborted();
  const [status, killedBy] = ending as [number | null, string | null];
  const text = `The builder ended with ${killedBy ?? `status ${status ?? 0}`}. ${stderr}`;
  throw toError(folder, last?.event === 'failed' ? last : { why: 'step-failed', text });
}

type FailedEvent = Extract<BuildEvent, { event: 'failed' }>;

function toError(
  folder: string,
  { why, text }: Pick<FailedEvent, 'why' | 'text'>,
  options?: { cause: unknown },
): SandboxError {
  const code = why === 'disk-full' ? 'DISK_FULL' : 'PYTHON_SETUP_FAILED';
  const message = `The Python environment could not be made in ${folder}${REMEDIES[why]}\n${text.trim()}`;
  return new SandboxError(code, message, options);
}

const REMEDIES: Record<FailedEvent['why'], string> = {
  'disk-full':
    ': the disk is full. Free a gigabyte there, or set XDG_CACHE_HOME to a folder on another disk.',
  'not-writable':
    ', which cannot be written. Set XDG_CACHE_HOME to one that can be, or name an interpreter that has the packages in COLAB_SOLVER_PYTHON.',
  'step-failed':
    ". Check the network (pip's own settings and proxies hold) and run the command again, or name an interpreter that has " +
    'the packages in COLAB_SOLVER_PYTHON.',
};
