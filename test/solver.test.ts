import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Model } from '../src/agent/model.js';
import { SandboxError } from '../src/errors.js';
import { emptyUsage } from '../src/parts/usage.js';
import type { Part } from '../src/parts/part.js';
import type { Session } from '../src/sandbox/sandbox.js';
import { createSolver, solve } from '../src/solver.js';
import type { SolverOptions } from '../src/solver.js';
import { ScriptedSandbox } from './support/scripted-sandbox.js';

/** A model that gives one response after another, the last one again and again. */
function modelOf(...responses: Part[][]): Model & { asked: number } {
  const model = {
    id: 'scripted',
    asked: 0,
    async *generate({ signal }: { signal?: AbortSignal }) {
      await Promise.resolve();
      signal?.throwIfAborted();
      const parts = responses[Math.min(model.asked, responses.length - 1)] ?? [];
      model.asked += 1;
      for (const { text } of parts) {
        if (text !== undefined) yield { type: 'text' as const, text, thought: false };
      }
      return {
        content: { role: 'model' as const, parts },
        finishReason: 'STOP',
        usage: { ...emptyUsage(), requests: 1 },
      };
    },
  };
  return model;
}

/** A model that says nothing until it is cancelled. */
const silentModel: Model = {
  id: 'silent',
  async *generate({ signal }) {
    return new Promise((_, reject) => {
      signal?.addEventListener('abort', () => {
        reject(signal.reason as Error);
      });
    });
  },
};

const script: Part = { functionCall: { name: 'execute_code', args: { code: '1' } } };

function solverWith(options: SolverOptions) {
  return createSolver({ sandbox: new ScriptedSandbox(), model: modelOf([]), env: {}, ...options });
}

describe('a solver that is closed', () => {
  it('fails a run that waits for its model', async () => {
    const solver = await solverWith({ model: silentModel });
    const events = solver.stream('?');
    await events.next();
    await events.next();
    const next = events.next();
    const refused = expect(next).rejects.toMatchObject({ code: 'CLOSED' });
    await solver.close();
    await refused;
  });

  it('takes no further run and opens nothing', async () => {
    const sandbox = new ScriptedSandbox();
    const model = modelOf([script], [{ text: '1' }]);
    const solver = await solverWith({ sandbox, model });
    await solver.close();
    await expect(solver.solve('?')).rejects.toMatchObject({ code: 'CLOSED' });
    expect(sandbox.opened).toBe(0);
    expect(model.asked).toBe(0);
  });
});

describe('a signal that has fired before', () => {
  it('starts nothing, and its reason is thrown untouched', async () => {
    const sandbox = new ScriptedSandbox();
    const model = modelOf([{ text: '1' }]);
    const reason = new Error('never mind');
    const run = solve('?', { sandbox, model, env: {}, signal: AbortSignal.abort(reason) });
    await expect(run).rejects.toBe(reason);
    expect(sandbox.opened).toBe(0);
    expect(model.asked).toBe(0);
  });
});

describe('a stream that is left early', () => {
  it('tells functions that are under way', async () => {
    let told: AbortSignal | undefined;
    await using solver = await solverWith({
      model: modelOf([{ functionCall: { name: 'wait', args: {} } }]),
      functions: [
        {
          name: 'wait',
          description: 'Waits until it is cancelled.',
          parameters: z.object({}),
          execute: (_, { signal }) => {
            told = signal;
            return new Promise((resolve) => {
              signal.addEventListener('abort', resolve);
            });
          },
        },
      ],
    });
    for await (const event of solver.stream('?')) if (event.type === 'function-call') break;
    expect(told?.aborted).toBe(true);
  });

  it('gives its session back', async () => {
    const sandbox = new ScriptedSandbox();
    const solver = await solverWith({ sandbox, model: modelOf([script]), maxSessions: 1 });
    for (let run = 1; run <= 3; run += 1) {
      for await (const event of solver.stream('?')) if (event.type === 'code-result') break;
    }
    expect(sandbox.opened).toBe(1);
    await solver.close();
    expect(sandbox.open).toBe(0);
  });
});

describe('bad options are refused before anything happens', () => {
  it.each([
    ['no steps', { maxSteps: 0 }],
    ['half a step', { maxSteps: 1.5 }],
    ['steps that are no number', { maxSteps: Number.NaN }],
    ['no time', { timeoutMs: 0 }],
    ['time that is no number', { timeoutMs: Number.NaN }],
  ])('of a run: %s', async (_, bad) => {
    const model = modelOf([{ text: '1' }]);
    await using solver = await solverWith({ model });
    await expect(solver.solve('?', bad)).rejects.toMatchObject({ code: 'BAD_OPTION' });
    expect(model.asked).toBe(0);
  });

  it('of a solver: one that does not exist', async () => {
    const misspelt: object = { maxStep: 3 };
    await expect(solverWith(misspelt)).rejects.toThrow(/^Bad option: .*maxStep/);
  });

  it.each([0, -1, 1.5, Number.NaN])('of a solver: %s sessions', async (maxSessions) => {
    await expect(solverWith({ maxSessions })).rejects.toThrow(/maxSessions/);
  });

  it.each([[undefined], [7], [{ text: 'Hi' }], [['Hi']], [[{ text: 7 }]]])(
    'a prompt such as %j',
    async (prompt) => {
      await using solver = await solverWith({});
      await expect(solver.solve(prompt as never)).rejects.toMatchObject({ code: 'BAD_OPTION' });
    },
  );

  it.each([[[]], [[{}]], [[{ text: ' ' }, { text: '' }]]])(
    'an empty prompt such as %j',
    async (prompt) => {
      await using solver = await solverWith({});
      await expect(solver.solve(prompt)).rejects.toMatchObject({ code: 'EMPTY_PROMPT' });
    },
  );
});

describe('an answer is not lost', () => {
  const gone = new SandboxError('NETWORK', 'The sandbox is away.');

  function sandboxThatFails(part: 'close' | 'listFiles'): ScriptedSandbox {
    let calls = 0;
    return new (class extends ScriptedSandbox {
      override async openSession(): Promise<Session> {
        const session = await super.openSession();
        const fail = (): Promise<never> => Promise.reject(gone);
        if (part === 'close') return { ...session, close: fail };
        // The first listing is of what is there before.
        return { ...session, listFiles: () => (++calls > 1 ? fail() : session.listFiles()) };
      }
    })();
  }

  it.each(['close', 'listFiles'] as const)('where %s fails at the end', async (part) => {
    const model = modelOf([script], [{ text: '42' }]);
    const notices: string[] = [];
    const result = await solve('?', {
      model,
      sandbox: sandboxThatFails(part),
      env: {},
      onNotice: (text) => {
        notices.push(text);
      },
    });
    expect(result).toMatchObject({ status: 'answered', text: '42', files: [] });
    if (part === 'close') expect(notices.join()).toContain('The sandbox is away.');
  });

  it('nor is the reason of a cancelled run', async () => {
    const sandbox = sandboxThatFails('close');
    const controller = new AbortController();
    const reason = new Error('enough');
    const model: Model = {
      id: 'cancelling',
      // eslint-disable-next-line @typescript-eslint/require-await -- the run is cancelled before it ends
      async *generate() {
        yield { type: 'text', text: 'I', thought: false };
        controller.abort(reason);
        throw reason;
      },
    };
    const run = solve('?', { model, sandbox, env: {}, signal: controller.signal });
    await expect(run).rejects.toBe(reason);
  });
});

it('limits of a run stand in for those of the solver', async () => {
  await using solver = await solverWith({ model: modelOf([script]), maxSteps: 5 });
  expect(await solver.solve('?', { maxSteps: 2 })).toMatchObject({ executions: 2 });
  expect(await solver.solve('?')).toMatchObject({ executions: 5, status: 'step-limit' });
});

it('a prompt of parts goes to the model and into the contents as it is', async () => {
  const prompt = [{ text: 'What is it?' }, { inlineData: { mimeType: 'image/png', data: 'iVBO' } }];
  await using solver = await solverWith({ model: modelOf([{ text: 'A cat.' }]) });
  const { contents } = await solver.solve(prompt);
  expect(contents[0]).toEqual({ role: 'user', parts: prompt });
});

it('many runs at once leave no listener on the signal they share and no session, and no warning', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => {
    warnings.push(warning);
  };
  process.on('warning', onWarning);
  const sandbox = new ScriptedSandbox();
  const { signal } = new AbortController();
  const solver = await solverWith({
    sandbox,
    model: modelOf([script], [{ text: '1' }]),
    maxSessions: 2,
  });
  await Promise.all(Array.from({ length: 50 }, () => solver.solve('?', { signal })));
  await solver.close();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(sandbox.open).toBe(0);
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});
