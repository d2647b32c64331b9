import { describe, expect, test } from 'vitest';
import type { Content } from '../../src/parts/content.js';
import type { Part } from '../../src/parts/part.js';
import { call, calls, startGeminiServer, status, text, turn } from './gemini-server.js';
import type { GeminiServer, RequestBody } from './gemini-server.js';

interface Answer {
  code: number;
  body: string;
}

async function post(
  server: GeminiServer,
  body: Partial<RequestBody>,
  { method = 'streamGenerateContent', key = 'k' } = {},
): Promise<Answer> {
  const response = await fetch(`${server.url}/v1beta/models/gemini-test:${method}?alt=sse`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key !== '' && { 'x-goog-api-key': key }) },
    body: JSON.stringify(body),
  });
  return { code: response.status, body: await response.text() };
}

const user = (...parts: Part[]): Content => ({ role: 'user', parts });
const model = (...parts: Part[]): Content => ({ role: 'model', parts });
const called = (id: string, thoughtSignature?: string): Part => ({
  functionCall: { id, name: 'execute_code', args: { code: 'x' } },
  ...(thoughtSignature !== undefined && { thoughtSignature }),
});
const answered = (id: string): Part => ({
  functionResponse: { id, name: 'execute_code', response: { output: '' } },
});

describe('requests the API would refuse', () => {
  const hi = user({ text: 'hi' });

  test.each<[string, Content[], RegExp]>([
    ['nothing', [], /not specified/],
    ['no parts', [user()], /must not be empty/],
    ['a part with nothing in it', [user({ thought: true })], /oneof field 'data'/],
    [
      'two kinds in one part',
      [user({ text: 'a', inlineData: { mimeType: 'a/b', data: '' } })],
      /oneof/,
    ],
    ['another role', [{ role: 'function' as never, parts: [{ text: '' }] }], /valid role/],
    [
      'an unknown kind of part',
      [user({ text: 'a', type: 'text' })],
      /"type" at 'contents\[0\]\.parts\[0\]'/,
    ],
    [
      'an unknown field of a call',
      [hi, model({ functionCall: { name: 'f', x: 1 } as never }), hi],
      /"x" at 'contents\[1\]\.parts\[0\]\.functionCall'/,
    ],
    ['a model turn at the end', [hi, model({ text: 'a' })], /end with a user role/],
    [
      'fewer answers than calls',
      [hi, model(called('1'), called('2')), user(answered('1'))],
      /number of function response/,
    ],
    [
      'answers in another order',
      [hi, model(called('1'), called('2')), user(answered('2'), answered('1'))],
      /does not match/,
    ],
    [
      'a call left open',
      [hi, model(called('1')), user({ text: 'and?' })],
      /number of function response/,
    ],
    ['an answer to nothing', [hi, user(answered('1'))], /immediately after/],
    [
      'native code without its tool',
      [hi, model({ executableCode: { language: 'PYTHON', code: 'x' } }), hi],
      /not enabled/,
    ],
  ])('%s', async (_, contents, reason) => {
    await using server = await startGeminiServer([turn(text('never said'))]);
    const { code, body } = await post(server, { contents });
    expect(code).toBe(400);
    expect((JSON.parse(body) as { error: { message: string } }).error.message).toMatch(reason);
    expect(server.left).toBe(1);
  });

  test('no key, another key, another model', async () => {
    await using server = await startGeminiServer([], { apiKey: 'k', models: ['other'] });
    expect((await post(server, { contents: [hi] }, { key: '' })).code).toBe(403);
    expect((await post(server, { contents: [hi] }, { key: 'z' })).body).toContain(
      'API_KEY_INVALID',
    );
    expect((await post(server, { contents: [hi] })).code).toBe(404);
  });
});

describe('signatures', () => {
  const hi = user({ text: 'hi' });

  async function serverAfterCalls(): Promise<GeminiServer> {
    const both = calls(['x', { id: '1', signature: 'sig' }], ['x', { id: '2' }]);
    const server = await startGeminiServer([turn(both), turn(text('ok'))]);
    await post(server, { contents: [hi] });
    return server;
  }

  test.each<[string, string | undefined, number]>([
    ['as sent', 'sig', 200],
    ['left out', undefined, 400],
    ['changed', 'gis', 400],
    ['with the documented stand-in', 'skip_thought_signature_validator', 200],
  ])('of the first call of a step, %s', async (_, signature, code) => {
    await using server = await serverAfterCalls();
    const contents = [
      hi,
      model(called('1', signature), called('2')),
      user(answered('1'), answered('2')),
    ];
    expect((await post(server, { contents })).code).toBe(code);
  });

  test('of earlier turns are not looked at', async () => {
    await using server = await serverAfterCalls();
    const earlier = [hi, model(called('1'), called('2')), user(answered('1'), answered('2'))];
    expect((await post(server, { contents: [...earlier, model({ text: 'a' }), hi] })).code).toBe(
      200,
    );
  });
});

test('replies are taken in order, save those that wait for a certain request', async () => {
  await using server = await startGeminiServer(
    [{ ...turn(text('for "b"')), when: 'say "b"' }, turn(text('next')), status(503)],
    { repeat: true },
  );
  const say = async (words: string): Promise<string> =>
    (await post(server, { contents: [user({ text: words })] })).body;
  expect(await say('a')).toContain('next');
  expect(await say('please say "b"')).toContain('for \\"b\\"');
  expect(await say('a')).toContain('UNAVAILABLE');
  expect(await say('a')).toContain('next');
});

test('a whole response comes where no stream is asked for', async () => {
  await using server = await startGeminiServer([turn(text('a'), text('b'), call('x'))]);
  const { body } = await post(
    server,
    { contents: [user({ text: 'hi' })] },
    { method: 'generateContent' },
  );
  expect(JSON.parse(body)).toMatchObject({
    candidates: [{ content: { parts: [{ text: 'a' }, { text: 'b' }, {}] }, finishReason: 'STOP' }],
  });
});

test('a request beyond the script is told as such', async () => {
  await using server = await startGeminiServer();
  const { code, body } = await post(server, { contents: [user({ text: 'hi' })] });
  expect(code).toBe(400);
  expect(body).toContain('no reply for request 1');
});
