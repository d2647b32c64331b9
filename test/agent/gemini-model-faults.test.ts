import { getEventListeners } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createGeminiModel } from '../../src/agent/gemini-model.js';
import type { GeminiModelOptions } from '../../src/agent/gemini-model.js';
import type { Model } from '../../src/agent/model.js';
import { ModelError } from '../../src/errors.js';
import { emptyUsage } from '../../src/parts/usage.js';
import type { Usage } from '../../src/parts/usage.js';
import {
  call,
  chunk,
  cut,
  drop,
  end,
  gate,
  hangUp,
  html,
  inPieces,
  json,
  keyInvalid,
  modelNotFound,
  overloaded,
  part,
  rateLimited,
  redirect,
  startGeminiServer,
  status,
  streamError,
  text,
  turn,
  usage,
} from '../support/gemini-server.js';
import type { Reply } from '../support/gemini-server.js';
import { ask, collect, failureOf } from '../support/model-stream.js';

const KEY = 'AIza-test-key-0123456789';

/** A model that takes no pauses but says how long they would have been. */
function impatientModel(url: string, options: Partial<GeminiModelOptions> = {}) {
  const pauses: number[] = [];
  const model = createGeminiModel({
    model: 'gemini-test',
    apiKey: KEY,
    baseUrl: url,
    ...options,
    retry: {
      attempts: 3,
      firstDelayMs: 1_000,
      random: () => 0.5,
      sleep: (ms) => {
        pauses.push(ms);
        return Promise.resolve();
      },
      ...options.retry,
    },
  });
  return { model, pauses };
}

async function failureFrom(script: Reply[], options: Partial<GeminiModelOptions> = {}) {
  await using server = await startGeminiServer(script);
  const { model, pauses } = impatientModel(server.url, options);
  const error = await failureOf(model, ask('Hi'));
  expect(error).toBeInstanceOf(ModelError);
  return { error: error as ModelError, pauses, requests: server.requests.length };
}

/** Answered on the second request, after one that failed. */
async function answerAfter(reply: Reply, options: Partial<GeminiModelOptions> = {}) {
  await using server = await startGeminiServer([reply, turn(text('ok'))]);
  const { model, pauses } = impatientModel(server.url, options);
  const spent: Usage[] = [];
  const onSpent = (one: Usage): void => {
    spent.push(one);
  };
  const { events, response } = await collect(model, ask('Hi', { onSpent }));
  expect(response.content.parts).toEqual([{ text: 'ok' }]);
  expect(response.usage.requests).toBe(1);
  expect(server.requests).toHaveLength(2);
  expect(server.requests[1]?.rawBody).toBe(server.requests[0]?.rawBody);
  return { events, spent, pauses };
}

describe('failures that may pass are repeated', () => {
  test('429: the fractional RetryInfo is waited for, with jitter on top', async () => {
    const { events, spent, pauses } = await answerAfter(
      rateLimited({ retryDelay: '36.429760048s' }),
    );
    expect(pauses).toEqual([36_430 + 500]);
    expect(events[0]).toMatchObject({ type: 'retry', attempt: 2, delayMs: 36_930 });
    expect(spent).toEqual([{ ...emptyUsage(), requests: 1 }]);
  });

  test('429 without RetryInfo: Retry-After is waited for', async () => {
    const { pauses } = await answerAfter(rateLimited({ headers: { 'retry-after': '7' } }));
    expect(pauses).toEqual([7_500]);
  });

  test('429 without any word on time: our own back-off', async () => {
    const { pauses } = await answerAfter(
      status(429, { message: 'Resource has been exhausted (e.g. check quota).' }),
    );
    expect(pauses).toEqual([500]);
  });

  test('429 with a wait beyond all patience ends at once and says how long', async () => {
    const { error, requests } = await failureFrom([rateLimited({ retryDelay: '7200s' })]);
    expect(error).toMatchObject({
      code: 'RATE_LIMITED',
      isRetryable: true,
      retryAfterMs: 7_200_000,
    });
    expect(requests).toBe(1);
  });

  test.each([500, 502, 503, 504, 408])('%i', async (code) => {
    await answerAfter(status(code));
  });

  test("a gateway's HTML page for a 502", async () => {
    await answerAfter(html(502));
  });

  test('a connection closed without an answer', async () => {
    const { events } = await answerAfter(hangUp());
    expect(events[0]?.type === 'retry' && events[0].reason).toMatch(/127\.0\.0\.1/);
  });

  test('a stream dropped half-way: told to discard, usage so far counted', async () => {
    const counts = { promptTokenCount: 20, candidatesTokenCount: 9 };
    const { events, spent } = await answerAfter(turn(text('Half of '), usage(counts), drop()));
    expect(events.map(({ type }) => type)).toEqual(['text', 'retry', 'text']);
    expect(spent).toEqual([
      expect.objectContaining({ promptTokenCount: 20, candidatesTokenCount: 2, requests: 1 }),
    ]);
  });

  test.each([
    ['ends cleanly without a finish reason', turn(text('Half of '), end())],
    ['ends before anything came', turn(end())],
    ['is cut in the middle of a chunk', turn(text('Half of '), cut())],
    [
      'says that it failed, within',
      turn(text('a'), streamError(503, 'UNAVAILABLE', 'Overloaded.')),
    ],
    ['says that it failed, in pieces', inPieces(9, turn(streamError(500, 'INTERNAL', 'Oops.')))],
  ])('a stream that %s', async (_, reply) => {
    await answerAfter(reply);
  });

  test('they end: the last failure is thrown, told by its kind', async () => {
    const { error, pauses, requests } = await failureFrom([
      overloaded(),
      overloaded(),
      overloaded(),
    ]);
    expect(error).toMatchObject({ code: 'OVERLOADED', isRetryable: true });
    expect(error.message).toMatch(/gemini-test.*503.*overloaded/is);
    expect(pauses).toEqual([500, 1_000]);
    expect(requests).toBe(3);
  });
});

test('a request cancelled half-way tells what it spent', async () => {
  const held = gate();
  const counts = usage({ promptTokenCount: 20 });
  await using server = await startGeminiServer([turn(counts, text('Half of '), held)]);
  const { model } = impatientModel(server.url);
  const controller = new AbortController();
  const spent: Usage[] = [];
  const request = ask('Hi', {
    signal: controller.signal,
    onSpent: (one) => {
      spent.push(one);
    },
  });
  const stream = model.generate(request);
  await stream.next();
  controller.abort(new Error('enough'));
  await expect(stream.next()).rejects.toThrow('enough');
  expect(spent).toEqual([expect.objectContaining({ promptTokenCount: 20, requests: 1 })]);
});

describe('silence', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Lets minutes pass until the promise settles, or `minutes` of them. */
  async function pass(promise: Promise<unknown>, minutes: number): Promise<void> {
    const state = { isSettled: false };
    const settle = (): void => {
      state.isSettled = true;
    };
    promise.then(settle, settle);
    for (let minute = 0; minute < minutes && !state.isSettled; minute += 1) {
      for (let turns = 0; turns < 20; turns += 1)
        await new Promise((resolve) => setImmediate(resolve));
      vi.advanceTimersByTime(60_000);
    }
  }

  test('a model that thinks for nine minutes without a word is waited for', async () => {
    const thinking = gate();
    await using server = await startGeminiServer([turn(text('Hm. '), thinking, text('42'))]);
    const { model } = impatientModel(server.url);
    const answer = collect(model, ask('Hi'));
    await thinking.reached;
    await pass(answer, 9);
    thinking.open();
    expect((await answer).events.map(({ type }) => type)).toEqual(['text', 'text']);
  });

  test('a stream without a byte for longer than the limit is given up, and its connection closed', async () => {
    const silence = gate();
    await using server = await startGeminiServer([turn(text('a'), silence), turn(text('ok'))]);
    const { model } = impatientModel(server.url, { idleTimeoutMs: 600_000 });
    const stream = model.generate(ask('Hi'));
    await stream.next();
    const next = stream.next();
    await pass(next, 100);
    expect(JSON.stringify(await next)).toMatch(/"retry".*nothing came for 600 s/);
    await server.requests[0]?.closed;
    silence.open();
    expect((await stream.next()).value).toMatchObject({ text: 'ok' });
    await stream.return(undefined as never);
  });

  test('so is a server that takes the request and says nothing', async () => {
    await using deaf = await deafServer();
    const { model } = impatientModel(deaf.url);
    const failure = failureOf(model, ask('Hi'));
    await pass(failure, 100);
    expect(await failure).toMatchObject({ code: 'STREAM_CUT', isRetryable: true });
    expect(deaf.requests()).toBe(3);
  });

  test('may last for good where the caller says so', async () => {
    const thinking = gate();
    await using server = await startGeminiServer([turn(text('Hm. '), thinking, text('42'))]);
    const { model } = impatientModel(server.url, { idleTimeoutMs: Infinity });
    const answer = collect(model, ask('Hi'));
    await thinking.reached;
    await pass(answer, 60);
    thinking.open();
    expect((await answer).events).toHaveLength(2);
  });

  test('of the reader does not count', async () => {
    await using server = await startGeminiServer([turn(text('a'), text('b'))]);
    const { model } = impatientModel(server.url);
    const stream = model.generate(ask('Hi'));
    await stream.next();
    vi.advanceTimersByTime(3_600_000);
    expect((await stream.next()).value).toMatchObject({ text: 'b' });
    expect(await stream.next()).toMatchObject({ done: true });
  });
});

describe('failures that stay are told at once', () => {
  test.each([
    ['a key that is none', keyInvalid(), 'API_KEY_INVALID', /GEMINI_API_KEY/],
    ['a key that is refused', status(401), 'API_KEY_INVALID', /GEMINI_API_KEY/],
    ['a forbidden model', status(403), 'PERMISSION_DENIED', /gemini-test/],
    [
      'a country without service',
      status(400, {
        status: 'FAILED_PRECONDITION',
        message: 'User location is not supported for the API use.',
      }),
      'PERMISSION_DENIED',
      /User location/,
    ],
    ['a model that does not exist', modelNotFound('gemini-test'), 'MODEL_NOT_FOUND', /gemini-test/],
    [
      'a bad request',
      status(400, { message: 'Unable to process input image.' }),
      'INVALID_REQUEST',
      /Unable to process input image/,
    ],
    [
      'an error as a list',
      json(400, [{ error: { code: 400, message: 'Boo.' } }]),
      'INVALID_REQUEST',
      /Boo/,
    ],
    [
      'a used-up day, though RetryInfo speaks of seconds',
      rateLimited({
        retryDelay: '12s',
        quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier',
      }),
      'QUOTA_EXHAUSTED',
      /midnight Pacific/,
    ],
    [
      'a quota of nothing',
      rateLimited({ retryDelay: '12s', limit: 0 }),
      'QUOTA_EXHAUSTED',
      /billing/,
    ],
    [
      'an address that is none of the API',
      json(404, { detail: 'Not Found' }),
      'NOT_GEMINI',
      /BASE_URL/,
    ],
    ['a page of HTML', html(), 'NOT_GEMINI', /HTML/],
    ['a page of HTML for a 404', html(404), 'NOT_GEMINI', /HTML/],
    ['plain JSON for a stream', json(200, { ok: true }), 'NOT_GEMINI', /JSON/],
    ['a chunk of another shape', turn(part({ text: 1 as never })), 'NOT_GEMINI', /text/],
  ])('%s', async (_, reply, code, said) => {
    const { error, requests } = await failureFrom([reply]);
    expect(error).toMatchObject({ code, isRetryable: false });
    expect(error.message).toMatch(said);
    expect(requests).toBe(1);
  });

  test('a limit that only begins with 0 is no quota of nothing', async () => {
    const { error } = await failureFrom([
      rateLimited({ limit: 0.5 }),
      rateLimited({ limit: 0.5 }),
      rateLimited({ limit: 0.5 }),
    ]);
    expect(error.code).toBe('RATE_LIMITED');
  });

  test('a request that the SDK would not send', async () => {
    const { error, requests } = await failureFrom([], { apiKey: 'auth_tokens/short-lived' });
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', isRetryable: false });
    expect(error.message).toMatch(/Ephemeral tokens/);
    expect(requests).toBe(0);
  });

  test('a lost signature is told in the words of the API', async () => {
    await using server = await startGeminiServer([
      turn(call('print(1)', { id: 'c1', signature: 'sig' })),
    ]);
    const { model } = impatientModel(server.url);
    const { response } = await collect(model, ask('Hi'));
    const [callPart = {}] = response.content.parts;
    const unsigned = { functionCall: callPart.functionCall ?? { name: '' } };
    const answered = { id: 'c1', name: 'execute_code', response: { output: '1' } };
    const error = await failureOf(
      model,
      ask([
        ...ask('Hi').contents,
        { role: 'model', parts: [unsigned] },
        { role: 'user', parts: [{ functionResponse: answered }] },
      ]),
    );
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', isRetryable: false });
    expect(String(error)).toMatch(/missing a thought_signature/);
  });
});

describe('no connection', () => {
  test('nobody listens: repeated, then told with the address', async () => {
    const url = await closedPort();
    const { model, pauses } = impatientModel(url);
    const error = await failureOf(model, ask('Hi'));
    expect(error).toMatchObject({ code: 'NETWORK', isRetryable: true });
    expect(String(error)).toContain(url);
    expect(String(error)).toContain('ECONNREFUSED');
    expect(pauses).toHaveLength(2);
  });

  test.each([
    ['ENOTFOUND', true],
    ['UND_ERR_CONNECT_TIMEOUT', true],
    ['SELF_SIGNED_CERT_IN_CHAIN', false],
    ['CERT_HAS_EXPIRED', false],
  ])('%s is repeated: %s', async (code, isRepeated) => {
    const { model, pauses } = impatientModel('https://gemini.test', {
      fetch: () => {
        const cause = Object.assign(new Error('no'), { code });
        return Promise.reject(new TypeError('fetch failed', { cause }));
      },
    });
    const error = await failureOf(model, ask('Hi'));
    expect(error).toMatchObject({ code: 'NETWORK', isRetryable: isRepeated });
    expect(String(error)).toContain(code);
    expect(pauses).toHaveLength(isRepeated ? 2 : 0);
  });
});

describe('the API key', () => {
  test('does not follow a redirect', async () => {
    await using other = await startGeminiServer([turn(text('thanks'))]);
    const { error, requests } = await failureFrom([
      redirect(`${other.url}/v1beta/models/gemini-test:streamGenerateContent?alt=sse`),
    ]);
    expect(error.code).toBe('NOT_GEMINI');
    expect(error.message).toContain(other.url);
    expect(requests).toBe(1);
    expect(other.requests).toHaveLength(0);
  });

  test.each([
    ['a refusal', status(400, { message: `API key ${KEY} not valid.` })],
    ['a header', json(403, { error: { message: `x-goog-api-key: ${KEY}`, status: 'X' } })],
    ['a page', { status: 500, headers: { 'content-type': 'text/html' }, body: `<html>${KEY}` }],
    ['a stream', turn(streamError(400, 'INVALID_ARGUMENT', `Bad key ${KEY}`))],
    ['a redirect', redirect(`https://elsewhere.test/?key=${KEY}`)],
    [
      'a broken chunk',
      turn(chunk({ candidates: [{ content: { parts: [{ text: { [KEY]: 1 } }] } }] })),
    ],
  ])('is not in an error when the server says it in %s', async (_, reply) => {
    const { error } = await failureFrom([reply], { retry: { attempts: 1 } });
    expect(everythingIn(error)).not.toContain(KEY);
  });

  test('is not in an error when the network library says it', async () => {
    const { model } = impatientModel('https://gemini.test', {
      fetch: () => Promise.reject(new TypeError(`bad header ${KEY}`, { cause: new Error(KEY) })),
    });
    expect(everythingIn(await failureOf(model, ask('Hi')))).not.toContain(KEY);
  });

  test('is not in the model when that is printed', () => {
    const { model } = impatientModel('https://gemini.test');
    expect(inspect(model, { depth: 9, showHidden: true })).not.toContain(KEY);
  });
});

describe('cancelling', () => {
  class Stop extends Error {}

  test('while the answer streams: the reason untouched, the connection closed', async () => {
    const wait = gate();
    await using server = await startGeminiServer([turn(text('a'), wait, text('b'))]);
    const controller = new AbortController();
    const { model, pauses } = impatientModel(server.url);
    const failure = failureOf(model, ask('Hi', { signal: controller.signal }));
    await wait.reached;
    const reason = new Stop();
    controller.abort(reason);
    expect(await failure).toBe(reason);
    expect(pauses).toEqual([]);
    await server.requests[0]?.closed;
    wait.open();
  });

  test('while the server has not answered yet', async () => {
    await using deaf = await deafServer();
    const controller = new AbortController();
    const { model } = impatientModel(deaf.url);
    const failure = failureOf(model, ask('Hi', { signal: controller.signal }));
    await deaf.connected;
    const reason = new Stop();
    controller.abort(reason);
    expect(await failure).toBe(reason);
  });

  test('in a pause before the next try, at once', async () => {
    await using server = await startGeminiServer([rateLimited({ retryDelay: '500s' })]);
    const controller = new AbortController();
    const model = createGeminiModel({ model: 'gemini-test', apiKey: KEY, baseUrl: server.url });
    const stream = model.generate(ask('Hi', { signal: controller.signal }));
    expect((await stream.next()).value).toMatchObject({ type: 'retry' });
    const rest = stream.next();
    const reason = new Stop();
    controller.abort(reason);
    await expect(rest).rejects.toBe(reason);
  });

  test('before it begins: nothing is sent', async () => {
    await using server = await startGeminiServer([turn(text('ok'))]);
    const { model } = impatientModel(server.url);
    const reason = new Stop();
    expect(await failureOf(model, ask('Hi', { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(server.requests).toHaveLength(0);
  });

  test('leaving the stream closes the connection', async () => {
    const wait = gate();
    await using server = await startGeminiServer([turn(text('a'), wait)]);
    const { model } = impatientModel(server.url);
    for await (const event of model.generate(ask('Hi'))) {
      expect(event).toMatchObject({ text: 'a' });
      break;
    }
    await server.requests[0]?.closed;
    wait.open();
  });

  test('leaves no listener on the signal, however a request ended', async () => {
    const script = [turn(text('ok')), overloaded(), turn(drop()), turn(text('ok')), status(400)];
    await using server = await startGeminiServer(script);
    const { model } = impatientModel(server.url);
    const { signal } = new AbortController();
    await collect(model, ask('Hi', { signal }));
    await collect(model, ask('Hi', { signal }));
    await failureOf(model, ask('Hi', { signal }));
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});

test('requests at once do not disturb one another', async () => {
  const wait = gate();
  const script: Reply[] = [
    { ...turn(text('slow '), wait, text('one')), when: 'first' },
    { ...turn(text('quick one')), when: 'second' },
  ];
  await using server = await startGeminiServer(script);
  const { model } = impatientModel(server.url);
  const first = answerText(model, 'first');
  await wait.reached;
  expect(await answerText(model, 'second')).toBe('quick one');
  wait.open();
  expect(await first).toBe('slow one');
});

async function answerText(model: Model, prompt: string): Promise<string | undefined> {
  return (await collect(model, ask(prompt))).response.content.parts[0]?.text;
}

function everythingIn(error: unknown): string {
  return [
    inspect(error, { depth: 20, showHidden: true }),
    JSON.stringify(error),
    String(error),
  ].join();
}

/** Takes connections and never answers. */
async function deafServer() {
  let count = 0;
  let arrive = (): void => undefined;
  const connected = new Promise<void>((resolve) => (arrive = resolve));
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      count += 1;
      arrive();
    });
  });
  const url = await listen(server);
  return {
    url,
    connected,
    requests: () => count,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function closedPort(): Promise<string> {
  const server = createServer();
  const url = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return url;
}

async function listen(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
