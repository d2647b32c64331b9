import { SandboxError } from '../errors.js';
import type { SandboxFile, Session } from '../sandbox/sandbox.js';
import type { ResultFile } from './events.js';

/** Files up to this many bytes in all are fetched with the result; of the others only name and size are known. */
const MAX_FETCHED_BYTES = 256 * 1024 * 1024;

/** The files of a working directory by path, as they were before scripts ran. */
export type FolderState = ReadonlyMap<string, SandboxFile>;

export async function folderState(session: Session, signal: AbortSignal): Promise<FolderState> {
  const files = await session.listFiles({ signal });
  return new Map(files.map((file) => [file.path, file]));
}

/** Fetches what is new or changed in the working directory, so that it outlives the session. */
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
  let fetchedBytes = 0;
  for (const file of made) {
    fetchedBytes += file.sizeBytes;
    const content =
      fetchedBytes <= MAX_FETCHED_BYTES
        ? await session.downloadFile(file.path, { signal })
        : undefined;
    files.push(resultFile(file, content));
  }
  return files;
}

function isChanged(before: SandboxFile | undefined, now: SandboxFile): boolean {
  return before?.sizeBytes !== now.sizeBytes || before.modifiedAt !== now.modifiedAt;
}

function resultFile(file: SandboxFile, content: Uint8Array | undefined): ResultFile {
  return {
    name: file.path,
    mimeType: mimeTypeOf(file.path),
    sizeBytes: file.sizeBytes,
    bytes() {
      if (content !== undefined) return Promise.resolve(content);
      return Promise.reject(
        new SandboxError(
          'CLOSED',
          `${file.path} was not fetched: the files of a result are kept up to ${MAX_FETCHED_BYTES / 1024 ** 2} MiB in all. ` +
            'Write smaller files, or fewer.',
        ),
      );
    },
  };
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
