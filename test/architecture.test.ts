import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  brokenArrows,
  emptilyNamed,
  machineTraces,
  strayVendors,
  vendorPlaces,
} from './support/house-rules.js';
import { cyclesIn, exportsOf, importsOf, stringsIn, trackedFiles } from './support/source-graph.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(`${root}/${path}`, 'utf8');

const files = trackedFiles(root, '');
const sources = new Map([...files].filter(([path]) => /^src\/.*\.ts$/.test(path)));
const imports = importsOf(sources);

/** What a made-up source tree imports. */
function importsOfTree(tree: Record<string, string>) {
  return importsOf(new Map(Object.entries(tree)));
}

describe('arrows', () => {
  it('there is something to judge', () => {
    expect(sources.size).toBeGreaterThan(10);
    expect(imports.length).toBeGreaterThan(20);
  });

  it('imports run one way only', () => {
    expect(brokenArrows(imports)).toEqual([]);
  });

  it('there are no circles', () => {
    expect(cyclesIn(imports)).toEqual([]);
  });

  it.each([
    ['a sandbox that knows parts', 'src/sandbox/sandbox.ts', '../parts/part.js'],
    ['a sandbox that knows the agent', 'src/sandbox/colab/client.ts', '../../agent/model.js'],
    ['parts that know the agent', 'src/parts/part.ts', '../agent/model.js'],
    ['parts that use the sandbox', 'src/parts/part.ts', '../sandbox/execution.js'],
    ['an agent that names Gemini', 'src/agent/loop.ts', './gemini-model.js'],
    ['an agent that names Colab', 'src/agent/loop.ts', '../sandbox/colab/client.js'],
    ['an agent that knows batch', 'src/agent/loop.ts', '../batch/runner.js'],
    ['a batch that knows the command line', 'src/batch/runner.ts', '../cli/main.js'],
    ['a public face that names Jupyter', 'src/index.ts', './sandbox/local/server.js'],
    ['a client that leans on our server', 'src/sandbox/colab/a.ts', '../local/b.js'],
    ['errors that know anything', 'src/errors.ts', './abort.js'],
    ['a logger that knows the configuration', 'src/logger.ts', './config.js'],
    ['a file outside every room', 'src/extras/thing.ts', '../errors.js'],
  ])('would notice %s', (_worry, from, specifier) => {
    expect(
      brokenArrows(importsOfTree({ [from]: `import { x } from '${specifier}';` })),
    ).toHaveLength(1);
    expect(brokenArrows(importsOfTree({ [from]: `await import('${specifier}');` }))).toHaveLength(
      1,
    );
    expect(brokenArrows(importsOfTree({ [from]: `export * from '${specifier}';` }))).toHaveLength(
      1,
    );
  });

  it('lets parts take types, and only types, of the execution', () => {
    const specifier = '../sandbox/execution.js';
    const arrows = (text: string) => brokenArrows(importsOfTree({ 'src/parts/outcome.ts': text }));
    expect(arrows(`import type { A } from '${specifier}';`)).toEqual([]);
    expect(arrows(`type A = import('${specifier}').A;`)).toEqual([]);
    expect(arrows(`import { type A } from '${specifier}';`)).toHaveLength(1);
  });

  it('would notice a circle, also one of types only', () => {
    const tree = {
      'src/a.ts': `import './b.js';`,
      'src/b.ts': `import type { C } from './c.js';`,
      'src/c.ts': `export { b } from './b.js';`,
    };
    expect(cyclesIn(importsOfTree(tree))).toEqual([['src/b.ts', 'src/c.ts']]);
  });
});

describe('vendors', () => {
  it('are named in their places only', () => {
    expect(strayVendors(imports)).toEqual([]);
  });

  it.each([
    ['@google/genai', 'src/agent/loop.ts'],
    ['@modelcontextprotocol/sdk/client/index.js', 'src/agent/loop.ts'],
    ['pino', 'src/cli/main.ts'],
    ['left-pad', 'src/parts/part.ts'],
  ])('would notice %s in %s', (name, from) => {
    expect(strayVendors(importsOfTree({ [from]: `import x from '${name}';` }))).toHaveLength(1);
  });

  const { dependencies } = JSON.parse(read('package.json')) as {
    dependencies: Record<string, string>;
  };
  const named = new Set(imports.map(({ to }) => to));

  it('are installed only where they are used', () => {
    expect(Object.keys(dependencies).filter((name) => !named.has(name))).toEqual([]);
  });

  it('have a place each, and a reason in docs/decisions', () => {
    const record = read('docs/decisions/0010-dependencies.md');
    const isExplained = (name: string) => new RegExp(`^\\| \`${name}\`\\s*\\|`, 'm').test(record);
    expect(Object.keys(dependencies).filter((name) => !isExplained(name))).toEqual([]);
    expect(Object.keys(dependencies).filter((name) => !(name in vendorPlaces))).toEqual([]);
  });
});

describe('names', () => {
  it('of files say what the thing is', () => {
    expect(emptilyNamed(files.keys())).toEqual([]);
  });

  it.each(['src/utils/a.ts', 'src/agent/types.ts', 'test/support/helpers.ts', 'src/core.ts'])(
    'would notice %s',
    (path) => {
      expect(emptilyNamed([path])).toEqual([path]);
    },
  );

  it('of the public face are those of test/public-names.txt', () => {
    const expected = read('test/public-names.txt').trim().split('\n');
    expect(exportsOf('src/index.ts', read('src/index.ts')).sort()).toEqual(expected.sort());
  });

  it('would notice an export of everything', () => {
    expect(exportsOf('a.ts', `export * from './b.js';`)).toEqual(['*']);
    expect(exportsOf('a.ts', `export const a = 1;`)).toEqual(['a']);
    expect(exportsOf('a.ts', `export { b, type C } from './b.js';`)).toEqual(['b', 'type C']);
  });
});

describe('prompts', () => {
  const prompts = readdirSync(`${root}/prompts`)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => name.replace(/\.md$/, ''));

  it('are each listed in their README', () => {
    const list = read('prompts/README.md');
    const listed = [...list.matchAll(/\]\(([\w-]+)\.md\)/g)].map(([, name]) => name);
    expect(listed.sort()).toEqual(prompts.sort());
  });

  it('are each used', () => {
    const strings = new Set([...sources].flatMap(([path, text]) => stringsIn(path, text)));
    expect(prompts.length).toBeGreaterThan(0);
    expect(prompts.filter((name) => !strings.has(name))).toEqual([]);
  });
});

describe('documentation', () => {
  const unions = [...read('src/errors.ts').matchAll(/type (\w+Error)Code =([^;]+);/g)];

  it.each(unions.map(([, name, union]) => [name, union?.match(/[A-Z][A-Z_]+(?=')/g)]))(
    'explains every code of %s, and no other',
    (name, codes) => {
      const section = read('docs/errors.md')
        .split(`\n## ${String(name)}\n`)[1]
        ?.split('\n## ')[0];
      const explained = [...(section ?? '').matchAll(/^\| `([A-Z_]+)`\s*\|/gm)].map(
        ([, code]) => code,
      );
      expect(explained.sort()).toEqual([...(codes ?? [])].sort());
    },
  );

  it('knows of the four kinds of codes', () => {
    expect(unions.map(([, name]) => name)).toEqual([
      'ConfigError',
      'ModelError',
      'SandboxError',
      'BatchError',
    ]);
  });
});

describe('traces', () => {
  it('of one machine are nowhere', () => {
    expect(machineTraces(files)).toEqual([]);
  });

  it.each([
    ['a home folder', ['', 'home', 'anna', 'x'].join('/')],
    ['a working folder', ['', 'work', 'main'].join('/')],
    ['a registry', ['https://registry', 'npmjs.org/zod'].join('.')],
  ])('would notice %s', (_kind, text) => {
    expect(machineTraces(new Map([['a.md', `first\nsee ${text}`]]))).toEqual([
      `a.md:2: see ${text}`,
    ]);
  });
});
