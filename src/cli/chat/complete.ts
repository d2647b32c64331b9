import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Completion } from './line-editor.js';
import { expandHome } from './mentions.js';

const MAX_CANDIDATES = 100;

/** Completes `/command`, `@path` and the paths that some commands take. */
export async function completeInput(
  before: string,
  commands: readonly string[],
): Promise<Completion> {
  const command = /^\/\S*$/.exec(before)?.[0];
  if (command !== undefined) {
    const candidates = commands.filter((name) => name.startsWith(command));
    return {
      candidates: candidates.length === 1 ? candidates.map((name) => `${name} `) : candidates,
      replaced: command,
    };
  }
  const path = /(?:^|\s)@"?([^\s"]*)$/.exec(before)?.[1] ?? pathArgument(before);
  return path === undefined
    ? { candidates: [], replaced: '' }
    : { candidates: await paths(path), replaced: path };
}

function pathArgument(before: string): string | undefined {
  return /^\/(?:attach|save)\s+(?:.*\s)?(\S*)$/s.exec(before)?.[1];
}

async function paths(start: string): Promise<string[]> {
  const slash = start.lastIndexOf('/') + 1;
  const folder = start.slice(0, slash);
  const begun = start.slice(slash);
  const entries = await readdir(expandHome(folder) || '.', { withFileTypes: true }).catch(() => []);
  return entries
    .filter(
      ({ name }) => name.startsWith(begun) && (begun.startsWith('.') || !name.startsWith('.')),
    )
    .map((entry) => join(folder, entry.name) + (entry.isDirectory() ? '/' : ''))
    .map((path) => (start.startsWith('./') ? `./${path}` : path))
    .sort()
    .slice(0, MAX_CANDIDATES);
}
