import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isLoopbackHost } from '../../safe-url.js';

/** Compares in a time that does not depend on where the two differ. */
export function isSameSecret(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

export function hasBearerToken(request: IncomingMessage, token: string): boolean {
  const given = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  return given !== undefined && isSameSecret(given, token);
}

/**
 * False where the request names another host or comes from another site's page: a web page whose name
 * resolves to 127.0.0.1 (DNS rebinding) must not reach us through a visitor's browser.
 */
export function isLoopbackRequest(request: IncomingMessage): boolean {
  const { host, origin } = request.headers;
  return isLoopbackUrl(`http://${host ?? ''}`) && (origin === undefined || isLoopbackUrl(origin));
}

function isLoopbackUrl(text: string): boolean {
  return URL.canParse(text) && isLoopbackHost(new URL(text).hostname);
}
