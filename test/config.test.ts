import { describe, expect, it } from 'vitest';
import { resolveModelConfig, resolveRunConfig, resolveSandboxConfig } from '../src/config.js';
import type { ConfigOptions } from '../src/config.js';
import { ConfigError } from '../src/errors.js';

function refusal(resolve: () => unknown): ConfigError {
  try {
    resolve();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('It was accepted.');
}

describe('the model', () => {
  it('without a key is refused with the remedy', () => {
    const error = refusal(() => resolveModelConfig({ env: {} }));
    expect(error.code).toBe('MISSING_KEY');
    expect(error.message).toMatch(/GEMINI_API_KEY/);
  });

  it.each([
    [{ GEMINI_API_KEY: 'one' }, 'one'],
    [{ GEMINI_API_KEY: 'one', GOOGLE_API_KEY: 'two' }, 'two'],
    [{ GEMINI_API_KEY: 'one', GOOGLE_API_KEY: '  ' }, 'one'],
  ])('takes its key from the environment %o', (env, apiKey) => {
    expect(resolveModelConfig({ env })).toMatchObject({ kind: 'gemini', apiKey });
  });

  it('takes the key it is told first, where that holds one', () => {
    const env = { GOOGLE_API_KEY: 'two' };
    expect(resolveModelConfig({ apiKey: ' own\n', env })).toMatchObject({ apiKey: 'own' });
    expect(resolveModelConfig({ apiKey: '', env })).toMatchObject({ apiKey: 'two' });
  });

  it('needs no key for recorded runs', () => {
    expect(resolveModelConfig({ model: 'replay:runs.jsonl', env: {} })).toEqual({
      kind: 'replay',
      path: 'runs.jsonl',
    });
  });

  it.each(['http://example.com', 'ftp://localhost', 'gemini'])(
    'refuses to send the key to %s',
    (baseUrl) => {
      const error = refusal(() => resolveModelConfig({ apiKey: 'secret', baseUrl, env: {} }));
      expect(error.code).toBe('BAD_URL');
      expect(error.message).not.toContain('secret');
    },
  );

  it('may be reached over http on this machine', () => {
    const env = { GEMINI_API_KEY: 'k', GOOGLE_GEMINI_BASE_URL: 'http://127.0.0.1:8080' };
    expect(resolveModelConfig({ env })).toMatchObject({ baseUrl: 'http://127.0.0.1:8080' });
  });
});

describe('the sandbox', () => {
  it('is the embedded one unless told otherwise', () => {
    expect(resolveSandboxConfig({ env: {} })).toMatchObject({ kind: 'local', isolation: 'auto' });
  });

  it('at Google takes its token from the environment, else Application Default Credentials', () => {
    expect(resolveSandboxConfig({ sandbox: 'colab', env: {} })).not.toHaveProperty('accessToken');
    expect(
      resolveSandboxConfig({ sandbox: 'colab', env: { COLAB_ACCESS_TOKEN: 't' } }),
    ).toMatchObject({ accessToken: 't', url: 'https://colaboratory.googleapis.com/mcp' });
  });

  it('keeps a runtime and takes any image unless told otherwise', () => {
    const colab = { sandbox: 'colab', env: {} };
    expect(resolveSandboxConfig(colab)).toMatchObject({ deleteRuntime: false });
    expect(resolveSandboxConfig(colab)).not.toHaveProperty('runtimeVersion');
    const told = { deleteRuntime: true, runtimeVersion: '2026.07' };
    expect(resolveSandboxConfig({ ...colab, ...told })).toMatchObject(told);
  });

  it.each(['https://sandbox.example.com/mcp', 'https://evilgoogleapis.com/mcp'])(
    'elsewhere (%s) never gets credentials meant for Google',
    (sandbox) => {
      expect(refusal(() => resolveSandboxConfig({ sandbox, env: {} })).code).toBe('MISSING_KEY');
    },
  );

  it.each([
    ['docker', 'BAD_OPTION'],
    ['http://example.com/mcp', 'BAD_URL'],
  ])('refuses %s', (sandbox, code) => {
    const env = { COLAB_ACCESS_TOKEN: 't' };
    expect(refusal(() => resolveSandboxConfig({ sandbox, env })).code).toBe(code);
  });
});

describe('the accelerator', () => {
  const env = { COLAB_ACCESS_TOKEN: 't' };

  it.each(['T4', 'L4:HIGHMEM', 'A100,L4,T4', ' a100 , V5E-1:standard '])(
    'may be %j',
    (accelerator) => {
      expect(resolveSandboxConfig({ sandbox: 'colab', accelerator, env })).toMatchObject({
        accelerator,
      });
    },
  );

  it.each(['', ',', 'T4,', 'T4:', 'T4 L4', 'T4:A:B'])('may not be %j', (accelerator) => {
    const error = refusal(() => resolveSandboxConfig({ sandbox: 'colab', accelerator, env }));
    expect(error.message).toMatch(/accelerator must be a name such as T4/);
  });
});

describe('limits', () => {
  it.each<[ConfigOptions, RegExp]>([
    [{ maxSteps: 0 }, /maxSteps must be at least 1/],
    [{ maxSteps: 1.5 }, /maxSteps must be a whole number/],
    [{ timeoutMs: -1 }, /timeoutMs must be more than 0/],
    [{ executionTimeoutMs: 90_000_000 }, /executionTimeoutMs must be at most a day/],
    [{ executionTimeoutMs: Number.NaN }, /executionTimeoutMs/],
  ])('%o is refused by name', (options, message) => {
    expect(refusal(() => resolveRunConfig(options)).message).toMatch(message);
  });
});

describe('what is for Colab alone', () => {
  it.each<ConfigOptions>([{ accelerator: 'T4' }, { runtime: 'runtimes/r-1' }])(
    'is refused for the local sandbox, not passed over: %o',
    (options) => {
      const error = refusal(() => resolveSandboxConfig({ ...options, env: {} }));
      expect(error.message).toMatch(/is for Colab runtimes/);
    },
  );
});
