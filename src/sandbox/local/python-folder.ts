import { fileURLToPath } from 'node:url';

/** The package's `python/` folder; as far from `src/` as from `dist/`. */
export const pythonFolder = fileURLToPath(new URL('../../../python', import.meta.url));

export function pythonFile(name: string): string {
  return `${pythonFolder}/${name}`;
}
