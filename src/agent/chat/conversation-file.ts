import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../../errors.js';
import { ConversationLineSchema } from './conversation-line.js';
import type { ConversationLine } from './conversation-line.js';

const ENDING = '.jsonl';
const ID = /^[\w-]+$/;

/** A conversation on disk, newest first in lists. */
export interface StoredConversation {
  id: string;
  path: string;
  /** Milliseconds since 1970. */
  changedAt: number;
}

export function conversationsFolder(stateFolder: string): string {
  return join(stateFolder, 'conversations');
}

/** The stored conversations, the one that was changed last first. */
export function storedConversations(folder: string): StoredConversation[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(ENDING))
    .map((name) => {
      const path = join(folder, name);
      return { id: name.slice(0, -ENDING.length), path, changedAt: statSync(path).mtimeMs };
    })
    .sort((a, b) => b.changedAt - a.changedAt);
}

/**
 * The lines of a stored conversation. What a crash left half-written is passed over.
 * @throws {ConfigError} `UNREADABLE_FILE` where there is no such conversation, or none at all.
 */
export function readConversation(folder: string, id: string): ConversationLine[] {
  return readFileSync(pathOf(folder, id), 'utf8').split('\n').flatMap(parseLine);
}

function parseLine(text: string): ConversationLine[] {
  try {
    const parsed = ConversationLineSchema.safeParse(JSON.parse(text));
    return parsed.success ? [parsed.data] : [];
  } catch {
    return [];
  }
}

/** @throws {ConfigError} `UNREADABLE_FILE`. */
export function resolveConversation(folder: string, wanted: string): string {
  const stored = storedConversations(folder);
  const found =
    wanted === 'latest' ? stored[0] : stored.find(({ id }) => id === wanted || id.endsWith(wanted));
  if (found !== undefined) return found.id;
  const known = stored.slice(0, 5).map(({ id }) => id);
  throw new ConfigError(
    'UNREADABLE_FILE',
    known.length === 0
      ? `There is no conversation to resume in ${folder}. Begin one without --resume.`
      : `There is no conversation "${wanted}" in ${folder}. The latest are: ${known.join(', ')}.`,
  );
}

function pathOf(folder: string, id: string): string {
  return join(folder, `${id}${ENDING}`);
}

/**
 * The file of a conversation that goes on: lines are appended and never changed, so that a crash loses at most the line
 * being written. One process has it at a time. Only its owner may read it.
 */
export class ConversationFile implements Disposable {
  readonly path: string;
  readonly #lock: string;
  #descriptor: number | undefined;

  /** @throws {ConfigError} `BAD_OPTION` where another process has it open; as the file system does. */
  constructor(folder: string, id: string) {
    if (!ID.test(id)) throw new ConfigError('BAD_OPTION', `"${id}" is no id of a conversation.`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.path = pathOf(folder, id);
    this.#lock = `${this.path}.lock`;
    lock(this.#lock, id);
    this.#descriptor = openSync(this.path, 'a+', 0o600);
    if (!endsWithNewline(this.#descriptor)) writeSync(this.#descriptor, '\n');
  }

  append(line: ConversationLine): void {
    if (this.#descriptor === undefined) return;
    writeSync(this.#descriptor, `${JSON.stringify(line)}\n`);
    // What ends a turn should outlive a power cut too; the rest outlives the process.
    if (line.type === 'turn-end') fdatasyncSync(this.#descriptor);
  }

  [Symbol.dispose](): void {
    if (this.#descriptor === undefined) return;
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
    rmSync(this.#lock, { force: true });
  }
}

function endsWithNewline(descriptor: number): boolean {
  const { size } = fstatSync(descriptor);
  if (size === 0) return true;
  const last = Buffer.alloc(1);
  readSync(descriptor, last, 0, 1, size - 1);
  return last[0] === 0x0a;
}

/** A lock whose process has gone is taken over; written aside and linked, so that it is never seen empty. */
function lock(path: string, id: string): void {
  const aside = `${path}.${process.pid}`;
  writeFileSync(aside, String(process.pid), { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      try {
        linkSync(aside, path);
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        if (attempt === 0 && !isHeld(path)) rmSync(path, { force: true });
      }
    }
  } finally {
    rmSync(aside, { force: true });
  }
  throw new ConfigError(
    'BAD_OPTION',
    `The conversation ${id} is open in another process. Close it there first; if it is not, delete ${path}.`,
  );
}

function isHeld(path: string): boolean {
  try {
    const pid = Number(readFileSync(path, 'utf8'));
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
