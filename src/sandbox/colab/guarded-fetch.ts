import { ConfigError } from '../../errors.js';
import { HttpRefusal } from '../failure.js';

export interface GuardedRequest {
  method: string;
  headers: Record<string, string>;
  body?: string | undefined;
  signal?: AbortSignal | undefined;
}

const MAX_REDIRECTS = 3;

/**
 * `fetch` that waits as long as the answer takes, follows redirects within the origin only, so that no credential
 * leaves it, and throws {@link HttpRefusal} for every answer that is not 2xx.
 */
export async function guardedFetch(url: URL, request: GuardedRequest): Promise<Response> {
  let target = url;
  for (let redirects = 0; ; redirects++) {
    const response = await fetch(target, { ...withoutTimeLimits(request), redirect: 'manual' });
    if (response.ok) return response;
    const next = redirectTarget(response, target);
    const body = await response.text();
    if (next === undefined || next.origin !== url.origin || redirects === MAX_REDIRECTS) {
      throw new HttpRefusal(response, body);
    }
    target = next;
  }
}

/** Only the redirects that keep method and body. */
function redirectTarget(response: Response, from: URL): URL | undefined {
  const location = response.headers.get('location');
  if (location === null || (response.status !== 307 && response.status !== 308)) return undefined;
  return URL.canParse(location, from.href) ? new URL(location, from.href) : undefined;
}

interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

/** Node's fetch gives up after 300 s without headers or data; a script may be silent for longer. */
const patientDispatcher: Dispatcher = {
  dispatch(options, handler) {
    return globalDispatcher().dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler);
  },
};

function globalDispatcher(): Dispatcher {
  const known = globalThis as unknown as Record<symbol, Dispatcher | undefined>;
  const dispatcher =
    known[Symbol.for('undici.globalDispatcher.1')] ??
    known[Symbol.for('undici.globalDispatcher.2')];
  if (dispatcher === undefined) throw new TypeError('fetch has no dispatcher');
  return dispatcher;
}

function withoutTimeLimits(request: GuardedRequest): RequestInit {
  const init: RequestInit & { dispatcher?: unknown } = {
    method: request.method,
    headers: request.headers,
    body: request.body ?? null,
    signal: request.signal ?? null,
  };
  return Object.assign(init, { dispatcher: patientDispatcher });
}

/** Credentials travel over https, or stay on this machine. */
export function isSafe(url: URL): boolean {
  const isLoopback = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback);
}

/** @throws {ConfigError} */
export function requireSafeUrl(value: string, what: string): URL {
  if (!URL.canParse(value)) {
    throw new ConfigError(
      'BAD_URL',
      `${what} is not a URL: ${value}. Write it as https://host/path.`,
    );
  }
  const url = new URL(value);
  if (isSafe(url)) return url;
  throw new ConfigError(
    'BAD_URL',
    `${what} must be https, but is ${url.protocol}//${url.host}. http is allowed for this machine only.`,
  );
}
