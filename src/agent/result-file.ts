import { SandboxError } from '../errors.js';
import type { SandboxFile } from '../sandbox/execution.js';
import type { Session } from '../sandbox/sandbox.js';
import type { ResultFile } from './events.js';

/** Files up to this many bytes in all are fetched with the result; of the others only name and size are known. */
const MAX_FETCHED_BYTES = 256 * 1024 * 1024;

/** The files of a working directory by path, as they were before scripts ran. */
export type FolderState = ReadonlyMap<string, SandboxFile>;

export async function folderState(session: Session, signal: AbortSignal): Promise<FolderState> {
  const files = await session.listFiles({ signal });
  return new Map(files.map((file) => [file.path, file]));
}

/**
 * Fetches what is new or changed in the working directory, so that it outlives the session. A file that cannot be had,
 * such as a link that leads nowhere, says so when it is read; no answer is lost for it.
 */
export async function collectFiles(
  session: Session,
  before: FolderState,
  inputs: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<ResultFile[]> {
  const made = (await session.listFiles({ signal })).filter(
    (file) => !inputs.has(file.path) && isChanged(before.get(file.path), file),
  );
  const files: ResultFile[] = [];
  let room = MAX_FETCHED_BYTES;
  let failure: SandboxError | undefined;
  for (const file of made) {
    const refusal = failure ?? (file.sizeBytes > room ? tooLarge(file.path) : undefined);
    const content = refusal ?? (await download(session, file.path, signal));
    if (content instanceof Uint8Array) room -= content.length;
    // One that may pass has been waited for long enough: it concerns all files.
    else if (content.isRetryable) failure = content;
    files.push(resultFile(file, content));
  }
  return files;
}

/** The content, or why there is none. */
async function download(
  session: Session,
  path: string,
  signal: AbortSignal,
): Promise<Uint8Array | SandboxError> {
  try {
    return await session.downloadFile(path, { signal });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SandboxError) return error;
    throw error;
  }
}

function isChanged(before: SandboxFile | undefined, now: SandboxFile): boolean {
  return before?.sizeBytes !== now.sizeBytes || before.modifiedAt !== now.modifiedAt;
}

function resultFile(file: SandboxFile, content: Uint8Array | SandboxError): ResultFile {
  return {
    name: file.path,
    mimeType: mimeTypeOf(file.path),
    sizeBytes: content instanceof Uint8Array ? content.length : file.sizeBytes,
    bytes: () =>
      content instanceof Uint8Array ? Promise.resolve(content) : Promise.reject(content),
  };
}

function tooLarge(path: string): SandboxError {
  return new SandboxError(
    'CLOSED',
    `${path} was not fetched: the files of a result are kept up to ${MAX_FETCHED_BYTES / 1024 ** 2} MiB in all. ` +
      'Write smaller files, or fewer.',
  );
}

const MIME_TYPES: Record<string, string> = {
  csv: 'text/csv',
  gif: 'image/gif',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown',
  parquet: 'application/vnd.apache.parquet',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  tsv: 'text/tab-separated-values',
  txt: 'text/plain',
  webp: 'image/webp',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xml: 'text/xml',
  zip: 'application/zip',
};

function mimeTypeOf(path: string): string {
  return (
    MIME_TYPES[path.slice(path.lastIndexOf('.') + 1).toLowerCase()] ?? 'application/octet-stream'
  );
}
