import { openLocalSandbox } from '../src/sandbox/local/local-sandbox.js';
import type { Sandbox } from '../src/sandbox/sandbox.js';
import { measureInTurns } from './measure.js';
import type { Contender, MeasureOptions } from './measure.js';
import { ratio } from './report.js';
import type { Report } from './report.js';

const code = 'print(1+1)';
const TAKE_OUT = `
shell = get_ipython()
watch = shell.colab_session_watch
shell.events.unregister('pre_run_cell', watch.before_cell)
shell.events.unregister('post_run_cell', watch.after_cell)
del shell.display_pub.publish, shell.displayhook.write_format_data
`;
const limit = { timeoutMs: 60_000 };

/** What noting displays and files costs a script that makes neither. */
export async function measureDisplays(options: MeasureOptions): Promise<Report> {
  await using sandbox = await openLocalSandbox({
    env: process.env,
    isolation: 'auto',
    allowNetwork: false,
  });
  await using watched = await session(sandbox, 'watched', '');
  await using plain = await session(sandbox, 'without the watch', TAKE_OUT);
  const spreads = await measureInTurns([watched, plain], options);
  return { spreads, ratios: [ratio(spreads, watched, plain, { goal: 1.03 })] };
}

async function session(sandbox: Sandbox, name: string, preparation: string): Promise<Contender> {
  const opened = await sandbox.openSession();
  const prepared = await opened.execute(preparation, limit);
  if (prepared.status !== 'ok') throw new Error(`${name} cannot be prepared.`);
  return {
    name,
    async measure() {
      const started = performance.now();
      await opened.execute(code, limit);
      return performance.now() - started;
    },
    [Symbol.asyncDispose]: () => opened.close(),
  };
}
