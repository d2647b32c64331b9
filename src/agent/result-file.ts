import { writeFile } from 'node:fs/promises';
import { SandboxError } from '../errors.js';
import type { SandboxFile } from '../sandbox/execution.js';
import type { Session } from '../sandbox/sandbox.js';
import type { FileNote, ResultFile } from './events.js';
import { keepBytes, keepOnDisk } from './kept-content.js';
import type { KeptContent } from './kept-content.js';
import { placeFile } from './place-file.js';
import type { RunFiles } from './run-files.js';
import { noteOf } from './run-files.js';

/** Files up to this many bytes in all outlive the sandbox. */
export const DEFAULT_KEPT_BYTES = 1024 ** 3;
/** Larger ones go over the disk. */
const SMALL_BYTES = 1024 ** 2;
/** More does not fit into one piece of memory everywhere. */
const MOST_BYTES_IN_MEMORY = 2 * 1024 ** 3;

export interface FetchOptions {
  /** The run's own session; undefined where it has none. */
  session: Session | undefined;
  /** Lends a session for as long as `work` takes, once the run has given its own back. */
  lend: <T>(signal: AbortSignal, work: (session: Session) => Promise<T>) => Promise<T>;
  keptBytes: number;
  signal: AbortSignal;
}

/**
 * What a run made, so far as there is room fetched so that it outlives the session. A file that cannot be had, such as one
 * that is gone again, says so when it is read; no answer is lost for it.
 */
export async function collectFiles(files: RunFiles, options: FetchOptions): Promise<ResultFile[]> {
  const { session } = options;
  const { written, displays } = files.take();
  const results = displays.map(({ content, ...note }) => keptFile(note, content));
  let room = options.keptBytes;
  let failure: SandboxError | undefined;
  for (const file of written) {
    if (session === undefined || (failure === undefined && file.sizeBytes > room)) {
      results.push(distantFile(file, options));
      continue;
    }
    const content = failure ?? (await kept(file, session, options.signal));
    // One that may pass has been waited for long enough: it concerns all files.
    if (content instanceof SandboxError && content.isRetryable) failure = content;
    if (!(content instanceof SandboxError)) room -= content.sizeBytes;
    results.push(
      content instanceof SandboxError
        ? absentFile(noteOf(file), content)
        : keptFile({ ...noteOf(file), sizeBytes: content.sizeBytes }, content),
    );
  }
  return results.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The content, or why there is none. */
async function kept(
  { path, sizeBytes }: SandboxFile,
  session: Session,
  signal: AbortSignal,
): Promise<KeptContent | SandboxError> {
  try {
    if (sizeBytes <= SMALL_BYTES)
      return await keepBytes(await session.downloadFile(path, { signal }));
    return await keepOnDisk((target) => session.saveFile(path, target, { signal }));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SandboxError) return error;
    throw error;
  }
}

function keptFile(note: FileNote, content: KeptContent): ResultFile {
  return {
    ...note,
    bytes: () => content.bytes(),
    saveTo: (path, { force = false, signal } = {}) =>
      placeFile(
        path,
        (unfinished) => writeFile(unfinished, content.pieces(), signal && { signal }),
        { force },
      ),
  };
}

function absentFile(note: FileNote, error: SandboxError): ResultFile {
  const fail = (): Promise<never> => Promise.reject(error);
  return { ...note, bytes: fail, saveTo: fail };
}

/** One that stays where it is until it is asked for. */
function distantFile(file: SandboxFile, { lend }: FetchOptions): ResultFile {
  const note = noteOf(file);
  const never = new AbortController().signal;
  return {
    ...note,
    bytes() {
      if (file.sizeBytes > MOST_BYTES_IN_MEMORY) return Promise.reject(tooLarge(note));
      return lend(never, (session) => session.downloadFile(file.path, { signal: never }));
    },
    saveTo: (path, { force = false, signal = never } = {}) =>
      placeFile(
        path,
        (unfinished) =>
          lend(signal, (session) => session.saveFile(file.path, unfinished, { signal })),
        { force },
      ),
  };
}

function tooLarge({ name, sizeBytes }: FileNote): SandboxError {
  return new SandboxError(
    'INVALID_ARGUMENT',
    `${name} is too large for memory (${sizeBytes} bytes). Use saveTo, which writes it to a file.`,
  );
}
