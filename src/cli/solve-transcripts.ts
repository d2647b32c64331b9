import { randomUUID } from 'node:crypto';
import { EventTranscript } from '../agent/event-transcript.js';
import type { RunEvent } from '../agent/events.js';
import type { RecordedRun } from '../agent/recorded-run.js';
import { ConfigError } from '../errors.js';
import { textOf } from '../parts/content.js';
import { checkTranscriptFile, saveTranscript } from '../transcript/transcript-file.js';

export interface TranscriptFlags {
  notebook?: string;
  save?: string;
  force?: boolean;
}

/** The transcripts that a run leaves, also where it does not come to its end. */
export class SolveTranscripts {
  readonly #paths: readonly string[];
  readonly #force: boolean;
  readonly #soFar = new EventTranscript();

  private constructor(paths: readonly string[], force: boolean) {
    this.#paths = paths;
    this.#force = force;
  }

  /** @throws {ConfigError} where one of them could not be saved, before anything is run. */
  static async open({ notebook, save, force = false }: TranscriptFlags): Promise<SolveTranscripts> {
    if (notebook !== undefined && !notebook.toLowerCase().endsWith('.ipynb')) {
      throw new ConfigError(
        'BAD_OPTION',
        `--notebook ${notebook} is no name of a notebook. Let it end in .ipynb, or use --save for other forms.`,
      );
    }
    const paths = [notebook, save].filter((path) => path !== undefined);
    for (const path of paths) await checkTranscriptFile(path, { force });
    return new SolveTranscripts(paths, force);
  }

  add(event: RunEvent): void {
    if (this.#paths.length > 0) this.#soFar.add(event);
  }

  /** Returns where they are now. */
  async save(run: RecordedRun): Promise<string[]> {
    const saved: string[] = [];
    for (const path of this.#paths) {
      saved.push(await saveTranscript(run, path, { force: this.#force }));
    }
    return saved;
  }

  /** What there is of a run that was cancelled or failed. */
  async saveCut(status: 'cancelled' | 'failed', reason: string): Promise<string[]> {
    const { contents, model } = this.#soFar;
    if (contents === undefined) return [];
    const prompt = textOf(contents[0]?.parts ?? []);
    return this.save({ id: randomUUID(), prompt, contents, metadata: { model, status, reason } });
  }
}
