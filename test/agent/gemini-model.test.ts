import { afterEach, describe, expect, test, vi } from 'vitest';
import { createGeminiModel } from '../../src/agent/gemini-model.js';
import type { GeminiModelOptions } from '../../src/agent/gemini-model.js';
import type { Content } from '../../src/parts/content.js';
import type { Part } from '../../src/parts/part.js';
import {
  blocked,
  call,
  calls,
  chunk,
  finish,
  inPieces,
  part,
  startGeminiServer,
  text,
  thought,
  turn,
  usage,
} from '../support/gemini-server.js';
import type { GeminiServer } from '../support/gemini-server.js';
import { ask, collect, EXECUTE_CODE_DECLARATION } from '../support/model-stream.js';

const KEY = 'AIza-test-key-0123456789';

function modelOn(server: GeminiServer, options: Partial<GeminiModelOptions> = {}) {
  return createGeminiModel({ model: 'gemini-test', apiKey: KEY, baseUrl: server.url, ...options });
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('what goes over the wire', () => {
  test('signatures go back verbatim, also on empty text parts and in the place where they came', async () => {
    await using server = await startGeminiServer([
      turn(
        thought('Let me add.'),
        text('I compute '),
        text('it.', { thoughtSignature: 'c2lnMQ==' }),
        call('print(1+1)', { id: 'c1', signature: 'c2lnMg==' }),
        text('', { thoughtSignature: 'c2lnMw==' }),
      ),
      turn(text('2'), text('', { thoughtSignature: 'c2lnNA==' })),
    ]);
    const model = modelOn(server);
    const first = await collect(model, ask('1+1?'));
    const parts: Part[] = [
      { text: 'Let me add.', thought: true },
      { text: 'I compute ' },
      { text: 'it.', thoughtSignature: 'c2lnMQ==' },
      {
        functionCall: { id: 'c1', name: 'execute_code', args: { code: 'print(1+1)' } },
        thoughtSignature: 'c2lnMg==',
      },
      { text: '', thoughtSignature: 'c2lnMw==' },
    ];
    expect(first.response.content).toEqual({ role: 'model', parts });

    const contents: Content[] = [
      ...ask('1+1?').contents,
      first.response.content,
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'c1', name: 'execute_code', response: { output: '2\n' } } },
        ],
      },
    ];
    const second = await collect(model, ask(contents));
    expect(server.requests[1]?.body.contents).toEqual(contents);
    expect(second.response.content.parts.at(-1)).toEqual({
      text: '',
      thoughtSignature: 'c2lnNA==',
    });
  });

  test('a kind of part unknown to the SDK survives there and back', async () => {
    const unknown: Part = {
      hologram: { depth: [1, 2, { x: null }] },
      thoughtSignature: 'aG9sbw==',
    };
    const options = { extraPartFields: ['hologram'] };
    await using server = await startGeminiServer([turn(part(unknown)), turn(text('ok'))], options);
    const model = modelOn(server);
    const { response } = await collect(model, ask('Show it.'));
    expect(response.content.parts).toEqual([unknown]);
    const contents: Content[] = [
      ...ask('Show it.').contents,
      response.content,
      { role: 'user', parts: [{ text: 'And now?' }] },
    ];
    await collect(model, ask(contents));
    expect(server.requests[1]?.body.contents).toEqual(contents);
  });

  test('functions, system instruction and thinking are declared as the API wants them', async () => {
    await using server = await startGeminiServer([turn(text('ok'))]);
    const thinking = { level: 'LOW', includeThoughts: true } as const;
    await collect(modelOn(server, { thinking }), ask('Hi'));
    const [request] = server.requests;
    expect(request?.path).toBe('/v1beta/models/gemini-test:streamGenerateContent?alt=sse');
    expect(request?.headers['x-goog-api-key']).toBe(KEY);
    expect(request?.body).toMatchObject({
      systemInstruction: { parts: [{ text: 'Compute, do not guess.' }] },
      tools: [{ functionDeclarations: [EXECUTE_CODE_DECLARATION] }],
      toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
      generationConfig: { thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: true } },
    });
  });

  test('a model that must answer in text keeps its functions declared but may not call them', async () => {
    await using server = await startGeminiServer([turn(text('ok'))]);
    await collect(modelOn(server), ask('Hi', { functionCalling: 'none' }));
    expect(server.requests[0]?.body).toMatchObject({
      tools: [{ functionDeclarations: [EXECUTE_CODE_DECLARATION] }],
      toolConfig: { functionCallingConfig: { mode: 'NONE' } },
    });
  });

  test('without functions no tools are declared', async () => {
    await using server = await startGeminiServer([turn(text('ok'))]);
    await collect(modelOn(server), ask('Hi', { functions: [] }));
    expect(server.requests[0]?.body).not.toHaveProperty('tools');
    expect(server.requests[0]?.body).not.toHaveProperty('toolConfig');
  });

  test('settings for Vertex, other keys and other addresses in the environment change nothing', async () => {
    await using stranger = await startGeminiServer();
    vi.stubEnv('GOOGLE_GENAI_USE_VERTEXAI', 'true');
    vi.stubEnv('GOOGLE_GENAI_USE_ENTERPRISE', 'true');
    vi.stubEnv('GOOGLE_CLOUD_PROJECT', 'somebody');
    vi.stubEnv('GOOGLE_CLOUD_LOCATION', 'us-central1');
    vi.stubEnv('GOOGLE_API_KEY', 'another-key');
    vi.stubEnv('GOOGLE_GEMINI_BASE_URL', stranger.url);
    vi.stubEnv('GOOGLE_VERTEX_BASE_URL', stranger.url);
    await using server = await startGeminiServer([turn(text('ok'))], { apiKey: KEY });
    const { response } = await collect(modelOn(server), ask('Hi'));
    expect(response.content.parts).toEqual([{ text: 'ok' }]);
    expect(stranger.requests).toHaveLength(0);
  });

  test('without a base URL of the caller the key goes to Google, wherever the environment points', async () => {
    vi.stubEnv('GOOGLE_GEMINI_BASE_URL', 'https://elsewhere.test');
    const asked: string[] = [];
    const model = createGeminiModel({
      model: 'gemini-test',
      apiKey: KEY,
      retry: { attempts: 1 },
      fetch: (input) => {
        asked.push(new URL(input).origin);
        return Promise.reject(new TypeError('no network here'));
      },
    });
    await expect(collect(model, ask('Hi'))).rejects.toMatchObject({ code: 'NETWORK' });
    expect(asked).toEqual(['https://generativelanguage.googleapis.com']);
  });
});

describe('what streams in', () => {
  test('text and thoughts are told as they come, apart, and merged in the content', async () => {
    await using server = await startGeminiServer([
      turn(thought('a'), thought('b'), text('c'), text('d'), thought('e')),
    ]);
    const { events, response } = await collect(modelOn(server), ask('Hi'));
    expect(events).toEqual([
      { type: 'text', text: 'a', thought: true },
      { type: 'text', text: 'b', thought: true },
      { type: 'text', text: 'c', thought: false },
      { type: 'text', text: 'd', thought: false },
      { type: 'text', text: 'e', thought: true },
    ]);
    expect(response.content.parts).toEqual([
      { text: 'ab', thought: true },
      { text: 'cd' },
      { text: 'e', thought: true },
    ]);
  });

  test('parallel calls keep their order, whether they come in one chunk or in several', async () => {
    await using server = await startGeminiServer([
      turn(
        calls(['a', { id: '1', signature: 's' }], ['b', { id: '2' }]),
        call('c', { id: '3' }),
        call('b', { id: '2' }),
      ),
    ]);
    const { response } = await collect(modelOn(server), ask('Hi'));
    expect(response.content.parts.map((each) => each.functionCall?.args?.['code'])).toEqual([
      'a',
      'b',
      'c',
    ]);
    expect(response.content.parts[0]?.thoughtSignature).toBe('s');
  });

  test('characters cut anywhere between two pieces of the stream arrive whole', async () => {
    const words = 'Größe: 10 µm — 计算 🧮 ok';
    for (const pieceBytes of [1, 2, 3, 7]) {
      await using server = await startGeminiServer([
        inPieces(pieceBytes, turn(text(words), text('é'))),
      ]);
      const { response } = await collect(modelOn(server), ask('Hi'));
      expect(response.content.parts).toEqual([{ text: `${words}é` }]);
    }
  });

  test('a megabyte of text arrives complete, in many chunks and in one', async () => {
    const piece = 'x'.repeat(1024);
    const many = turn(...Array.from({ length: 1024 }, () => text(piece)));
    await using server = await startGeminiServer([many, turn(text(piece.repeat(1024)))]);
    const model = modelOn(server);
    for (const pieces of [1024, 1]) {
      const { events, response } = await collect(model, ask('Hi'));
      expect(events).toHaveLength(pieces);
      expect(response.content.parts).toEqual([{ text: piece.repeat(1024) }]);
    }
  });

  test('usage is the last running total, not the sum of all chunks', async () => {
    const counts = { promptTokenCount: 100, candidatesTokenCount: 40, thoughtsTokenCount: 7 };
    await using server = await startGeminiServer([
      turn(text('a'), text('b'), text('c'), usage(counts)),
    ]);
    const { response } = await collect(modelOn(server), ask('Hi'));
    expect(response.usage).toEqual({ ...counts, totalTokenCount: 147, requests: 1 });
  });
});

describe('how a response ends', () => {
  test('MALFORMED_FUNCTION_CALL keeps the message that explains it', async () => {
    const explanation = 'Malformed function call: print(default_api.execute_code(code="é';
    await using server = await startGeminiServer([
      inPieces(5, turn(finish('MALFORMED_FUNCTION_CALL', explanation))),
    ]);
    const { response } = await collect(modelOn(server), ask('Hi'));
    expect(response).toMatchObject({
      content: { role: 'model', parts: [] },
      finishReason: 'MALFORMED_FUNCTION_CALL',
      finishMessage: explanation,
    });
  });

  test('MAX_TOKENS in the middle of a call is told as such, with what came', async () => {
    await using server = await startGeminiServer([
      turn(text('I will'), call('print(', { id: 'c1' }), finish('MAX_TOKENS')),
    ]);
    const { response } = await collect(modelOn(server), ask('Hi'));
    expect(response.finishReason).toBe('MAX_TOKENS');
    expect(response.content.parts).toHaveLength(2);
  });

  test.each(['SAFETY', 'RECITATION', 'A_REASON_OF_TOMORROW'])('%s is handed on', async (reason) => {
    await using server = await startGeminiServer([turn(finish(reason))]);
    const { response } = await collect(modelOn(server), ask('Hi'));
    expect(response).toMatchObject({ finishReason: reason, content: { parts: [] } });
    expect(server.requests).toHaveLength(1);
  });

  test('a blocked prompt has a block reason and no finish reason', async () => {
    await using server = await startGeminiServer([turn(blocked('PROHIBITED_CONTENT'))]);
    const { response } = await collect(modelOn(server), ask('Hi'));
    expect(response).toMatchObject({
      finishReason: '',
      blockReason: 'PROHIBITED_CONTENT',
      content: { parts: [] },
      usage: { promptTokenCount: 10, requests: 1 },
    });
  });

  test('an empty STOP has no parts', async () => {
    await using server = await startGeminiServer([turn(finish('STOP'))]);
    const { response, events } = await collect(modelOn(server), ask('Hi'));
    expect(response).toMatchObject({ finishReason: 'STOP', content: { parts: [] } });
    expect(events).toEqual([]);
  });

  test('usage that comes after the finish reason still counts', async () => {
    await using server = await startGeminiServer([
      turn(
        chunk({
          candidates: [
            { content: { role: 'model', parts: [{ text: 'ok' }] }, finishReason: 'STOP' },
          ],
        }),
        chunk({ usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 } }),
      ),
    ]);
    const { response } = await collect(modelOn(server), ask('Hi'));
    expect(response).toMatchObject({ finishReason: 'STOP', usage: { promptTokenCount: 3 } });
  });

  test('CONTINUATION sends no further request behind our back', async () => {
    await using server = await startGeminiServer([
      turn(
        chunk({
          candidates: [
            {
              content: { role: 'model', parts: [{ text: 'half' }] },
              finishReason: 'CONTINUATION',
              continuationToken: 'token',
            },
          ],
        }),
      ),
    ]);
    const { response } = await collect(modelOn(server), ask('Hi'));
    expect(response.finishReason).toBe('CONTINUATION');
    expect(server.requests).toHaveLength(1);
  });
});

describe('bad options fail before anything is sent', () => {
  const good = { model: 'gemini-test', apiKey: KEY };

  test.each([
    ['no key', { apiKey: ' \n' }, 'MISSING_KEY'],
    ['a key with a line break inside', { apiKey: 'AIza\nSyA' }, 'BAD_OPTION'],
    ['a key with a character no header takes', { apiKey: 'AIzaSy…' }, 'BAD_OPTION'],
    ['an empty model', { model: '' }, 'BAD_OPTION'],
    ['a model that leaves its place in the path', { model: '../files' }, 'BAD_OPTION'],
    ['a model with a query', { model: 'gemini?key=1' }, 'BAD_OPTION'],
    ['a base URL that is none', { baseUrl: 'generativelanguage' }, 'BAD_URL'],
    ['http to another machine', { baseUrl: 'http://proxy.test' }, 'BAD_URL'],
    [
      'http to a name that only begins like loopback',
      { baseUrl: 'http://127.0.0.1.test' },
      'BAD_URL',
    ],
    ['another protocol', { baseUrl: 'ftp://127.0.0.1' }, 'BAD_URL'],
    ['a password in the base URL', { baseUrl: 'https://me:secret@proxy.test' }, 'BAD_URL'],
    ['a key in the base URL', { baseUrl: `https://proxy.test/?key=secret` }, 'BAD_URL'],
    ['a base URL with the version', { baseUrl: 'https://proxy.test/v1beta/' }, 'BAD_URL'],
  ])('%s', (_, bad, code) => {
    const create = (): unknown => createGeminiModel({ ...good, ...bad });
    expect(create).toThrow(expect.objectContaining({ name: 'ConfigError', code }));
    expect(create).not.toThrow(/secret|AIza/);
  });

  test.each([
    'http://localhost:8080',
    'http://[::1]:1',
    'http://127.8.0.1',
    'https://proxy.test/gemini/',
  ])('%s may be used', (baseUrl) => {
    expect(createGeminiModel({ ...good, baseUrl }).id).toBe('gemini-test');
  });

  test('blanks around the key, as copying leaves them, do no harm', async () => {
    await using server = await startGeminiServer([turn(text('ok'))], { apiKey: KEY });
    await collect(modelOn(server, { apiKey: `${KEY}\n` }), ask('Hi'));
    expect(server.requests[0]?.refusal).toBeUndefined();
  });
});
