import { loopbackFetch } from '../../loopback-fetch.js';
import type { HttpAnswer } from '../../loopback-fetch.js';
import { patientFetch } from '../../patient-fetch.js';
import { isLoopbackHost } from '../../safe-url.js';
import { HttpRefusal } from '../failure.js';

export interface GuardedRequest {
  method: string;
  headers: Record<string, string>;
  body?: string | Uint8Array | undefined;
  signal?: AbortSignal | undefined;
  /** Taken out of what a refusal says. */
  secret?: string | undefined;
}

const MAX_REDIRECTS = 3;

/**
 * `fetch` that waits as long as the answer takes, goes through the proxy of the environment, follows redirects within the origin only, so that no credential
 * leaves it, and throws {@link HttpRefusal} for every answer that is not 2xx.
 */
export async function guardedFetch(url: URL, request: GuardedRequest): Promise<HttpAnswer> {
  let target = url;
  for (let redirects = 0; ; redirects++) {
    const { method, headers, body: sent = null, signal = null } = request;
    const init = { method, headers, body: sent, signal };
    const response = isLoopbackHttp(target)
      ? await loopbackFetch(target, init)
      : await patientFetch(target, { ...init, redirect: 'manual' });
    if (response.ok) return response;
    const next = redirectTarget(response, target);
    const body = await response.text();
    if (next === undefined || next.origin !== url.origin || redirects === MAX_REDIRECTS) {
      const { secret = '' } = request;
      throw new HttpRefusal(response, secret === '' ? body : body.replaceAll(secret, '[secret]'));
    }
    target = next;
  }
}

/** Only the redirects that keep method and body. */
function redirectTarget(response: HttpAnswer, from: URL): URL | undefined {
  const location = response.headers.get('location');
  if (location === null || (response.status !== 307 && response.status !== 308)) return undefined;
  return URL.canParse(location, from.href) ? new URL(location, from.href) : undefined;
}

function isLoopbackHttp({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && isLoopbackHost(hostname);
}
