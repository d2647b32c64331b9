import { ConfigError } from './errors.js';

/** True for a name of this machine, as `URL.hostname` gives it. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname);
}

/** Credentials travel over https, or stay on this machine. */
export function isSafeUrl(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
}

/** @throws {ConfigError} `BAD_URL`; the message leaves out what could hold a secret. */
export function requireSafeUrl(value: string, what: string): URL {
  if (!URL.canParse(value)) {
    throw new ConfigError('BAD_URL', `${what} is not a URL. Write it as https://host/path.`);
  }
  const url = new URL(value);
  if (isSafeUrl(url)) return url;
  throw new ConfigError(
    'BAD_URL',
    `${what} must be https: ${url.protocol}//${url.host} would carry a key or token unprotected. ` +
      'http is for this machine only.',
  );
}
