import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { SandboxError } from '../../errors.js';
import type { ExecutionResult } from '../execution.js';

/** Beside `src` and `dist` alike. */
const SOURCE = new URL('../../../python/file_check.py', import.meta.url);

/** What a file holds, as far as two of them can be told apart. */
const FileDigestSchema = z.object({ sizeBytes: z.number(), sha256: z.string() });
export type FileDigest = z.infer<typeof FileDigestSchema>;

/** Python that looks at the file from where scripts will read it; leaves no name behind. */
export function fileCheckCode(path: string): string {
  const source = readFileSync(SOURCE, 'utf8');
  return `exec(compile(${JSON.stringify(source)}, '<file check>', 'exec'), {'__name__': 'file_check', 'path': ${JSON.stringify(path)}})`;
}

/**
 * What the check saw; undefined where there is no such file.
 * @throws {SandboxError} where the check itself went wrong.
 */
export function seenFile(result: ExecutionResult, path: string): FileDigest | undefined {
  const lastLine = result.stdout.trimEnd().split('\n').at(-1) ?? '';
  if (result.status === 'ok' && lastLine === 'null') return undefined;
  try {
    return FileDigestSchema.parse(JSON.parse(lastLine));
  } catch (cause) {
    const why =
      result.status === 'failed' ? `${result.error.name}: ${result.error.value}` : result.status;
    throw new SandboxError(
      'UNKNOWN',
      `Whether ${path} arrived whole cannot be checked in its session (${why}). Upload it again, into a fresh session.`,
      { cause },
    );
  }
}
