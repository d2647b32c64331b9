import { z } from 'zod';
import { SandboxError } from '../../errors.js';
import type { JupyterApi } from './jupyter-api.js';
import { connectKernel } from './kernel-connection.js';
import type { KernelConnection } from './kernel-connection.js';

/** Jupyter's sessions have paths; those in this folder are ours, and start with it as their working directory. */
const FOLDER = 'content/';

const SessionSchema = z.looseObject({
  id: z.string(),
  path: z.string(),
  kernel: z.looseObject({ id: z.string(), execution_state: z.string().optional() }),
});
type JupyterSession = z.infer<typeof SessionSchema>;

/** The sessions of one Jupyter server, by our ids, each with the connection to its kernel. */
export class JupyterSessions {
  readonly #api: JupyterApi;
  readonly #connections = new Map<string, Promise<KernelConnection>>();

  constructor(api: JupyterApi) {
    this.#api = api;
  }

  /** Create-or-get; a session whose kernel died is replaced. Calls for one id share one session. */
  open(sessionId: string): Promise<KernelConnection> {
    const earlier = this.#connections.get(sessionId);
    const connection = this.#reopen(sessionId, earlier);
    this.#connections.set(sessionId, connection);
    return connection;
  }

  async #reopen(
    sessionId: string,
    earlier: Promise<KernelConnection> | undefined,
  ): Promise<KernelConnection> {
    const known = await earlier?.catch(() => undefined);
    if (known && !known.isLost) return known;
    let session = await this.#find(sessionId);
    // Whoever was told that a session is lost must not find half of it again.
    if (session && (known || isDead(session))) {
      await this.#api.call('DELETE', `/api/sessions/${session.id}`);
      session = undefined;
    }
    const { kernel } = session ?? (await this.#create(sessionId));
    return connectKernel({ api: this.#api, kernelId: kernel.id });
  }

  async #create(sessionId: string): Promise<JupyterSession> {
    const body = {
      path: `${FOLDER}${sessionId}`,
      name: sessionId,
      type: 'console',
      kernel: { name: 'python3' },
    };
    const { json } = await this.#api.call('POST', '/api/sessions', { body });
    return SessionSchema.parse(json);
  }

  async list(): Promise<string[]> {
    const sessions = await this.#all();
    return sessions.filter((session) => !isDead(session)).map(sessionIdOf);
  }

  async delete(sessionId: string): Promise<void> {
    const session = await this.#find(sessionId);
    if (session === undefined) {
      throw new SandboxError('NOT_FOUND', `There is no session ${sessionId}; list the sessions.`);
    }
    await this.#api.call('DELETE', `/api/sessions/${session.id}`);
    await this.#disconnect(sessionId, 'it was deleted');
  }

  /** Ends all connections, for the reason given. */
  async close(reason: string): Promise<void> {
    await Promise.all([...this.#connections.keys()].map((id) => this.#disconnect(id, reason)));
  }

  async #disconnect(sessionId: string, reason: string): Promise<void> {
    const connection = await this.#connections.get(sessionId)?.catch(() => undefined);
    this.#connections.delete(sessionId);
    connection?.close(reason);
  }

  async #find(sessionId: string): Promise<JupyterSession | undefined> {
    return (await this.#all()).find((session) => sessionIdOf(session) === sessionId);
  }

  async #all(): Promise<JupyterSession[]> {
    const { json } = await this.#api.call('GET', '/api/sessions');
    return z.array(SessionSchema).parse(json);
  }
}

function isDead(session: JupyterSession): boolean {
  return session.kernel.execution_state === 'dead';
}

function sessionIdOf(session: JupyterSession): string {
  return session.path.startsWith(FOLDER) ? session.path.slice(FOLDER.length) : session.id;
}
