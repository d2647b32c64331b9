import type { HttpAnswer } from '../../loopback-fetch.js';
import { abortable } from '../../abort.js';
import { SandboxError } from '../../errors.js';
import type { RetryPolicy } from '../../retry.js';
import { isSafeUrl } from '../../safe-url.js';
import { HttpRefusal } from '../failure.js';
import { callSafely } from './call-safely.js';
import type { GuardedRequest } from './guarded-fetch.js';
import { guardedFetch } from './guarded-fetch.js';
import type { McpConnection } from './mcp-connection.js';
import type { RateLimiter } from './rate-limiter.js';
import { limiterFor } from './rate-limiter.js';
import type { ConnectionInfo } from './tool-results.js';
import { RuntimeSchema } from './tool-results.js';

/** A token lives about an hour; a new one is fetched this long before its end. */
const RENEW_BEFORE_MS = 300_000;
/** Clocks can be set wrong, and a server may hand out the old token again; then it is asked this often only. */
const RENEW_EVERY_MS = 60_000;
const ASK_MS = 120_000;

/** The way to a runtime's file proxy: its address and its token, which is renewed and never told to anybody else. */
export class ProxyAccess {
  readonly #connection: McpConnection;
  readonly #runtime: string;
  readonly #policy: RetryPolicy;
  #asked: Promise<ConnectionInfo> | undefined;
  #askedInVainAtMs = -Infinity;
  #limiter: RateLimiter | undefined;

  constructor(connection: McpConnection, runtime: string, policy: RetryPolicy) {
    this.#connection = connection;
    this.#runtime = runtime;
    this.#policy = policy;
  }

  /** False where retries have become a storm. */
  takeRetry(): boolean {
    return this.#limiter?.takeRetry() ?? true;
  }

  /**
   * A token that has ended looks like a missing file: 404. So that answer is believed only where the token opens the folder
   * above, or is a new one.
   * @param target below the proxy's address, such as `files/content/a.csv`.
   * @throws {HttpRefusal}, or as `fetch`; {@link SandboxError} where there is no address.
   */
  async request(
    target: string,
    request: GuardedRequest,
    signal: AbortSignal | undefined,
  ): Promise<HttpAnswer> {
    const info = await this.#current(signal);
    try {
      return await this.#fetch(info, target, request, signal);
    } catch (error) {
      if (!mayBeTheToken(error)) throw error;
      const isGood = !isNearItsEnd(info) && (await this.#opensFolderAbove(info, target, signal));
      if (isGood) throw error;
      return await this.#fetch(await this.#renewed(info, signal), target, request, signal);
    }
  }

  async #opensFolderAbove(
    info: ConnectionInfo,
    target: string,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const folder = folderAbove(target);
    if (folder === undefined) return false;
    const request = { method: 'GET', headers: {} };
    try {
      const listing = await this.#fetch(info, `api/contents/${folder}?content=1`, request, signal);
      await listing.body?.cancel();
      return true;
    } catch (error) {
      if (mayBeTheToken(error)) return false;
      throw error;
    }
  }

  async #current(signal: AbortSignal | undefined): Promise<ConnectionInfo> {
    this.#asked ??= this.#ask();
    const info = await abortable(this.#asked, signal);
    if (!endsWithin(info, RENEW_BEFORE_MS)) return info;
    if (performance.now() - this.#askedInVainAtMs < RENEW_EVERY_MS) return info;
    const renewed = await this.#renewed(info, signal);
    if (endsWithin(renewed, RENEW_BEFORE_MS)) this.#askedInVainAtMs = performance.now();
    return renewed;
  }

  /** Many requests may find the same token ended; one of them asks for the next. */
  async #renewed(old: ConnectionInfo, signal: AbortSignal | undefined): Promise<ConnectionInfo> {
    const asked = this.#asked;
    const latest = await asked?.catch(() => undefined);
    const isOld = latest === undefined || latest === old;
    if (isOld && this.#asked === asked) this.#asked = this.#ask();
    this.#asked ??= this.#ask();
    return await abortable(this.#asked, signal);
  }

  /** Not bound to the caller's signal, since others may wait for it, too. */
  #ask(): Promise<ConnectionInfo> {
    const asked = this.#askServer();
    asked.catch(() => {
      if (this.#asked === asked) this.#asked = undefined;
    });
    return asked;
  }

  async #askServer(): Promise<ConnectionInfo> {
    const name = this.#runtime;
    const signal = AbortSignal.timeout(ASK_MS);
    const options = { policy: this.#policy, signal, on: name };
    const schema = RuntimeSchema;
    const runtime = await callSafely(this.#connection, 'get_runtime', { name }, schema, options);
    if (runtime.connectionInfo !== undefined) return runtime.connectionInfo;
    throw new SandboxError(
      'UNAVAILABLE',
      `get_runtime on ${name} names no address for its files. The runtime may still be starting; try again.`,
      { isRetryable: true },
    );
  }

  async #fetch(
    info: ConnectionInfo,
    target: string,
    request: GuardedRequest,
    signal: AbortSignal | undefined,
  ): Promise<HttpAnswer> {
    const url = new URL(`${proxyAddress(info)}/${target}`);
    this.#limiter = limiterFor(new URL(url.origin), this.#policy);
    const headers = { ...request.headers, 'x-colab-runtime-proxy-token': info.token };
    const guarded = { ...request, headers, signal, secret: info.token };
    return this.#limiter.run(() => guardedFetch(url, guarded), signal);
  }
}

/** @throws {SandboxError} unless the token travels over https, or stays on this machine. */
function proxyAddress({ url }: ConnectionInfo): string {
  if (URL.canParse(url) && isSafeUrl(new URL(url))) return url.replace(/\/$/, '');
  const named = URL.canParse(url) ? new URL(url).origin : 'something else';
  throw new SandboxError(
    'NOT_COLAB',
    `get_runtime names ${named} for a runtime's files, which is no https address. Check that the server is Colab's.`,
  );
}

function mayBeTheToken(error: unknown): boolean {
  return error instanceof HttpRefusal && [401, 403, 404].includes(error.status);
}

function isNearItsEnd(info: ConnectionInfo): boolean {
  return info.expireTime === '' || endsWithin(info, 2 * RENEW_BEFORE_MS);
}

function endsWithin(info: ConnectionInfo, ms: number): boolean {
  const end = Date.parse(info.expireTime);
  return !Number.isNaN(end) && end - Date.now() < ms;
}

/** The folder that holds what `target` names; undefined above the working directory, which is always there. */
function folderAbove(target: string): string | undefined {
  const path = target.replace(/^(files|api\/contents)\//, '').replace(/\?.*$/, '');
  const end = path.lastIndexOf('/');
  return end === -1 ? undefined : path.slice(0, end);
}
