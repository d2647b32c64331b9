import { SandboxError } from '../../errors.js';
import type { RetryPolicy } from '../../retry.js';
import type { SandboxFile } from '../execution.js';
import type { FileContent } from '../sandbox.js';
import { Download } from './download.js';
import type { Entry, FileCallOptions } from './file-channel.js';
import { FileChannel } from './file-channel.js';
import type { FileSink } from './file-sink.js';
import { DiskSink, MemorySink } from './file-sink.js';
import { openSource } from './file-source.js';
import { walkFolders } from './folder-walk.js';
import type { McpConnection } from './mcp-connection.js';
import { ProxyAccess } from './proxy-access.js';
import type { UploadOptions } from './upload.js';
import { sendFile } from './upload.js';

/** Scripts start in /content; its files are what a session's paths are relative to. */
const WORKING_DIRECTORY = 'content';

/** A runtime's files, through the file proxy that get_runtime tells of. */
export class RuntimeFiles {
  readonly #channel: FileChannel;

  constructor(connection: McpConnection, runtime: string, policy: RetryPolicy) {
    const access = new ProxyAccess(connection, runtime, policy);
    this.#channel = new FileChannel(access, runtime, policy);
  }

  async upload(path: string, content: FileContent, options: UploadOptions): Promise<void> {
    const segments = segmentsOf(path);
    await using source = await openSource(content);
    await this.#makeFolders(segments.slice(0, -1), options);
    await sendFile(this.#channel, encoded(segments), source, options);
  }

  async download(path: string, options: FileCallOptions): Promise<Uint8Array> {
    const sink = new MemorySink();
    await this.#receive(path, sink, options);
    return sink.bytes();
  }

  async save(path: string, target: string, options: FileCallOptions): Promise<void> {
    await using sink = await DiskSink.open(target);
    await this.#receive(path, sink, options);
    await sink.finish();
  }

  async list(options: FileCallOptions): Promise<SandboxFile[]> {
    const found = await walkFolders((folder) => this.#channel.list(encoded(folder), options));
    const files = found.map(({ path, entry }) => toFile(path, entry));
    return files.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  async #receive(path: string, sink: FileSink, { signal }: FileCallOptions): Promise<void> {
    const channel = this.#channel;
    await new Download({ channel, path: encoded(segmentsOf(path)), sink, signal }).run();
  }

  /** One level a request: the proxy makes no folder above. */
  async #makeFolders(folders: string[], options: FileCallOptions): Promise<void> {
    const { signal } = options;
    for (let depth = 1; depth <= folders.length; depth++) {
      const path = encoded(folders.slice(0, depth));
      await this.#channel.put(path, '{"type":"directory"}', { signal });
    }
  }
}

/** @throws {SandboxError} for a path that is absolute, empty or leaves the working directory. */
function segmentsOf(path: string): string[] {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.length > 0 && !path.startsWith('/') && !segments.includes('..')) return segments;
  throw new SandboxError(
    'INVALID_ARGUMENT',
    `"${path}" is not a path inside the working directory. Use a relative path such as data/table.csv.`,
  );
}

function encoded(segments: string[]): string {
  return [WORKING_DIRECTORY, ...segments].map(encodeURIComponent).join('/');
}

function toFile(path: string[], entry: Entry): SandboxFile {
  return {
    path: path.join('/'),
    sizeBytes: entry.size ?? 0,
    modifiedAt: entry.last_modified ?? new Date(0).toISOString(),
  };
}
