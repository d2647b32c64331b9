/** Packs the package, installs it elsewhere without development dependencies, and uses it as a stranger would. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const { version, devDependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
) as {
  version: string;
  devDependencies: Record<string, string>;
};

const scratch = mkdtempSync(join(tmpdir(), 'colab-solver-package-'));
try {
  checkPackage();
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function checkPackage(): void {
  const consumer = join(scratch, 'consumer');
  mkdirSync(consumer);
  writeFileSync(join(consumer, 'package.json'), '{"private":true,"type":"module"}\n');
  install(pack(), consumer);
  const installed = join(consumer, 'node_modules', 'colab-solver');
  checkContents(consumer, installed);
  checkLibrary(consumer);
  checkTypes(consumer);
  checkCommand(consumer);
  checkDemo(consumer, installed);
}

function pack(): string {
  say('packing');
  run('npm', ['pack', '--silent', '--pack-destination', scratch], root);
  const [tarball] = readdirSync(scratch).filter((name) => name.endsWith('.tgz'));
  assert(tarball, 'npm pack left no tarball');
  return join(scratch, tarball);
}

function install(wanted: string, consumer: string): void {
  say('installing');
  const quiet = ['--omit=dev', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  run('npm', ['install', ...quiet, wanted], consumer);
}

function checkContents(consumer: string, installed: string): void {
  for (const name of [
    'dist/index.js',
    'dist/index.d.ts',
    'dist/cli/main.js',
    'README.md',
    'LICENSE',
    'CHANGELOG.md',
    'prompts',
    'python',
  ])
    assert(existsSync(join(installed, name)), `the package lacks ${name}`);
  for (const name of ['src', 'test', 'bench', 'docs', '.ci', 'node_modules'])
    assert(!existsSync(join(installed, name)), `the package should not hold ${name}`);
  for (const name of ['vitest', 'typescript', 'tsx', 'eslint'])
    assert(
      name in devDependencies && !existsSync(join(consumer, 'node_modules', name)),
      `${name} was installed`,
    );
  say('holds what it should');
}

function checkLibrary(consumer: string): void {
  const script = `const m = await import('colab-solver'); console.log(typeof m.solve, typeof m.createSolver);`;
  const printed = run(process.execPath, ['--input-type=module', '--eval', script], consumer);
  assert.equal(printed.trim(), 'function function');
  say('can be imported');
}

function checkTypes(consumer: string): void {
  // A consumer's zod need not be ours.
  install('zod@4.1.13', consumer);
  writeFileSync(
    join(consumer, 'consumer.ts'),
    [
      `import { createSolver, defineFunction, solve, type SolveResult } from 'colab-solver';`,
      `const result: SolveResult = await solve('1 + 1?');`,
      `export const text: string = result.text;`,
      `import { z } from 'zod';`,
      `export const limited = (maxSteps?: number) => solve('1 + 1?', { maxSteps });`,
      `const parameters = z.object({ n: z.number() });`,
      `const half = defineFunction({ name: 'half', description: '', parameters, execute: ({ n }) => n / 2 });`,
      `void solve('7 / 2?', { functions: [half, { ...half, name: 'again', parameters }] });`,
      `export const close = async (): Promise<void> => (await createSolver()).close();`,
      `// @ts-expect-error a number is no prompt; without types this line would be right`,
      `void solve(1);`,
    ].join('\n'),
  );
  const compilerOptions = {
    ...{ target: 'ES2023', module: 'NodeNext', lib: ['ES2023', 'ESNext.Disposable', 'DOM'] },
    ...{ strict: true, exactOptionalPropertyTypes: true },
    ...{ noEmit: true, skipLibCheck: true, types: [] },
  };
  const config = { compilerOptions, files: ['consumer.ts'] };
  writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify(config));
  run(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc')], consumer);
  say('has types');
}

function checkCommand(consumer: string): void {
  assert.equal(command(['--version'], consumer).trim(), version);
  assert.match(command(['--help'], consumer), /\bsolve\b[\s\S]*\breplay\b[\s\S]*\bdoctor\b/);
  say('has its command');
}

/** Plays a recorded run of the demo, scripts and all, on the embedded sandbox. */
function checkDemo(consumer: string, installed: string): void {
  const demo = join(installed, 'examples', 'demo');
  const [recording] = readdirSync(demo).filter((name) => name.endsWith('.jsonl'));
  assert(recording, 'examples/demo holds no recorded run');
  const path = join(demo, recording);
  const { prompt } = JSON.parse(readFileSync(path, 'utf8').split('\n', 1)[0] ?? '') as {
    prompt: string;
  };
  const printed = command(['solve', '--model', `replay:${path}`, '--json', prompt], consumer);
  const result = JSON.parse(printed) as { status: string; contents: unknown };
  assert.equal(result.status, 'answered');
  assert.match(JSON.stringify(result.contents), /"outcome":"OUTCOME_OK"/);
  say(`solves ${recording}`);
}

function command(words: string[], consumer: string): string {
  return run('npx', ['--no-install', 'colab-solver', ...words], consumer);
}

function run(program: string, words: string[], cwd: string): string {
  const limitMs = 5 * 60_000;
  return execFileSync(program, words, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: limitMs,
  });
}

function say(text: string): void {
  console.log(`package: ${text}`);
}
