import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SandboxError } from '../../src/errors.js';
import {
  blocked,
  call,
  calls,
  finish,
  gate,
  status,
  text,
  turn,
} from '../support/gemini-server.js';
import type { GeminiServer } from '../support/gemini-server.js';
import type { Script } from '../support/scripted-sandbox.js';
import { openChat } from './played-chat.js';

const lastContents = (server: GeminiServer) => server.requests.at(-1)?.body.contents ?? [];
const said = (server: GeminiServer) => JSON.stringify(lastContents(server));
const refusals = (server: GeminiServer) => server.requests.flatMap(({ refusal }) => refusal ?? []);

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function* untilError<T>(events: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* events;
  } catch {
    // How it ended is not the question.
  }
}

/** Prints, then runs until it is interrupted. */
const endless =
  (onStart: () => void): Script =>
  (code, { options, ...context }) => {
    if (!code.includes('while True')) return { value: '' };
    context.print('step 1 of many\n');
    return new Promise((_, reject) => {
      options.signal?.addEventListener('abort', () => {
        reject(options.signal?.reason as Error);
      });
      onStart();
    });
  };

describe('a chat', () => {
  it('lets later turns see what was said and done, in one session', async () => {
    await using played = await openChat([
      turn(call('x = 6', { id: 'a', signature: 'c2ln' })),
      turn(text('Set.', { thoughtSignature: 'dGV4dA==' })),
      turn(call('x * 7', { id: 'b' })),
      turn(text('42')),
    ]);
    const { chat, server, sandbox } = played;
    await chat.send('Let x be six.');
    const result = await chat.send('Times seven?');
    expect(result).toMatchObject({ status: 'answered', text: '42', executions: 1 });
    expect(result.contents[0]?.parts).toEqual([{ text: 'Times seven?' }]);
    expect(sandbox.opened).toBe(1);
    expect(refusals(server)).toEqual([]);
    const [first, second] = lastContents(server).slice(0, 2);
    expect(first?.parts).toEqual([{ text: 'Let x be six.' }]);
    expect(second?.parts[0]?.thoughtSignature).toBe('c2ln');
    expect(said(server)).toContain('dGV4dA==');
    expect(chat.turns).toHaveLength(2);
    expect(chat.usage.requests).toBe(4);
  });

  it('refuses a second turn while one goes on', async () => {
    const held = gate();
    await using played = await openChat([turn(text('a'), held), turn(text('b'))]);
    const first = played.chat.send('one');
    await held.reached;
    await expect(played.chat.send('two')).rejects.toMatchObject({ code: 'BAD_OPTION' });
    held.open();
    await first;
    await expect(played.chat.send('three')).resolves.toMatchObject({ text: 'b' });
  });

  it('attaches files for all later turns', async () => {
    await using played = await openChat([turn(call('1')), turn(text('ok')), turn(text('ok'))]);
    const { chat, server, sandbox } = played;
    await chat.send('Look.', { files: ['package.json'] });
    await chat.attach(['README.md']);
    await chat.send('And this?');
    expect(sandbox.uploads.map(({ path }) => path)).toEqual(['package.json', 'README.md']);
    expect(server.requests.at(-1)?.body.systemInstruction?.parts[0]?.text).toMatch(
      /package\.json.*README\.md/s,
    );
    await expect(chat.attach(['no such file'])).rejects.toMatchObject({ code: 'UNREADABLE_FILE' });
  });

  it('takes the last turn back, and not the variables', async () => {
    await using played = await openChat([
      turn(text('one')),
      turn(text('two')),
      turn(text('three')),
    ]);
    const { chat, server } = played;
    await chat.send('first');
    await chat.send('second');
    expect(chat.undo()?.prompt).toEqual([{ text: 'second' }]);
    await chat.send('third');
    expect(said(server)).not.toContain('second');
    expect(said(server)).toContain('first');
    expect(chat.usage.requests).toBe(3);
  });

  it("runs the user's own Python, and the model hears of it", async () => {
    await using played = await openChat([turn(text('I see.'))], {
      script: (_, context) => {
        context.print('seven\n');
        return { value: '7' };
      },
    });
    const { chat, server } = played;
    const events = await collect(chat.run('y = 7; y'));
    expect(events.map(({ type }) => type)).toEqual(['code', 'output', 'code-result']);
    await chat.send('What did I do?');
    expect(said(server)).toMatch(/user ran this Python.*y = 7; y.*OUTCOME_OK.*seven/s);
    expect(refusals(server)).toEqual([]);
  });

  it('starts afresh on reset, in another session, with the files', async () => {
    await using played = await openChat([
      turn(call('1')),
      turn(text('a')),
      turn(call('2')),
      turn(text('b')),
    ]);
    const { chat, sandbox, server } = played;
    await chat.send('one', { files: ['package.json'] });
    await chat.reset();
    expect(chat.turns).toEqual([]);
    await chat.send('two');
    expect(said(server)).not.toContain('one');
    expect(sandbox.uploads).toHaveLength(2);
  });
});

describe('a turn that ends half-way', () => {
  it('keeps what was printed, performs nothing after it, tells the model, and leaves a history that the API takes', async () => {
    let stop = (): void => undefined;
    await using played = await openChat(
      [
        turn(
          calls(
            ['x = 1', { id: 'a', signature: 'c2lnbmVk' }],
            ['while True: pass', { id: 'b' }],
            ['pay()', { id: 'c' }],
          ),
        ),
        turn(text('Fine.')),
      ],
      {
        script: endless(() => {
          stop();
        }),
      },
    );
    const { chat, server, sandbox } = played;
    const reason = new Error('enough');
    stop = () => void chat.cancel(reason);
    await expect(chat.send('Go on for ever.')).rejects.toBe(reason);
    expect(sandbox.codes).toEqual(['x = 1', 'while True: pass']);
    expect(chat.turns[0]).toMatchObject({ status: 'cancelled', executions: 1 });
    expect(JSON.stringify(chat.contents)).toContain('step 1 of many');

    const result = await chat.send('What is x?');
    expect(result.text).toBe('Fine.');
    expect(refusals(server)).toEqual([]);
    const [, asked, answers, note] = lastContents(server);
    expect(asked?.parts[0]?.thoughtSignature).toBe('c2lnbmVk');
    expect(answers?.parts.map((part) => part.functionResponse?.id)).toEqual(['a', 'b', 'c']);
    expect(JSON.stringify(answers?.parts[1])).toMatch(/step 1 of many.*stopped before its end/s);
    expect(JSON.stringify(answers?.parts[2])).toContain('Not performed');
    expect(note?.parts[0]?.text).toMatch(/ended here.*The user stopped it/);
    // The session is the same one, so its variables are there.
    expect(sandbox.opened).toBe(1);
  });

  it('while the model writes, ends the turn only', async () => {
    const held = gate();
    await using played = await openChat([turn(text('Well'), held), turn(text('Yes.'))]);
    const { chat, server } = played;
    const sent = chat.send('Think.');
    await held.reached;
    const cancelled = chat.cancel();
    await expect(sent).rejects.toMatchObject({ name: 'AbortError' });
    await cancelled;
    await expect(chat.send('Still there?')).resolves.toMatchObject({ text: 'Yes.' });
    expect(refusals(server)).toEqual([]);
    expect(said(server)).toContain('Think.');
  });

  it('by leaving the loop early is cancelled, too', async () => {
    await using played = await openChat([turn(call('1')), turn(text('a')), turn(text('b'))]);
    for await (const event of played.chat.stream('one')) if (event.type === 'code') break;
    expect(played.chat.turns[0]?.status).toBe('cancelled');
    await played.chat.send('two');
    expect(refusals(played.server)).toEqual([]);
  });

  it('with an error can be gone on from', async () => {
    await using played = await openChat([
      turn(call('x = 1', { id: 'a', signature: 'c2ln' })),
      status(403, { message: 'No access today.' }),
      turn(text('Back.')),
    ]);
    const { chat, server } = played;
    await expect(chat.send('one')).rejects.toThrow('No access today');
    expect(chat.turns[0]).toMatchObject({ status: 'failed' });
    await chat.send('two');
    expect(refusals(server)).toEqual([]);
    expect(said(server)).toMatch(/x = 1.*No access today/s);
  });

  it.each([
    ['a blocked prompt', turn(blocked('SAFETY'))],
    ['a request that the API refuses', status(400, { message: 'Unsupported image.' })],
  ])('by %s is not sent again, or every later turn would end the same way', async (_, reply) => {
    await using played = await openChat([reply, turn(text('ok'))]);
    const { chat, server } = played;
    const notices: string[] = [];
    for (const prompt of ['something forbidden', 'something else']) {
      for await (const event of untilError(chat.stream(prompt))) {
        if (event.type === 'notice') notices.push(event.text);
      }
    }
    expect(said(server)).not.toContain('forbidden');
    expect(notices.join()).toContain('is not sent this turn again');
    expect(JSON.stringify(chat.contents)).toContain('forbidden');
  });

  it.each([
    ['a call', [turn(call('2', { id: 'late' }))]],
    ['nothing', Array.from({ length: 4 }, () => turn(finish('STOP')))],
  ])('by the limit of steps and %s leaves no empty content', async (_, replies) => {
    await using played = await openChat(
      [turn(call('1', { id: 'a' })), ...replies, turn(text('ok'))],
      { solver: { maxSteps: 1 } },
    );
    const { chat, server } = played;
    await expect(chat.send('one')).resolves.toMatchObject({ status: 'step-limit' });
    await chat.send('two');
    expect(refusals(server)).toEqual([]);
    expect(lastContents(server).filter(({ parts }) => parts.length === 0)).toEqual([]);
  });
});

it('the fenced mode declares no function, and sends none', async () => {
  const bad = turn(finish('MALFORMED_FUNCTION_CALL'));
  await using played = await openChat([
    turn(call('x = 1', { id: 'a', signature: 'c2ln' })),
    ...[bad, bad, bad],
    turn(text('```python\nprint(x)\n```')),
    turn(text('One.')),
    turn(text('Again.')),
  ]);
  const { chat, server, sandbox } = played;
  await expect(chat.send('one')).resolves.toMatchObject({ text: 'One.' });
  expect(sandbox.codes).toEqual(['x = 1', 'print(x)']);
  const fenced = server.requests.filter(({ body }) => body.tools === undefined);
  expect(fenced.length).toBeGreaterThan(0);
  for (const { body } of fenced) {
    expect(JSON.stringify(body.contents)).not.toContain('functionCall');
    expect(JSON.stringify(body.contents)).toContain('x = 1');
  }
  await chat.send('two');
  expect(said(server)).toContain('c2ln');
  expect(refusals(server)).toEqual([]);
});

it('a session lost in the middle tells the model what the script had printed', async () => {
  let lost = false;
  await using played = await openChat([turn(call('train()')), turn(text('ok'))], {
    script: (_, context) => {
      if (lost) return { value: '' };
      lost = true;
      context.print('epoch 7 done\n');
      throw new SandboxError('SESSION_LOST', 'The kernel died.');
    },
  });
  const events = await played.events('Train.');
  expect(said(played.server)).toMatch(/epoch 7 done.*a fresh one has been opened/s);
  expect(events.map(({ type }) => type)).toContain('notice');
  expect(played.sandbox.opened).toBe(2);
});

describe('a stored conversation', () => {
  const conversation = async (home: string): Promise<string> => {
    const folder = join(home, 'conversations');
    const name = (await readdir(folder)).find((each) => each.endsWith('.jsonl'));
    return join(folder, name ?? '');
  };

  it('is readable by its owner alone', async () => {
    await using played = await openChat([turn(text('ok'))]);
    await played.chat.send('secret');
    const path = await conversation(played.home);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(played.home, 'conversations'))).mode & 0o777).toBe(0o700);
  });

  it('is refused to a second process while it is open', async () => {
    await using played = await openChat([turn(text('ok'))]);
    await played.chat.send('one');
    await expect(openChat([], { home: played.home, resume: 'latest' })).rejects.toThrow(
      /open in another process/,
    );
  });

  it('goes on in another session when the old one is gone', async () => {
    await using first = await openChat([turn(call('x = 1', { id: 'a' })), turn(text('one'))]);
    await first.chat.send('Set x.', { files: ['package.json'] });
    const { id } = first.chat;
    await first.chat.close();
    await using second = await openChat([turn(call('x', { id: 'b' })), turn(text('two'))], {
      home: first.home,
      resume: id.slice(-8),
    });
    expect(second.chat.id).toBe(id);
    expect(second.chat.turns).toHaveLength(1);
    await collect(second.chat.rerun());
    expect(second.sandbox.codes).toEqual(['x = 1']);
    await second.chat.send('And x?');
    expect(second.sandbox.codes).toEqual(['x = 1', 'x']);
    expect(second.sandbox.uploads.map(({ path }) => path)).toEqual(['package.json']);
    expect(said(second.server)).toContain('Set x.');
    expect(refusals(second.server)).toEqual([]);
    expect(second.chat.usage.requests).toBe(4);
  });

  it('wherever a crash cuts it off, can be resumed with what had happened', async () => {
    await using first = await openChat(
      [
        turn(calls(['x = 1', { id: 'a', signature: 'c2ln' }], ['y = 2', { id: 'b' }])),
        turn(text('Both set.')),
      ],
      {
        script: (_, context) => {
          context.print('so far\n');
          return { value: '' };
        },
      },
    );
    await first.chat.send('Set both.');
    await collect(first.chat.run('z = 3'));
    await first.chat.close();
    const whole = await readFile(await conversation(first.home));
    const ends = [...whole.keys()].filter((at) => whole[at] === 0x0a);
    const cuts = ends.flatMap((end) => [end + 1, end - 5]).filter((cut) => cut > 300);
    expect(cuts.length).toBeGreaterThan(8);
    for (const cut of cuts) {
      const home = join(first.home, `cut-${cut}`);
      await mkdir(join(home, 'conversations'), { recursive: true });
      await writeFile(join(home, 'conversations', 'c.jsonl'), whole.subarray(0, cut));
      await using again = await openChat([turn(text('Here.'))], { home, resume: 'c' });
      await again.chat.send('Go on.');
      expect(refusals(again.server)).toEqual([]);
      expect(said(again.server)).toContain('Set both.');
      await again.chat.close();
      await using third = await openChat([turn(text('Here.'))], { home, resume: 'c' });
      await third.chat.send('And on.');
      expect(said(third.server)).toContain('Go on.');
    }
  });

  it('says so where there is none', async () => {
    await expect(openChat([], { resume: 'latest' })).rejects.toThrow(/no conversation to resume/);
  });
});

describe('a long conversation', () => {
  const long = 'row 12345\n'.repeat(1_500);
  const script: Script = (_, context) => {
    context.print(long);
    return { value: '' };
  };
  const asking = (count: number) =>
    Array.from({ length: count }, (_, index) => [
      turn(call(`step(${index})`)),
      turn(text(`Done ${index}.`)),
    ]).flat();

  it('goes to the model with early outputs in short, and says so', async () => {
    await using played = await openChat(asking(5), { script, contextTokens: 25_000 });
    const notices: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      for (const event of await played.events(`Step ${index}.`)) {
        if (event.type === 'notice') notices.push(event.text);
      }
    }
    expect(notices.join('\n')).toMatch(/outputs of its first \d turns in short/);
    expect(said(played.server)).toMatch(/characters.*cut/);
    expect(said(played.server)).toContain('Step 0.');
    expect(said(played.server).length).toBeLessThan(4 * 25_000 + 2 * long.length);
    expect(refusals(played.server)).toEqual([]);
    expect(JSON.stringify(played.chat.contents).length).toBeGreaterThan(5 * long.length);
  });

  it('goes on with a summary of its beginning where that is not enough', async () => {
    await using played = await openChat(
      [...asking(3), turn(text('The user counts steps.')), ...asking(1)],
      { script, contextTokens: 500 },
    );
    for (let index = 0; index < 3; index += 1) await played.chat.send(`Step ${index}.`);
    const events = await played.events('Step 3.');
    expect(JSON.stringify(events)).toContain('first 1 turns as a summary');
    expect(said(played.server)).toContain('The user counts steps.');
    expect(said(played.server)).not.toContain('Step 0.');
    expect(said(played.server)).toContain('Step 2.');
    expect(refusals(played.server)).toEqual([]);
  });
});
