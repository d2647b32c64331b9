import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createGeminiModel } from '../src/agent/gemini-model.js';
import { checkColab } from '../src/cli/checks/colab-check.js';
import { checkGemini } from '../src/cli/checks/gemini-checks.js';
import { patientFetch } from '../src/patient-fetch.js';
import { connectColab } from '../src/sandbox/colab/colab-sandbox.js';
import { fixedToken } from '../src/sandbox/colab/sign-in.js';
import { startGeminiServer, text, turn } from './support/gemini-server.js';
import { ask, collect } from './support/model-stream.js';
import { ScriptedColab } from './support/scripted-colab.js';
import { TunnelProxy } from './support/tunnel-proxy.js';

const NAMES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'];

beforeEach(() => {
  for (const name of NAMES) for (const form of [name, name.toLowerCase()]) vi.stubEnv(form, '');
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
});

afterEach(() => {
  vi.unstubAllEnvs();
});

const once = { attempts: 1, firstDelayMs: 1, maxDelayMs: 1, maxServerDelayMs: 1 };

describe('behind a proxy', () => {
  it.each(['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'])(
    'Colab is reached through %s',
    async (name) => {
      await using colab = await ScriptedColab.start();
      await using proxy = await TunnelProxy.start({ upstreamUrl: colab.url });
      vi.stubEnv(name, proxy.url);
      const url = 'https://colab.example/mcp';
      await using sandbox = await connectColab({ url, signIn: fixedToken('t-123456') });
      const session = await sandbox.openSession();
      expect(await session.execute('1', { timeoutMs: 60_000 })).toMatchObject({ status: 'ok' });
      expect(new Set(proxy.tunnels.map(({ target }) => target))).toEqual(
        new Set(['colab.example:443']),
      );
    },
  );

  it.each(['HTTPS_PROXY', 'http_proxy'])('Gemini is reached through %s', async (name) => {
    await using gemini = await startGeminiServer([turn(text('2'))]);
    await using proxy = await TunnelProxy.start({ upstreamUrl: gemini.url });
    vi.stubEnv(name, proxy.url);
    const model = createGeminiModel({
      model: 'gemini-test',
      apiKey: 'AIza-test-key-0123456789',
      baseUrl: 'https://gemini.example',
    });
    const { response } = await collect(model, ask('1+1?'));
    expect(response.content.parts).toEqual([{ text: '2' }]);
    expect(proxy.tunnels).toMatchObject([{ target: 'gemini.example:443' }]);
  });

  it('doctor asks both through it', async () => {
    await using colab = await ScriptedColab.start();
    await using proxy = await TunnelProxy.start({ upstreamUrl: colab.url });
    vi.stubEnv('HTTPS_PROXY', proxy.url);
    const { signal } = new AbortController();
    const env = {
      COLAB_MCP_URL: 'https://colab.example/mcp',
      COLAB_ACCESS_TOKEN: 'token-1',
      GOOGLE_GEMINI_BASE_URL: 'https://gemini.example',
    };
    expect(await checkColab({ env, signal })).toMatchObject({ state: 'ok' });
    await checkGemini({ env, signal });
    expect(proxy.tunnels.map(({ target }) => target)).toContain('gemini.example:443');
  });

  it('its user name and password go to the proxy, and to nobody else', async () => {
    await using colab = await ScriptedColab.start();
    await using proxy = await TunnelProxy.start({ upstreamUrl: colab.url });
    vi.stubEnv('HTTPS_PROXY', proxy.url.replace('//', '//user:pass%21@'));
    const url = 'https://colab.example/mcp';
    await using sandbox = await connectColab({ url, signIn: fixedToken('t-123456') });
    const basic = `Basic ${Buffer.from('user:pass!').toString('base64')}`;
    expect(proxy.tunnels[0]?.authorization).toBe(basic);
    expect(colab.calls[0]?.headers['proxy-authorization']).toBeUndefined();
    expect(sandbox.description).toContain('colab.example');
  });

  it.each(['colab.example', '.example', '*.example', 'other.test, colab.example:443', '*'])(
    'NO_PROXY=%s is reached directly',
    async (noProxy) => {
      await using proxy = await TunnelProxy.start({ upstreamUrl: 'http://127.0.0.1:9' });
      vi.stubEnv('HTTPS_PROXY', proxy.url);
      vi.stubEnv('NO_PROXY', noProxy);
      await expect(patientFetch('https://colab.example/')).rejects.toThrow();
      expect(proxy.tunnels).toEqual([]);
    },
  );

  it('this machine is reached directly, asked or not', async () => {
    await using colab = await ScriptedColab.start();
    await using proxy = await TunnelProxy.start({ upstreamUrl: 'http://127.0.0.1:9' });
    vi.stubEnv('HTTP_PROXY', proxy.url);
    await using sandbox = await connectColab({ url: colab.url, signIn: fixedToken('t-123456') });
    expect(sandbox.description).toContain('127.0.0.1');
    expect(proxy.tunnels).toEqual([]);
  });

  it('an empty variable is none, and an address needs no scheme', async () => {
    await using colab = await ScriptedColab.start();
    await using proxy = await TunnelProxy.start({ upstreamUrl: colab.url });
    vi.stubEnv('https_proxy', '');
    vi.stubEnv('HTTPS_PROXY', proxy.url.replace('http://', ''));
    const response = await patientFetch('https://colab.example/mcp', { method: 'PUT', body: 'x' });
    expect(response.status).toBe(405);
    expect(proxy.tunnels).toHaveLength(1);
  });

  it('one that refuses is a network failure: nothing was sent, and it says so', async () => {
    await using proxy = await TunnelProxy.start({
      upstreamUrl: 'http://127.0.0.1:9',
      refuseWith: 407,
    });
    vi.stubEnv('HTTPS_PROXY', proxy.url);
    const connected = connectColab({
      url: 'https://colab.example/mcp',
      signIn: fixedToken('t-123456'),
      policy: once,
    });
    await expect(connected).rejects.toMatchObject({
      code: 'NETWORK',
      message: expect.stringMatching(/proxy.* 407/i) as string,
    });
  });

  it.each(['ftp://user:hunter22@proxy.example', 'http://user:hunter22@:0:0'])(
    'the address %s is refused before anything is sent, without its password',
    async (address) => {
      vi.stubEnv('HTTPS_PROXY', address);
      const url = 'https://colab.example/mcp';
      const colab = connectColab({ url, signIn: fixedToken('t-123456') });
      const gemini = createGeminiModel({ model: 'g', apiKey: 'k-123456', baseUrl: url });
      for (const attempt of [colab, collect(gemini, ask('1+1?'))]) {
        await expect(attempt).rejects.toMatchObject({ code: 'BAD_URL' });
        await expect(attempt).rejects.not.toThrow(/hunter22/);
      }
    },
  );
});
