import { randomUUID } from 'node:crypto';

/** RFC 1034: 1 to 63 lower-case letters, digits and hyphens; a letter first, no hyphen last. */
const ID = '[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?';

export const RESOURCE_ID = new RegExp(`^${ID}$`);
export const RUNTIME_NAME = new RegExp(`^runtimes/(${ID})$`);
export const SESSION_NAME = new RegExp(`^(runtimes/${ID})/sessions/(${ID})$`);

/** A random UUID that is also a resource id, so one that begins with a letter. */
export function randomResourceId(): string {
  for (;;) {
    const id = randomUUID();
    if (RESOURCE_ID.test(id)) return id;
  }
}

/** The parts of a name that has been checked against {@link SESSION_NAME}. */
export function splitSessionName(name: string): { runtime: string; sessionId: string } {
  const [, runtime = '', sessionId = ''] = SESSION_NAME.exec(name) ?? [];
  return { runtime, sessionId };
}
