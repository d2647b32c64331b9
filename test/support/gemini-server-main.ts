/**
 * A Gemini server as a process of its own: `tsx test/support/gemini-server-main.ts <script.json>`.
 * The file holds a list of replies, or `{ replies, repeat?, apiKey?, models?, port? }`; it prints its URL and serves
 * until it is ended. `requests` are printed as JSON lines with `--log-requests`.
 */
import { readFile } from 'node:fs/promises';
import { startGeminiServer } from './gemini-server.js';
import type { GeminiServerOptions, StaticReply } from './gemini-server.js';

type Script = StaticReply[] | (GeminiServerOptions & { replies: StaticReply[] });

const [path, ...flags] = process.argv.slice(2);
if (path === undefined) throw new Error('Give the JSON file with the replies.');
const script = JSON.parse(await readFile(path, 'utf8')) as Script;
const { replies, ...options } = Array.isArray(script) ? { replies: script } : script;
const server = await startGeminiServer(replies, options);
process.stdout.write(`${server.url}\n`);

if (flags.includes('--log-requests')) {
  for (let count = 1; ; count += 1) {
    const { path: requestPath, body, refusal } = await server.request(count);
    process.stdout.write(`${JSON.stringify({ path: requestPath, body, refusal })}\n`);
  }
}
