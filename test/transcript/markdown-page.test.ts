import { expect, it } from 'vitest';
import { markdownPage } from '../../src/transcript/markdown-page.js';

it('tells a run in order; no text breaks out of its fence', () => {
  const png = Buffer.from('png').toString('base64');
  const text = markdownPage({
    prompt: 'Two\n\nlines',
    contents: [
      { role: 'user', parts: [{ text: 'Two\n\nlines' }] },
      {
        role: 'model',
        parts: [
          { executableCode: { language: 'PYTHON', code: 'print("```")' } },
          { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '```\n' } },
          { inlineData: { mimeType: 'image/png', data: png } },
          { text: 'Done:\n```' },
          { executableCode: { language: 'PYTHON', code: 'never' } },
        ],
      },
    ],
    metadata: { model: 'm', status: 'answered' },
  });
  expect(text).toBe(`# A run of colab-solver

m · answered

> Two
>
> lines

**Script 1**

\`\`\`\`python
print("\`\`\`")
\`\`\`\`

OUTCOME_OK

\`\`\`\`text
\`\`\`
\`\`\`\`

![image-1][image-1]

Done:
\`\`\`
\`\`\`

**Script 2** (not run)

\`\`\`python
never
\`\`\`

[image-1]: data:image/png;base64,${png}
`);
});
