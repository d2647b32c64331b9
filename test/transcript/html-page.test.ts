import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Part } from '../../src/parts/part.js';
import { htmlPage, pageEnd, pageStart } from '../../src/transcript/html-page.js';

const HOSTILE = '</code></pre></script><script>alert(1)</script><img src=x onerror="alert(2)">';

const pageOf = (parts: Part[], prompt = 'q', metadata = {}): string =>
  htmlPage({
    prompt,
    contents: [
      { role: 'user', parts: [{ text: prompt }] },
      { role: 'model', parts },
    ],
    metadata,
  });
const dataPart = (mimeType: string, text: string, displayName?: string): Part => ({
  inlineData: {
    ...{ mimeType, data: Buffer.from(text).toString('base64') },
    ...(displayName !== undefined && { displayName }),
  },
});
/** Names of elements in the body that no page of ours has. */
const strangers = (source: string): string[] =>
  [...source.slice(source.indexOf('<body>')).matchAll(/<(\w+)/g)]
    .map(([, name = '']) => name)
    .filter((name) => /^(script|svg|iframe|object|embed|form|link|base|meta|style)$/.test(name));

describe('untrusted text', () => {
  it('is text wherever it comes from', () => {
    const source = pageOf(
      [
        { text: HOSTILE },
        { executableCode: { language: 'PYTHON', code: `"""${HOSTILE}"""` } },
        { codeExecutionResult: { outcome: 'OUTCOME_OK', output: HOSTILE } },
        dataPart('application/pdf', 'x', `"><script>${HOSTILE}`),
        dataPart(`image/png"><script>`, 'x'),
        { functionCall: { name: HOSTILE, args: { [HOSTILE]: HOSTILE } } },
        { fileData: { fileUri: `javascript:${HOSTILE}` } },
        { [HOSTILE]: HOSTILE },
      ],
      HOSTILE,
      { model: HOSTILE, reason: HOSTILE, files: [{ name: HOSTILE }] },
    );
    expect(strangers(source)).toEqual([]);
    expect(source).not.toMatch(/<img src=x/);
    expect(source.match(/&lt;script&gt;alert\(1\)/g)?.length).toBeGreaterThan(8);
  });

  it('leads nowhere but to web and mail addresses, and fetches nothing', () => {
    const source = pageOf([
      {
        text: '[a](javascript:alert(1)) [b](data:text/html,x) ![c](http://tracker.test/c.png) [d](https://d.test)',
      },
    ]);
    const links = [...source.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, link]) => link);
    expect(links).toEqual(['http://tracker.test/c.png', 'https://d.test']);
    expect(source).not.toContain('<img');
  });

  it('cannot show other code than it is', () => {
    const source = pageOf([{ executableCode: { language: 'PYTHON', code: '# ok\rrun()\u202E' } }]);
    expect(source).toMatch(/# ok<\/span>\n.*run.*\uFFFD/);
  });
});

describe('pictures', () => {
  it('are images that hold themselves; an SVG is never part of the page', () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
    const source = pageOf([dataPart('image/png', 'png'), dataPart('text/xml', svg)]);
    const images = [...source.matchAll(/<img src="data:([^;]*);base64,([^"]*)"/g)];
    expect(images.map(([, type]) => type)).toEqual(['image/png', 'image/svg+xml']);
    expect(Buffer.from(images[1]?.[2] ?? '', 'base64').toString()).toBe(svg);
    expect(strangers(source)).toEqual([]);
  });
});

describe('the page', () => {
  it('lets nothing take effect but its own style and script', () => {
    const source = pageStart('t', { script: 'start();' }) + pageEnd({ script: 'start();' });
    const hashIn = (element: string): string => {
      const text = source.split(`<${element}>`)[1]?.split(`</${element}>`)[0] ?? '';
      return `${element}-src 'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    };
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(source)?.[1];
    const said = policy?.replaceAll('&#39;', "'");
    expect(said).toContain("default-src 'none'");
    expect(said).toContain(hashIn('style'));
    expect(said).toContain(hashIn('script'));
  });

  it('marks the words of Python, also where it cannot be parsed', () => {
    const source = pageOf([{ executableCode: { language: 'PYTHON', code: 'def f(:\n  $ 1' } }]);
    expect(source).toContain('<span class="tok-keyword">def</span>');
    expect(source).toContain('<span class="tok-number">1</span>');
  });
});
