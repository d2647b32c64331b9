import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Puts a shell script under `name` into `folder`. */
export async function writeProgram(folder: string, name: string, body: string): Promise<void> {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\n${body}\n`);
  await chmod(path, 0o755);
}

/** Does what `uv venv` does, without packages; the arguments are those that make_environment.py gives it. */
export const QUICK_UV = `
if [ "$1" = venv ]; then exec "$5" -m venv --without-pip "$6"; fi`;

/** Makes half an environment, then never ends. */
export const HANGING_UV = `
"$5" -m venv --without-pip "$6"
exec sleep "$SLEEP_SECONDS"`;

/** A Python that says of itself what is given. */
export function fakePython(answer: { version: string; missing?: string[] }): string {
  const probe = {
    path: '/fake/python3',
    implementation: 'CPython',
    isFreeThreaded: false,
    missing: [],
    ...answer,
  };
  return `echo '${JSON.stringify(probe)}'`;
}
