/**
 * The class of the exception an error text ends with, without its module; undefined where none is named.
 * IPython's traceback names it in its heading, Python's in the last line that is not indented, which
 * further lines of the message may follow.
 */
export function exceptionName(output: string): string | undefined {
  const heading = lastMatch(output, /^([A-Za-z_][\w.]*) +Traceback \(most recent call last\)/gm);
  const usual =
    /^((?:\w+\.)*\w*(?:Error|Exception|Warning|Interrupt|Exit|Iteration|Group))(?::|$)/gm;
  const name = heading ?? lastMatch(output, usual) ?? lastMatch(output, /^([A-Za-z_][\w.]*): /gm);
  return name === undefined ? undefined : withoutModule(name);
}

function lastMatch(text: string, pattern: RegExp): string | undefined {
  return [...text.matchAll(pattern)].at(-1)?.[1];
}

function withoutModule(name: string): string {
  return name.split('.').at(-1) ?? name;
}
