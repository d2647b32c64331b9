import { describe, expect, it } from 'vitest';
import { createLogger, createScrubber, scrub, silentLogger } from '../src/logger.js';
import type { LogLevel, Scrubber } from '../src/logger.js';

function capture(level: LogLevel, options: { isTTY?: boolean; scrubber?: Scrubber } = {}) {
  const lines: string[] = [];
  const stream = { write: (line: string) => lines.push(line), isTTY: options.isTTY ?? false };
  const scrubber = options.scrubber;
  const logger = createLogger({ level, stream, ...(scrubber && { scrubber }) });
  return { logger, lines, text: () => lines.join('') };
}

const apiKey = ['AIza', 'SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY'].join('');
const accessToken = ['ya29', 'a0AfH6SMBx-Qw3rTy_uIop'].join('.');

describe('levels', () => {
  it.each<[LogLevel, number]>([
    ['silent', 0],
    ['error', 1],
    ['warn', 2],
    ['info', 3],
    ['debug', 4],
  ])('%s lets %i of the four kinds through', (level, count) => {
    const { logger, lines } = capture(level);
    logger.debug('d');
    logger.info('i');
    logger.warn('w');
    logger.error('e');
    expect(lines).toHaveLength(count);
  });

  it('the silent logger takes every call', () => {
    silentLogger.error('nothing', { err: new Error('x') });
    silentLogger.debug('nothing');
  });
});

describe('form', () => {
  it('writes one JSON object a line away from a terminal', () => {
    const { logger, lines } = capture('info');
    logger.warn('slow', { session: 'runtimes/a/sessions/b', waitedMs: 12 });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^[^\n]+\n$/);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'warn',
      message: 'slow',
      session: 'runtimes/a/sessions/b',
      waitedMs: 12,
    });
  });

  it('writes one readable line on a terminal', () => {
    const { logger, text } = capture('info', { isTTY: true });
    logger.warn('slow', { waitedMs: 12, why: 'two words' });
    expect(text()).toMatch(/^\d\d:\d\d:\d\d warn {2}slow {2}waitedMs=12 {2}why="two words"\n$/);
  });

  it('keeps control characters of foreign text off the terminal', () => {
    const { logger, text } = capture('info', { isTTY: true });
    logger.info('title \u001b]0;owned\u0007 and\nnext line \u009b2J');
    expect(text().slice(0, -1)).not.toMatch(/\p{Cc}/u);
  });

  it('names an error with its code and the whole chain of causes', () => {
    const { logger, lines } = capture('info');
    const root = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
    logger.error('failed', { reason: new Error('call failed', { cause: root }) });
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      reason: {
        message: 'call failed',
        cause: { name: 'Error', code: 'ECONNRESET', message: 'socket hang up' },
      },
    });
  });

  it('leaves out the request that a foreign error carries', () => {
    const { logger, text } = capture('debug');
    const config = { headers: { 'x-custom': 'carried along' } };
    logger.error('failed', { err: Object.assign(new Error('refused'), { config }) });
    expect(text()).toContain('refused');
    expect(text()).not.toContain('carried along');
  });

  it('survives causes that run in a circle', () => {
    const { logger, text } = capture('info');
    const error = new Error('round and round');
    error.cause = error;
    logger.error('failed', { err: error });
    expect(text()).toContain('round and round');
  });
});

describe('known forms of secrets', () => {
  it.each([
    ['API key', apiKey, apiKey],
    ['newer API key', 'AQ.Ab8RN6Jx9kLmN0pQrStUvWxYz1234', 'Ab8RN6'],
    ['access token', accessToken, 'a0AfH6SMBx'],
    ['refresh token', '1//0gLu8dKw9xYzAbCdEfGhIjKlMn', 'gLu8dKw9'],
    ['bearer header', 'authorization: Bearer abc.def-123', 'abc.def'],
    ['bearer alone', 'Bearer s3cret', 's3cret'],
    ['lower-case bearer', 'bearer abcd1234efgh', 'abcd1234'],
    ['basic header', 'Authorization: Basic dXNlcjpwYXNzd29yZA==', 'dXNlcjp'],
    ['Gemini header', 'X-Goog-Api-Key: plain-looking', 'plain-looking'],
    ['proxy header', 'X-Colab-Runtime-Proxy-Token: plain-looking', 'plain-looking'],
    ['proxy header as JSON', '{"x-colab-runtime-proxy-token":"plain-looking"}', 'plain-looking'],
    ['header in nested JSON', String.raw`{\"x-goog-api-key\":\"plain-looking\"}`, 'plain-looking'],
    ['connection token', '{"url":"https://a.test","token":"plain-looking"}', 'plain-looking'],
    ['key in a URL', 'https://a.test/v1?alt=sse&key=plain-looking', 'plain-looking'],
    ['token in a URL', 'http://127.0.0.1:8888/api?token=plain-looking&x=1', 'plain-looking'],
    ['password in a proxy URL', 'http://user:hunter2@proxy.test:3128', 'hunter2'],
    ['every cookie', 'Cookie: a=first; b=second', 'second'],
    ['private key', '-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----', 'MIIEvQ'],
    ['JSON web token', 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl', 'eyJzdWIi'],
  ])('%s', (_name, text, secret) => {
    expect(scrub(text)).not.toContain(secret);
    expect(scrub(text)).toContain('[secret]');
    expect(scrub(scrub(text))).toBe(scrub(text));
  });

  it.each([
    'the Bearer token is missing',
    'promptTokenCount: 12, "totalTokenCount": 30',
    'keyboard=1 monkey=2 x?y=3',
    'KeyError: "key"',
    'http://127.0.0.1:8080/mcp',
    'see a:b@c, 12:30@noon',
  ])('leaves ordinary text alone: %s', (text) => {
    expect(scrub(text)).toBe(text);
  });

  it('stay out of message, fields, error, stack and causes, and the line stays JSON', () => {
    const { logger, lines, text } = capture('info');
    const cause = new Error(`GET https://a.test/?key=${apiKey}`, {
      cause: `Bearer ${accessToken}`,
    });
    logger.error(`with ${apiKey}`, {
      headers: { Authorization: `Bearer ${accessToken}` },
      err: new Error(`refused ${apiKey}`, { cause }),
    });
    expect(text()).not.toContain(apiKey);
    expect(text()).not.toContain(accessToken);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ err: { message: 'refused [secret]' } });
  });

  it('stay off the terminal too', () => {
    const { logger, text } = capture('info', { isTTY: true });
    logger.error('failed', { err: new Error(`refused ${apiKey}`) });
    expect(text()).toContain('refused [secret]');
    expect(text()).not.toContain(apiKey);
  });
});

describe('values learnt while running', () => {
  it('are taken out from then on, in JSON and URL encoding too', () => {
    const secret = 'pass "word" / 7';
    const scrubber = createScrubber();
    const { logger, text } = capture('info', { scrubber });
    scrubber.add(secret);
    logger.info(`plain ${secret}`, { nested: JSON.stringify({ secret }) });
    logger.info(`in a URL ${encodeURIComponent(secret)}`);
    expect(text()).not.toContain('word');
    expect(text().match(/\[secret\]/g)).toHaveLength(3);
  });

  it('are taken out whole where one is the beginning of another', () => {
    const scrubber = createScrubber(['abcdef', 'abcdef-ghijkl']);
    expect(scrubber.scrub('abcdef-ghijkl')).toBe('[secret]');
  });

  it('too short or absent are left alone', () => {
    const scrubber = createScrubber(['', undefined, 'abc']);
    expect(scrubber.scrub('abc is a word')).toBe('abc is a word');
  });
});
