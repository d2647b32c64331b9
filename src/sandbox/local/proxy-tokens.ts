import { randomBytes } from 'node:crypto';
import { isSameSecret } from './access.js';

/** The share of a token's life at whose end a new one is given out, so that nobody gets one about to expire. */
const LAST_SHARE = 1 / 12;

interface ProxyToken {
  value: string;
  expiresAtMs: number;
}

/** The tokens that open one runtime's file proxy; the one given out before stays valid until its own end. */
export class ProxyTokens {
  readonly #lifetimeMs: number;
  readonly #now: () => number;
  #tokens: ProxyToken[] = [];

  constructor(options: { lifetimeMs: number; now: () => number }) {
    this.#lifetimeMs = options.lifetimeMs;
    this.#now = options.now;
  }

  /** A token that has some life left, and its end in RFC 3339. */
  current(): { token: string; expireTime: string } {
    const now = this.#now();
    this.#tokens = this.#tokens.filter((token) => token.expiresAtMs > now);
    let newest = this.#tokens.at(-1);
    if (newest === undefined || newest.expiresAtMs - now < this.#lifetimeMs * LAST_SHARE) {
      newest = {
        value: randomBytes(32).toString('base64url'),
        expiresAtMs: now + this.#lifetimeMs,
      };
      this.#tokens.push(newest);
    }
    return { token: newest.value, expireTime: new Date(newest.expiresAtMs).toISOString() };
  }

  accepts(token: string): boolean {
    const now = this.#now();
    return this.#tokens.some(
      ({ value, expiresAtMs }) => isSameSecret(token, value) && expiresAtMs > now,
    );
  }
}
