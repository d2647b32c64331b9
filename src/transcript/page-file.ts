import { readFileSync } from 'node:fs';

/** A style or script that pages of ours carry within them, from the folder `pages/` of the package. */
export function pageFile(name: string): string {
  return readFileSync(new URL(`../../pages/${name}`, import.meta.url), 'utf8');
}
