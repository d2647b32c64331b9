import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { DeadlineReached } from '../../src/abort.js';
import { ModelError, SandboxError } from '../../src/errors.js';
import type { RunEvent } from '../../src/agent/events.js';
import { createGeminiModel } from '../../src/agent/gemini-model.js';
import { createSolver } from '../../src/solver.js';
import {
  blocked,
  call,
  calls,
  drop,
  end,
  finish,
  functionCall,
  gate,
  overloaded,
  part,
  rateLimited,
  startGeminiServer,
  status,
  text,
  thought,
  turn,
  usage,
} from '../support/gemini-server.js';
import { play } from '../support/played-run.js';
import { ScriptedSandbox } from '../support/scripted-sandbox.js';
import type { Script } from '../support/scripted-sandbox.js';

const typesOf = (events: readonly RunEvent[]): string[] => events.map((event) => event.type);

describe('a run', () => {
  it('that needs no code answers without opening a session', async () => {
    const { result, sandbox } = await play([turn(text('Forty-'), text('two.'))]);
    expect(result).toMatchObject({
      status: 'answered',
      text: 'Forty-two.',
      steps: 1,
      executions: 0,
    });
    expect(sandbox.opened).toBe(0);
  });

  it('shows code, result and text in the order in which they happened, in one model content', async () => {
    const { result, parts, events } = await play(
      [turn(text('I compute. '), call('print(6*7)', { id: 'a' })), turn(text('It is 42.'))],
      (_, context) => {
        context.print('42\n');
        return { value: '' };
      },
    );
    expect(result.contents.map((content) => content.role)).toEqual(['user', 'model']);
    expect(result.contents[0]?.parts).toEqual([{ text: 'What is six times seven?' }]);
    expect(parts).toEqual([
      { text: 'I compute. ' },
      { executableCode: { language: 'PYTHON', code: 'print(6*7)', id: 'a' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42\n', id: 'a' } },
      { text: 'It is 42.' },
    ]);
    expect(result.text).toBe('It is 42.');
    expect(typesOf(events)).toEqual([
      'run-start',
      'step-start',
      'text',
      'code',
      'output',
      'code-result',
      'step-end',
      'step-start',
      'text',
      'step-end',
      'run-end',
    ]);
  });

  it('hands a failing script back to the model, which corrects it', async () => {
    const { result, server, sandbox } = await play(
      [
        turn(call('print(x)', { id: 'a', signature: 'c2ln' })),
        turn(call('x = 42\nprint(x)', { id: 'b' })),
        turn(text('42')),
      ],
      (code, context) => {
        if (!code.includes('x ='))
          return { error: { name: 'NameError', value: "name 'x' is not defined" } };
        context.print('42');
        return { value: '' };
      },
    );
    expect(result.status).toBe('answered');
    expect(sandbox.codes).toEqual(['print(x)', 'x = 42\nprint(x)']);
    expect(sandbox.opened).toBe(1);
    expect(server.requests[1]?.body.contents.at(-1)).toEqual({
      role: 'user',
      parts: [
        {
          functionResponse: {
            id: 'a',
            name: 'execute_code',
            response: { error: 'OUTCOME_FAILED', output: "NameError: name 'x' is not defined" },
          },
        },
      ],
    });
  });

  it('returns signatures verbatim, those on empty text parts too', async () => {
    const { result, server } = await play([
      turn(
        thought('Let me see. '),
        call('1', { id: 'a', signature: 'Zmlyc3Q=' }),
        part({ text: '', thoughtSignature: 'ZW1wdHk=' }),
      ),
      turn(text('1')),
    ]);
    expect(result.status).toBe('answered');
    const sent = server.requests[1]?.body.contents[1];
    expect(sent?.parts).toEqual([
      { text: 'Let me see. ', thought: true },
      {
        functionCall: { id: 'a', name: 'execute_code', args: { code: '1' } },
        thoughtSignature: 'Zmlyc3Q=',
      },
      { text: '', thoughtSignature: 'ZW1wdHk=' },
    ]);
    expect(result.text).toBe('1');
  });

  it('adds up the last usage of every request', async () => {
    const counts = { promptTokenCount: 10, candidatesTokenCount: 4, thoughtsTokenCount: 2 };
    const { result } = await play([
      turn(usage(counts), call('1')),
      turn(usage({ ...counts, promptTokenCount: 30 }), text('One.')),
    ]);
    expect(result.usage).toEqual({
      promptTokenCount: 40,
      candidatesTokenCount: 8,
      thoughtsTokenCount: 4,
      totalTokenCount: 52,
      requests: 2,
    });
  });

  it('gives its files to the session before the first script', async () => {
    const { sandbox } = await play([turn(call('1')), turn(text('1'))], undefined, {
      files: ['package.json'],
    });
    expect(sandbox.uploads.map(({ path }) => path)).toEqual(['package.json']);
  });
});

describe('several calls in one response', () => {
  it('run in call order in the one session and are answered together', async () => {
    const { server, sandbox, parts } = await play(
      [turn(calls(['a = 1', { id: '1' }], ['a + 1', { id: '2' }])), turn(text('2'))],
      (code) => ({ value: code === 'a + 1' ? '2' : '' }),
    );
    expect(sandbox.codes).toEqual(['a = 1', 'a + 1']);
    const answers = server.requests[1]?.body.contents.at(-1)?.parts ?? [];
    expect(answers.map((answer) => answer.functionResponse?.id)).toEqual(['1', '2']);
    expect(parts.map((each) => Object.keys(each)[0])).toEqual([
      'executableCode',
      'codeExecutionResult',
      'executableCode',
      'codeExecutionResult',
      'text',
    ]);
  });

  it('run functions of the caller at once and scripts in their place', async () => {
    const log: string[] = [];
    let bothStarted = (): void => undefined;
    const both = new Promise<void>((resolve) => (bothStarted = resolve));
    const fetchFunction = {
      name: 'fetch_rate',
      description: 'A rate.',
      parameters: z.object({ of: z.string() }),
      // Each waits for the other: were they called one by one, the run would never end.
      async execute({ of }: { of: string }) {
        log.push(`start ${of}`);
        if (log.filter((line) => line.startsWith('start')).length === 2) bothStarted();
        await both;
        return of.length;
      },
    };
    const { result, server, parts } = await play(
      [
        turn(
          functionCall('fetch_rate', { of: 'EUR' }, { id: '1' }),
          functionCall('fetch_rate', { of: 'DOLLAR' }, { id: '2' }),
          call('print(1)', { id: '3' }),
          functionCall('fetch_rate', { of: 7 }, { id: '4' }),
          functionCall('unknown', {}, { id: '5' }),
        ),
        turn(text('done')),
      ],
      () => {
        log.push('script');
        return { value: '' };
      },
      { functions: [fetchFunction] },
    );
    expect(result.status).toBe('answered');
    expect(log).toEqual(['start EUR', 'start DOLLAR', 'script']);
    const answers = server.requests[1]?.body.contents.at(-1)?.parts ?? [];
    expect(answers.map((answer) => answer.functionResponse?.id)).toEqual(['1', '2', '3', '4', '5']);
    expect(answers[0]?.functionResponse?.response).toEqual({ output: 3 });
    expect(answers[3]?.functionResponse?.response['error']).toMatch(/do not fit/);
    expect(answers[4]?.functionResponse?.response['error']).toMatch(/no function unknown/);
    expect(parts.filter((each) => each.functionCall).length).toBe(4);
    expect(parts.filter((each) => each.functionResponse).length).toBe(4);
  });
});

describe('a response that cannot be used', () => {
  const answer = turn(text('42'));

  it.each([
    ['a 429 with a delay', rateLimited({ retryDelay: '0.01s' })],
    ['an overloaded model', overloaded()],
    ['a stream dropped half-way', turn(text('Half'), drop())],
    ['a stream that ends without a finish reason', turn(text('Half'), end())],
    ['an empty STOP', turn(finish('STOP'))],
    ['a malformed call', turn(finish('MALFORMED_FUNCTION_CALL', 'unterminated string'))],
    ['a finish reason nobody knows', turn(text('Half'), finish('SOMETHING_NEW'))],
    ['a missing signature', turn(finish('MISSING_THOUGHT_SIGNATURE'))],
  ])('is asked for again: %s', async (_, reply) => {
    const { result, events } = await play([reply, answer]);
    expect(result).toMatchObject({ status: 'answered', text: '42' });
    expect(result.contents[1]?.parts).toEqual([{ text: '42' }]);
    expect(result.usage.requests).toBe(2);
    expect(typesOf(events)).toContain('retry');
  });

  it('cut off at the token limit in the middle of a call is not executed', async () => {
    const { result, sandbox, server } = await play([
      turn(call('import shutil; shutil.rm'), finish('MAX_TOKENS')),
      answer,
    ]);
    expect(sandbox.codes).toEqual([]);
    expect(result.status).toBe('answered');
    expect(server.requests[1]?.body.contents.at(-1)?.parts[0]?.text).toMatch(/cut off/);
  });

  it('with a call is executed only when it ended with STOP', async () => {
    const { sandbox } = await play([turn(call('print(1)'), finish('OTHER')), answer]);
    expect(sandbox.codes).toEqual([]);
  });

  it.each(['SAFETY', 'RECITATION', 'PROHIBITED_CONTENT', 'IMAGE_SAFETY'])(
    'refused with %s ends the run as blocked after one request',
    async (reason) => {
      const { result } = await play([turn(finish(reason)), answer]);
      expect(result).toMatchObject({ status: 'blocked', text: '', usage: { requests: 1 } });
      expect(result.reason).toContain(reason);
    },
  );

  it('to a blocked prompt ends the run as blocked', async () => {
    const { result } = await play([turn(blocked('PROHIBITED_CONTENT')), answer]);
    expect(result.status).toBe('blocked');
    expect(result.reason).toContain('PROHIBITED_CONTENT');
  });

  it('again and again ends without an answer, in bounded requests', async () => {
    const { result } = await play(Array.from({ length: 10 }, () => turn(finish('STOP'))));
    expect(result).toMatchObject({ status: 'no-answer', text: '', usage: { requests: 4 } });
  });

  it('malformed again and again falls back to fenced code, which then runs', async () => {
    const malformed = turn(finish('MALFORMED_FUNCTION_CALL', 'bad string'));
    const { result, sandbox, server, parts } = await play(
      [
        malformed,
        malformed,
        malformed,
        turn(text('So:\n```python\nprint(42)\n```\nDone.')),
        answer,
      ],
      (_, context) => {
        context.print('42\n');
        return { value: '' };
      },
    );
    expect(result).toMatchObject({ status: 'answered', text: '42' });
    expect(sandbox.codes).toEqual(['print(42)']);
    expect(parts.map((each) => Object.keys(each)[0])).toEqual([
      'text',
      'executableCode',
      'codeExecutionResult',
      'text',
    ]);
    const declared = server.requests.map(({ body }) =>
      JSON.stringify(body).includes('functionDeclarations'),
    );
    expect(declared).toEqual([true, true, true, false, false]);
    expect(server.requests[4]?.body.contents.at(-1)?.parts[0]?.text).toContain('OUTCOME_OK');
  });

  it('malformed again and again: fenced code runs though its fence was left open', async () => {
    const malformed = turn(finish('MALFORMED_FUNCTION_CALL', 'bad string'));
    const fenced = turn(text('```Python\nprint(42)\n'));
    const { sandbox } = await play([malformed, malformed, malformed, fenced, answer]);
    expect(sandbox.codes).toEqual(['print(42)']);
  });

  it('only a signature is an empty one', async () => {
    const { result } = await play([turn(part({ thoughtSignature: 'c2ln' })), answer]);
    expect(result).toMatchObject({ status: 'answered', usage: { requests: 2 } });
  });

  it('cut off again and again leaves what came in text and contents', async () => {
    const half = turn(text('Half of'), finish('MAX_TOKENS'));
    const { result, parts } = await play([half, half, half]);
    expect(result).toMatchObject({ status: 'no-answer', text: 'Half of', usage: { requests: 3 } });
    expect(parts).toEqual([{ text: 'Half of' }]);
  });

  it('for a signature that got lost is counted with the requests before it', async () => {
    const { result, server } = await play([
      overloaded(),
      status(400, { message: 'Function call is missing a thought_signature in …' }),
      answer,
    ]);
    expect(result).toMatchObject({ status: 'answered', usage: { requests: 3 } });
    expect(server.requests).toHaveLength(3);
  });

  it('of an account that may not is thrown', async () => {
    await expect(play([turn(finish('PUP_LIMITED_DISABLED'))])).rejects.toThrow(ModelError);
  });

  it('with code that nobody asked to run is text, not a script', async () => {
    const { sandbox } = await play([turn(text('Use this:\n```python\nprint(1)\n```'))]);
    expect(sandbox.codes).toEqual([]);
  });
});

describe('limits', () => {
  it('allow so many steps with scripts, then ask for an answer without code', async () => {
    const { result, server, sandbox } = await play(
      [turn(call('1')), turn(call('2')), turn(text('Two, I think.'))],
      undefined,
      { maxSteps: 2 },
    );
    expect(sandbox.codes).toEqual(['1', '2']);
    expect(result).toMatchObject({ status: 'answered', text: 'Two, I think.' });
    const last = server.requests[2]?.body;
    expect(JSON.stringify(last)).toContain('"mode":"NONE"');
    expect(last?.contents.at(-1)?.parts[0]?.text).toMatch(/limit of 2 steps/);
  });

  it('end as step-limit where the last request brings no answer', async () => {
    const { result, sandbox } = await play([turn(call('1')), turn(call('2'))], undefined, {
      maxSteps: 1,
    });
    expect(sandbox.codes).toEqual(['1']);
    expect(result.status).toBe('step-limit');
  });

  it.each([
    ['an empty STOP', turn(finish('STOP')), 4],
    ['a call all the same', turn(finish('UNEXPECTED_TOOL_CALL')), 2],
    [
      'code in a form of its own',
      turn(part({ executableCode: { language: 'PYTHON', code: '2' } })),
      1,
    ],
  ])('end as step-limit where the last request brings %s', async (_, reply, requests) => {
    const { result, server, sandbox } = await play(
      [turn(call('1')), reply, reply, reply, reply],
      undefined,
      { maxSteps: 1 },
    );
    expect(sandbox.codes).toEqual(['1']);
    expect(result).toMatchObject({ status: 'step-limit', usage: { requests: 1 + requests } });
    expect(JSON.stringify(server.requests.at(-1)?.body.contents)).not.toMatch(
      /[Cc]all execute_code/,
    );
  });

  it('stop a script that fails in the same way over and over', async () => {
    const { result, sandbox } = await play(
      [turn(call('1/0')), turn(call('1/0')), turn(call('1/0')), turn(text('It cannot be done.'))],
      () => ({ error: { name: 'ZeroDivisionError', value: 'division by zero' } }),
    );
    expect(sandbox.codes).toHaveLength(3);
    expect(result).toMatchObject({ status: 'answered', text: 'It cannot be done.' });
  });

  it('of the whole run end it as deadline, with what happened so far', async () => {
    const { result } = await play(
      [turn(call('slow')), turn(gate())],
      (_, context) => {
        context.print('so far');
        return { limitMs: context.options.timeoutMs };
      },
      { timeoutMs: 300 },
    );
    expect(result.status).toBe('deadline');
    expect(result.contents[1]?.parts[1]?.codeExecutionResult).toMatchObject({
      outcome: 'OUTCOME_DEADLINE_EXCEEDED',
    });
    expect(result.usage.requests).toBeGreaterThan(0);
  });

  it('of the whole run end it while a session is waited for', async () => {
    const waiting = new (class extends ScriptedSandbox {
      override openSession({ signal }: { signal?: AbortSignal } = {}): Promise<never> {
        return new Promise((_, reject) => {
          signal?.addEventListener('abort', () => {
            reject(signal.reason as Error);
          });
        });
      }
    })();
    const { result } = await play([turn(call('1'))], undefined, {
      sandbox: waiting,
      timeoutMs: 200,
    });
    expect(result).toMatchObject({ status: 'deadline', executions: 0 });
  });

  it('of the whole run count the request that was under way', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const held = gate();
      const played = play([turn(text('I'), held)], undefined, { timeoutMs: 60_000 });
      await held.reached;
      vi.advanceTimersByTime(60_000);
      const { result } = await played;
      expect(result).toMatchObject({ status: 'deadline', usage: { requests: 1 } });
    } finally {
      vi.useRealTimers();
    }
  });

  it('of a run around this one are not taken for its own', async () => {
    const around = new AbortController();
    const reason = new DeadlineReached(1_000);
    const never = {
      name: 'wait',
      description: 'Waits.',
      parameters: z.object({}),
      execute: () => {
        around.abort(reason);
        return new Promise(() => undefined);
      },
    };
    const played = play([turn(functionCall('wait', {}))], undefined, {
      functions: [never],
      signal: around.signal,
      timeoutMs: 60_000,
    });
    await expect(played).rejects.toBe(reason);
  });

  it('of a script are never longer than what the run has left', async () => {
    let given = 0;
    await play(
      [turn(call('1')), turn(text('ok'))],
      (_, { options }) => {
        given = options.timeoutMs;
        return { value: '' };
      },
      { timeoutMs: 5_000 },
    );
    expect(given).toBeGreaterThan(0);
    expect(given).toBeLessThanOrEqual(5_000);
  });
});

describe('code that the model hands over in a form of its own', () => {
  const code = part({ executableCode: { language: 'PYTHON', code: '6*7', id: 'n' } });

  it('is run where nobody has', async () => {
    const { sandbox, server } = await play([turn(code), turn(text('42'))], () => ({ value: '42' }));
    expect(sandbox.codes).toEqual(['6*7']);
    expect(server.requests[1]?.body.contents.at(-1)?.parts[0]?.text).toMatch(/OUTCOME_OK.*42/s);
  });

  it('is only shown where its result stands with it', async () => {
    const result = part({ codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42', id: 'n' } });
    const { sandbox, parts } = await play([turn(code, result, text('42'))]);
    expect(sandbox.codes).toEqual([]);
    expect(parts.map((each) => Object.keys(each)[0])).toEqual([
      'executableCode',
      'codeExecutionResult',
      'text',
    ]);
  });
});

describe('a cancelled run', () => {
  it('rethrows the reason untouched once the script has ended', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    let ended = false;
    const script: Script = (_, { options }) => {
      return new Promise((_resolve, reject) => {
        options.signal?.addEventListener('abort', () => {
          setImmediate(() => {
            ended = true;
            reject(options.signal?.reason as Error);
          });
        });
        controller.abort(reason);
      });
    };
    await expect(
      play([turn(call('while True: pass'))], script, { signal: controller.signal }),
    ).rejects.toBe(reason);
    expect(ended).toBe(true);
  });

  it('while the model writes rethrows the reason untouched', async () => {
    const held = gate();
    const controller = new AbortController();
    const reason = new Error('enough');
    const played = play([turn(text('I'), held)], undefined, { signal: controller.signal });
    await held.reached;
    controller.abort(reason);
    await expect(played).rejects.toBe(reason);
  });
});

describe('a lost session', () => {
  it('is replaced, files put back, and the model told', async () => {
    let first = true;
    const { result, sandbox, server, events } = await play(
      [turn(call('x = 1', { id: 'a' })), turn(call('x = 1; x', { id: 'b' })), turn(text('1'))],
      () => {
        if (!first) return { value: '1' };
        first = false;
        throw new SandboxError('SESSION_LOST', 'The kernel died.');
      },
      { files: ['package.json'] },
    );
    expect(result.status).toBe('answered');
    expect(sandbox.opened).toBe(2);
    expect(sandbox.uploads.map(({ session }) => session)).toEqual([
      'runtimes/scripted/sessions/s1',
      'runtimes/scripted/sessions/s2',
    ]);
    const told = server.requests[1]?.body.contents.at(-1)?.parts[0]?.functionResponse?.response;
    expect(JSON.stringify(told)).toMatch(/variables and imports are.*The kernel died/s);
    expect(typesOf(events)).toContain('notice');
  });

  it('again and again ends the run with the error', async () => {
    const lost = (): never => {
      throw new SandboxError('SESSION_LOST', 'The kernel died.');
    };
    const replies = Array.from({ length: 9 }, (_, index) => turn(call(`x = ${index}`)));
    await expect(play(replies, lost)).rejects.toMatchObject({ code: 'SESSION_LOST' });
  });

  it('of which nobody knows the end is never run again', async () => {
    const script: Script = () => {
      throw new SandboxError('EXECUTION_UNKNOWN', 'Nobody can know.');
    };
    await expect(play([turn(call('pay()'))], script)).rejects.toMatchObject({
      code: 'EXECUTION_UNKNOWN',
    });
  });
});

describe('a fault of the service', () => {
  it('that passes retries is thrown', async () => {
    await expect(play([status(400, { message: 'Bad field.' })])).rejects.toBeInstanceOf(ModelError);
  });

  it('leaves no session open', async () => {
    const sandbox = new ScriptedSandbox();
    await using server = await startGeminiServer([turn(call('1')), status(400)]);
    const model = createGeminiModel({ model: 'm', apiKey: 'k', baseUrl: server.url });
    {
      await using solver = await createSolver({ model, sandbox, env: {} });
      await expect(solver.solve('?')).rejects.toBeInstanceOf(ModelError);
    }
    expect(sandbox.opened).toBe(1);
    expect(sandbox.open).toBe(0);
  });
});

it('an empty prompt is refused before anything happens', async () => {
  const sandbox = new ScriptedSandbox();
  const model = createGeminiModel({ model: 'm', apiKey: 'k', baseUrl: 'http://127.0.0.1:9' });
  await using solver = await createSolver({ model, sandbox, env: {} });
  await expect(solver.solve('  \n')).rejects.toMatchObject({ code: 'EMPTY_PROMPT' });
  expect(sandbox.opened).toBe(0);
});
