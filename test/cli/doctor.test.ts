import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { checkNode } from '../../src/cli/checks/node-check.js';
import { commandLine } from './command-line.js';

const KEY = 'test-key-0123456789';

/** An endpoint that answers every request alike, and the headers it got. */
async function endpoint(status: number, body: string) {
  const keys: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    keys.push(request.headers['x-goog-api-key'] as string | undefined);
    response.writeHead(status).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    keys,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]: () => {
      server.close().closeAllConnections();
    },
  };
}

interface Report {
  isReady: boolean;
  checks: { name: string; state: string; found: string; remedy?: string }[];
}

async function doctor(env: NodeJS.ProcessEnv) {
  const { code, stdout, stderr } = await commandLine(['doctor', '--json'], { env });
  const { isReady, checks } = JSON.parse(stdout) as Report;
  const check = (name: string) => checks.find((one) => one.name === name);
  return { code, isReady, check, all: stdout + stderr };
}

describe('doctor', () => {
  it('says that scripts can run here, and what else is missing, in lines for people', async () => {
    using gemini = await endpoint(403, '{"error": {"code": 403}}');
    const env = { GOOGLE_GEMINI_BASE_URL: gemini.url };
    const { code, stdout } = await commandLine(['doctor'], { env });
    expect(stdout).toMatch(/^✓ Node +\d+\.\d+\.\d+$/m);
    expect(stdout).toMatch(/^✓ Python +3\.\d+\.\d+/m);
    expect(stdout).toMatch(/^[✓✗] Isolation /m);
    expect(stdout).toMatch(/^– Gemini key .*\n +→ .*GEMINI_API_KEY/m);
    expect(stdout).toMatch(/^✓ Gemini endpoint .*answers/m);
    expect(stdout).toMatch(/^– Colab /m);
    expect(code).toBe(0);
  });

  it('tries the key, and never shows it', async () => {
    using gemini = await endpoint(200, '{"models": []}');
    const env = { GOOGLE_GEMINI_BASE_URL: gemini.url, GEMINI_API_KEY: KEY };
    const { check, all } = await doctor(env);
    expect(gemini.keys).toEqual([KEY]);
    expect(check('Gemini key')).toMatchObject({ state: 'ok', found: 'GEMINI_API_KEY is set' });
    expect(check('Gemini endpoint')).toMatchObject({ state: 'ok' });
    expect(all).not.toContain(KEY);
  });

  it.each([
    ['a key that is refused', 400, '{"error": {}}', /key is refused/],
    ['HTML in place of Gemini', 200, '<html></html>', /no JSON/],
    ['a server in trouble', 503, '{"error": {}}', /status 503/],
  ])('%s is told with a remedy, and does not count', async (_worry, status, body, found) => {
    using gemini = await endpoint(status, body);
    const env = { GOOGLE_GEMINI_BASE_URL: gemini.url, GEMINI_API_KEY: KEY };
    const { code, check } = await doctor(env);
    expect(check('Gemini endpoint')).toMatchObject({ state: 'failed' });
    expect(check('Gemini endpoint')?.found).toMatch(found);
    expect(check('Gemini endpoint')?.remedy).toBeDefined();
    expect(code).toBe(0);
  });

  it('an endpoint that cannot be reached', async () => {
    const gone = await endpoint(200, '');
    gone[Symbol.dispose]();
    const { check } = await doctor({ GOOGLE_GEMINI_BASE_URL: gone.url });
    expect(check('Gemini endpoint')).toMatchObject({ state: 'failed' });
    expect(check('Gemini endpoint')?.found).toContain(gone.url);
  });

  it('a Python that does not run makes it fail', async () => {
    using gemini = await endpoint(200, '{}');
    const env = { GOOGLE_GEMINI_BASE_URL: gemini.url, COLAB_SOLVER_PYTHON: '/nowhere/python' };
    const { code, isReady, check } = await doctor(env);
    expect(check('Python')).toMatchObject({ state: 'failed' });
    expect({ code, isReady }).toEqual({ code: 1, isReady: false });
  });

  it('credentials for Colab are tried with a real call', async () => {
    using colab = await endpoint(401, '{"error": {"code": 401, "status": "UNAUTHENTICATED"}}');
    using gemini = await endpoint(200, '{}');
    const env = {
      GOOGLE_GEMINI_BASE_URL: gemini.url,
      COLAB_MCP_URL: colab.url,
      COLAB_ACCESS_TOKEN: 'test-token-0123456789',
    };
    const { code, check, all } = await doctor(env);
    expect(colab.keys.length).toBeGreaterThan(0);
    expect(check('Colab')).toMatchObject({ state: 'failed' });
    expect(all).not.toContain('test-token-0123456789');
    expect(code).toBe(0);
  });

  it.each([
    ['20.19.0', 'ok'],
    ['22.1.0', 'ok'],
    ['20.18.3', 'failed'],
    ['18.20.0', 'failed'],
  ])('Node %s: %s', (version, state) => {
    expect(checkNode(version).state).toBe(state);
  });
});
