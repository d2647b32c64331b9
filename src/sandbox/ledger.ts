import { chmod, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ConfigError } from '../errors.js';
import { ASIDE, replaceFile } from '../replace-file.js';
import { livenessOf, ownIdentity, ProcessIdentitySchema } from './process-identity.js';
import type { ProcessIdentity } from './process-identity.js';

const sharedFields = {
  /** The MCP endpoint. */
  url: z.string(),
  /** The process that uses it; null where it gave up. */
  owner: ProcessIdentitySchema.nullable(),
  /** RFC 3339. */
  createdAt: z.iso.datetime(),
};

const SessionEntrySchema = z.object({
  ...sharedFields,
  kind: z.literal('session'),
  name: z.string().regex(/^runtimes\/[^/]+\/sessions\/cs-[\w-]+$/),
  /** Tells apart the sandboxes of one process. */
  holder: z.string(),
});
export type SessionEntry = z.infer<typeof SessionEntrySchema>;

const RuntimeEntrySchema = z.object({
  ...sharedFields,
  kind: z.literal('runtime'),
  name: z.string().regex(/^runtimes\/[^/]+$/),
  /** Of the create call, which has to be repeated as it was. */
  requestId: z.uuid(),
  runtimeSpec: z.looseObject({ variant: z.string(), accelerator: z.string(), shape: z.string() }),
  version: z.string().optional(),
  /** False until the server has said so. */
  isMade: z.boolean(),
});
export type RuntimeEntry = z.infer<typeof RuntimeEntrySchema>;

const EntrySchema = z.discriminatedUnion('kind', [SessionEntrySchema, RuntimeEntrySchema]);
export type LedgerEntry = z.infer<typeof EntrySchema>;

/** What stands in an entry beside its owner and time, which the ledger knows. */
export type Noted<Entry extends LedgerEntry> = Omit<Entry, 'owner' | 'createdAt'> &
  Partial<Pick<Entry, 'createdAt'>>;

export interface LedgerOptions {
  folder: string;
  /** Told once, where what we open cannot be noted; the run goes on. */
  onTrouble?: ((text: string) => void) | undefined;
  /** Milliseconds since 1970. */
  now?: () => number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Nothing on Colab lives as long; endpoints of other makers may never be visited again. */
const FORGET_AFTER_MS = 30 * DAY_MS;
/** A runtime of Colab lives a day at most, so by then an owner out of sight has nothing any more. */
const ELSEWHERE_MS = 2 * DAY_MS;
const ASIDE_MS = 60 * MINUTE_MS;

/**
 * The sessions and runtimes that processes of ours have opened, on disk: one small file each, written aside and renamed, so that
 * any number of processes may write at once and be killed at any moment. Entries hold names, never a token.
 */
export class Ledger {
  readonly folder: string;
  readonly #onTrouble: ((text: string) => void) | undefined;
  readonly #now: () => number;
  #hasTrouble = false;

  constructor({ folder, onTrouble, now = Date.now }: LedgerOptions) {
    this.folder = folder;
    this.#onTrouble = onTrouble;
    this.#now = now;
  }

  /** Notes something as this process's, before it is made or when more is known of it. Does not fail. */
  async note(entry: Noted<SessionEntry> | Noted<RuntimeEntry>): Promise<void> {
    await this.#keep(entry, await ownIdentity());
  }

  /** Leaves an entry to whoever comes next. Does not fail. */
  async disown(entry: Noted<SessionEntry> | Noted<RuntimeEntry>): Promise<void> {
    await this.#keep(entry, null);
  }

  /** Takes an entry out. Does not fail; one that is out already is fine. */
  async forget(entry: Noted<SessionEntry> | Noted<RuntimeEntry>): Promise<void> {
    await this.#bestEffort(() => rm(this.#pathOf(entry), { force: true }));
  }

  async forgetRuntime(url: string, name: string): Promise<void> {
    await this.#bestEffort(async () => {
      for (const entry of await this.entries()) {
        if (entry.kind === 'runtime' && entry.url === url && entry.name === name) {
          await this.forget(entry);
        }
      }
    });
  }

  /** @throws {ConfigError} where the folder cannot be read. */
  async entries(): Promise<LedgerEntry[]> {
    const names = await this.#names();
    const entries = await Promise.all(names.filter(isEntryName).map((name) => this.#read(name)));
    return entries.filter((entry) => entry !== undefined);
  }

  /** Whether the process that an entry belongs to has gone without taking it out. */
  async isLeftBehind(entry: LedgerEntry): Promise<boolean> {
    if (entry.owner === null) return true;
    const liveness = await livenessOf(entry.owner);
    return liveness === 'elsewhere' ? this.ageMs(entry) > ELSEWHERE_MS : liveness === 'gone';
  }

  ageMs({ createdAt }: LedgerEntry): number {
    return this.#now() - Date.parse(createdAt);
  }

  /** Takes out what nobody will come back to: very old entries, and files that were never finished. Does not fail. */
  async sweep(): Promise<void> {
    await this.#bestEffort(async () => {
      for (const entry of await this.entries()) {
        const isOld = this.ageMs(entry) > FORGET_AFTER_MS;
        if (isOld && (await this.isLeftBehind(entry))) await this.forget(entry);
      }
      for (const name of (await this.#names()).filter((file) => file.endsWith(ASIDE))) {
        const path = join(this.folder, name);
        const found = await stat(path).catch(() => undefined);
        const isStray = found !== undefined && this.#now() - found.mtimeMs > ASIDE_MS;
        if (isStray) await rm(path, { force: true });
      }
    });
  }

  async #keep(
    entry: Noted<SessionEntry> | Noted<RuntimeEntry>,
    owner: ProcessIdentity | null,
  ): Promise<void> {
    const whole = { createdAt: new Date(this.#now()).toISOString(), ...entry, owner };
    await this.#bestEffort(async () => {
      await mkdir(this.folder, { recursive: true, mode: 0o700 });
      await chmod(this.folder, 0o700);
      await replaceFile(this.#pathOf(entry), `${JSON.stringify(whole)}\n`, 0o600);
    });
  }

  #pathOf(
    entry: { kind: 'session'; name: string } | { kind: 'runtime'; requestId: string },
  ): string {
    const id = entry.kind === 'session' ? entry.name.split('/').at(-1) : entry.requestId;
    return join(this.folder, `${entry.kind}-${id ?? ''}.json`);
  }

  async #names(): Promise<string[]> {
    try {
      return await readdir(this.folder);
    } catch (cause) {
      if (hasCode(cause, 'ENOENT')) return [];
      throw new ConfigError(
        'UNREADABLE_FILE',
        `The ledger ${this.folder} cannot be read: ${(cause as Error).message}. Mend the folder, or set COLAB_SOLVER_HOME to another one.`,
        { cause },
      );
    }
  }

  /** Undefined where it was taken out meanwhile, or is of a form that this version does not know. */
  async #read(name: string): Promise<LedgerEntry | undefined> {
    try {
      const parsed: unknown = JSON.parse(await readFile(join(this.folder, name), 'utf8'));
      return EntrySchema.safeParse(parsed).data;
    } catch {
      return undefined;
    }
  }

  /** A ledger that cannot be kept must not keep anybody from working. */
  async #bestEffort(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#hasTrouble) return;
      this.#hasTrouble = true;
      this.#onTrouble?.(
        `Warning: what is opened cannot be noted in ${this.folder} (${(error as Error).message}), so a crash would leave it open. ` +
          'Mend the folder, or set COLAB_SOLVER_HOME to another one.',
      );
    }
  }
}

/** The ledger of everybody who keeps state in that folder. */
export function openLedger(stateFolder: string, onTrouble?: (text: string) => void): Ledger {
  return new Ledger({ folder: join(stateFolder, 'ledger'), onTrouble });
}

function isEntryName(name: string): boolean {
  return name.endsWith('.json');
}

function hasCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}
