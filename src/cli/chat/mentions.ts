import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';

/** `@path`, or `@"path with blanks"`, at the start of a word. */
const MENTION = /(^|\s)@(?:"([^"\n]+)"|([^\s"]+))/g;

export interface Mentions {
  /** The text as the model gets it: a file by its name in the working directory. */
  text: string;
  paths: string[];
}

/** Files that a message attaches. A word with an @ that is no file, such as a decorator, is left as it is. */
export function readMentions(message: string): Mentions {
  const paths: string[] = [];
  const text = message.replace(MENTION, (all, blank: string, quoted?: string, plain?: string) => {
    const found = existing(quoted ?? plain ?? '');
    if (found === undefined) return all;
    paths.push(found.path);
    return `${blank}${basename(found.path)}${found.rest}`;
  });
  return { text, paths };
}

/** A path may be followed by the sentence's own punctuation. */
function existing(word: string): { path: string; rest: string } | undefined {
  for (const rest of ['', /[.,;:!?)\]}'"]+$/.exec(word)?.[0] ?? '']) {
    const path = expandHome(word.slice(0, word.length - rest.length));
    if (isFile(path)) return { path, rest };
  }
  return undefined;
}

export function expandHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
