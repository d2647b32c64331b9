import type { RuntimeKey } from './tool-results.js';

/** One accelerator of a wish, in upper case. */
interface Wanted {
  accelerator: string;
  /** Such as `HIGHMEM`; absent: any, the plain one first. */
  shape: string | undefined;
}

/** What somebody would like to have, the best first: `T4`, `L4:HIGHMEM`, `A100,L4,T4`, or `NONE` for a plain machine. */
export class AcceleratorWish {
  readonly text: string;
  readonly #wanted: readonly Wanted[];

  constructor(text: string) {
    this.text = text;
    this.#wanted = text.split(',').map(readWanted);
  }

  /** The place in the wish, from 0, of what this is; undefined where it is not wished for. */
  rankOf(key: RuntimeKey): number | undefined {
    const rank = this.#wanted.findIndex((wanted) => matches(key, wanted));
    return rank === -1 ? undefined : rank;
  }

  /** Those of the keys that are wished for, in the order in which to try them. */
  inOrder(keys: readonly RuntimeKey[]): RuntimeKey[] {
    const ordered = this.#wanted.flatMap((wanted) =>
      keys.filter((key) => matches(key, wanted)).sort((a, b) => sizeOf(a) - sizeOf(b)),
    );
    return [...new Set(ordered)];
  }

  /** What is wished for and none of the keys is. */
  missingFrom(keys: readonly RuntimeKey[]): string[] {
    return this.#wanted
      .filter((wanted) => !keys.some((key) => matches(key, wanted)))
      .map(({ accelerator, shape }) =>
        shape === undefined ? accelerator : `${accelerator}:${shape}`,
      );
  }
}

function readWanted(item: string): Wanted {
  const [accelerator = '', shape] = item.split(':').map((word) => word.trim().toUpperCase());
  return { accelerator, shape: shape?.replace(/^SHAPE_/, '') };
}

function matches(key: RuntimeKey, { accelerator, shape }: Wanted): boolean {
  return (
    key.accelerator.toUpperCase() === accelerator &&
    (shape === undefined || shapeOf(key).toUpperCase() === shape)
  );
}

/** Plain ones before those that cost more. */
function sizeOf(key: RuntimeKey): number {
  return key.shape === 'SHAPE_STANDARD' ? 0 : 1;
}

/** `STANDARD`, `HIGHMEM`. */
export function shapeOf(key: RuntimeKey): string {
  return key.shape.replace(/^SHAPE_/, '');
}

/** As people write it: `T4`, `L4:HIGHMEM`. */
export function specText(key: RuntimeKey): string {
  const isPlain = key.shape === 'SHAPE_STANDARD' || key.shape === 'SHAPE_UNSPECIFIED';
  return isPlain ? key.accelerator : `${key.accelerator}:${shapeOf(key)}`;
}
