import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { signIn } from '../../../src/sandbox/colab/sign-in.js';
import { TunnelProxy } from '../../support/tunnel-proxy.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sign-in-'));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** Application Default Credentials that get their tokens from a server of the test. */
async function credentialsFrom(url: string): Promise<void> {
  const subject = join(folder, 'subject');
  await writeFile(subject, 'subject-token');
  const credentials = {
    type: 'external_account',
    audience:
      '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: url,
    credential_source: { file: subject },
    quota_project_id: 'my-project',
  };
  vi.stubEnv('GOOGLE_CLOUD_PROJECT', 'not-asked-for');
  const path = join(folder, 'credentials.json');
  await writeFile(path, JSON.stringify(credentials));
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', path);
}

/** Hands out `token-1`, `token-2`, …, or what it is told to. */
class TokenServer implements AsyncDisposable {
  readonly scopes: (string | null)[] = [];
  readonly #server: Server;

  private constructor(fields: object, status: number) {
    this.#server = createServer((request, response) => {
      let body = '';
      request.on('data', (piece: Buffer) => (body += piece.toString()));
      request.on('end', () => {
        this.scopes.push(new URLSearchParams(body).get('scope'));
        const answer = {
          access_token: `token-${this.scopes.length}`,
          issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
          token_type: 'Bearer',
          expires_in: 3600,
          ...fields,
        };
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(answer));
      });
    });
  }

  static async start(fields: object = {}, status = 200): Promise<TokenServer> {
    const server = new TokenServer(fields, status);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/token`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

describe('signing in', () => {
  it('takes the token it is given, and has no other', async () => {
    const source = signIn('given-token');
    expect(await source.accessToken()).toBe('given-token');
    expect('refresh' in source).toBe(false);
  });

  it('takes COLAB_ACCESS_TOKEN where it is given none', async () => {
    vi.stubEnv('COLAB_ACCESS_TOKEN', ' from-environment\n');
    expect(await signIn().accessToken()).toBe('from-environment');
  });

  it('takes Application Default Credentials otherwise: cached until refreshed, with their quota project', async () => {
    await using server = await TokenServer.start();
    vi.stubEnv('COLAB_ACCESS_TOKEN', '');
    await credentialsFrom(server.url);
    const source = signIn();
    expect(await source.accessToken()).toBe('token-1');
    expect(await source.accessToken()).toBe('token-1');
    source.refresh?.();
    expect(await source.accessToken()).toBe('token-2');
    expect(await source.quotaProject?.()).toBe('my-project');
    expect(server.scopes).toEqual([
      'https://www.googleapis.com/auth/colaboratory',
      'https://www.googleapis.com/auth/colaboratory',
    ]);
  });

  it('asks for a new token before the old one ends', async () => {
    await using server = await TokenServer.start({ expires_in: 120 });
    await credentialsFrom(server.url);
    const source = signIn('');
    expect(await source.accessToken()).toBe('token-1');
    expect(await source.accessToken()).toBe('token-2');
  });

  it('fetches tokens through the proxy of the environment', async () => {
    await using server = await TokenServer.start();
    await using proxy = await TunnelProxy.start({ upstreamUrl: server.url });
    vi.stubEnv('HTTPS_PROXY', proxy.url);
    vi.stubEnv('NO_PROXY', '');
    vi.stubEnv('no_proxy', '');
    await credentialsFrom('http://tokens.example/token');
    expect(await signIn('').accessToken()).toBe('token-1');
    expect(proxy.tunnels).toMatchObject([{ target: 'tokens.example:80' }]);
  });

  it('that has ended for good says so, and how to begin anew', async () => {
    const refusal = {
      error: 'invalid_grant',
      error_description: 'Token has been expired or revoked.',
    };
    await using server = await TokenServer.start(refusal, 400);
    await credentialsFrom(server.url);
    await expect(signIn('').accessToken()).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: expect.stringMatching(
        /the sign-in has ended.*gcloud auth application-default login/,
      ) as string,
    });
  });

  it('without any says what to do', async () => {
    vi.stubEnv('COLAB_ACCESS_TOKEN', '');
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', join(folder, 'missing.json'));
    const source = signIn();
    await expect(source.accessToken()).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: expect.stringContaining('gcloud auth application-default login') as string,
    });
  });
});
