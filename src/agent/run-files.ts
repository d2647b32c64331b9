import { displayFile } from '../parts/display.js';
import type { RichOutput, SandboxFile } from '../sandbox/execution.js';
import type { FileNote } from './events.js';
import { keepBytes } from './kept-content.js';
import type { KeptContent } from './kept-content.js';
import { mimeTypeOf } from './mime-type.js';

/** Displays are small, as a rule; a run that makes more than this keeps the first ones. */
const MOST_DISPLAY_BYTES = 512 * 1024 * 1024;
const MOST_DISPLAYS = 1_000;

/** The files of a run: noted after each script, fetched at the end. */
export class RunFiles {
  readonly #isInput: (name: string) => boolean;
  #written = new Map<string, SandboxFile>();
  #displays: (FileNote & { content: KeptContent })[] = [];
  #displayCount = 0;
  #displayBytes = 0;

  /** @param isInput Whether a file is the caller's own, and so no result. */
  constructor(isInput: (name: string) => boolean = () => false) {
    this.#isInput = isInput;
  }

  /** Notes what a script wrote; returns what of it is a result. */
  addWritten(files: readonly SandboxFile[]): FileNote[] {
    const made = files.filter(({ path }) => !this.#isInput(path));
    for (const file of made) this.#written.set(file.path, file);
    return made.map(noteOf);
  }

  /** Keeps what a script displayed under names of their own; `refused` counts what there is no room for. */
  async addDisplays(
    outputs: readonly RichOutput[],
  ): Promise<{ kept: FileNote[]; refused: number }> {
    const kept: FileNote[] = [];
    let refused = 0;
    for (const output of outputs) {
      const file = displayFile(output);
      if (file === undefined) continue;
      if (this.#isFull(file.bytes)) {
        refused += 1;
        continue;
      }
      const { mimeType } = file;
      const name = this.#freeName(file.extension);
      const note = { name, mimeType, sizeBytes: file.bytes.length };
      this.#displayBytes += file.bytes.length;
      this.#displays.push({ ...note, content: await keepBytes(file.bytes) });
      kept.push(note);
    }
    return { kept, refused };
  }

  /** All noted since the last call: written files by path, and displays in order. */
  take(): { written: SandboxFile[]; displays: (FileNote & { content: KeptContent })[] } {
    const written = [...this.#written.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
    const displays = this.#displays;
    this.#written = new Map();
    this.#displays = [];
    return { written, displays };
  }

  #isFull(bytes: Uint8Array): boolean {
    return (
      this.#displayCount >= MOST_DISPLAYS || this.#displayBytes + bytes.length > MOST_DISPLAY_BYTES
    );
  }

  #freeName(extension: string): string {
    for (;;) {
      this.#displayCount += 1;
      const name = `display-${this.#displayCount}.${extension}`;
      if (!this.#isInput(name) && !this.#written.has(name)) return name;
    }
  }
}

export function noteOf({ path, sizeBytes }: SandboxFile): FileNote {
  return { name: path, mimeType: mimeTypeOf(path), sizeBytes };
}
