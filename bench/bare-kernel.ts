import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Contender } from './measure.js';

/** A kernel driven by jupyter_client in its own process, which also takes the time. */
export async function openBareKernel(pythonPath: string, code: string): Promise<Contender> {
  const script = fileURLToPath(new URL('bare-kernel.py', import.meta.url));
  const child = spawn(pythonPath, [script], { stdio: ['pipe', 'pipe', 'ignore'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<unknown> => {
    const line = await lines.next();
    if (line.done === true) throw new Error(`${pythonPath} bench/bare-kernel.py ended early.`);
    return JSON.parse(line.value) as unknown;
  };
  await nextLine();
  return {
    name: 'bare jupyter_client',
    async measure() {
      child.stdin.write(`${JSON.stringify(code)}\n`);
      const { ms, stdout } = (await nextLine()) as { ms: number; stdout: string };
      if (stdout !== '2\n') throw new Error(`The bare kernel printed ${JSON.stringify(stdout)}.`);
      return ms;
    },
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      child.stdin.end();
      await exited;
    },
  };
}
