import { ConfigError } from '../errors.js';
import { isLoopbackHost } from '../safe-url.js';

export const GEMINI_BASE_URL = 'https://generativelanguage.googleapis.com';

/**
 * The base URL the API key may be sent to, without a slash at its end: https, or http to this machine.
 * @throws {ConfigError} `BAD_URL`; the message leaves out everything that could hold a secret.
 */
export function checkBaseUrl(baseUrl: string): string {
  if (!URL.canParse(baseUrl)) throw badUrl('It is not a URL.');
  const url = new URL(baseUrl);
  if (url.username !== '' || url.password !== '') throw badUrl('It holds a user name or password.');
  if (url.search !== '' || url.hash !== '') throw badUrl('It holds a query or a fragment.');
  const place = url.origin + url.pathname;
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    throw badUrl(`${place} would get the API key unencrypted; http is for loopback only.`);
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw badUrl(`${url.protocol} is neither https: nor http:.`);
  }
  if (/\/v1(?:alpha|beta)?\/?$/.test(url.pathname)) {
    throw badUrl(`Leave the API version off ${place}; it is added to it.`);
  }
  return place.replace(/\/+$/, '');
}

function badUrl(why: string): ConfigError {
  return new ConfigError(
    'BAD_URL',
    `The base URL of the Gemini API cannot be used. ${why} ` +
      `Set GOOGLE_GEMINI_BASE_URL to an address like ${GEMINI_BASE_URL}, or leave it unset.`,
  );
}
