/** How transcripts look: one column that reads well on a telephone and on a wide screen, light or dark as the reader has it. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #1f2328; --soft: #59636e; --line: #d8dee4; --inset: #f6f8fa; --accent: #0b57d0; --wash: #eef4ff;
  --good: #1a7f37; --bad: #cf222e; --late: #8a5a00;
  --keyword: #a0309d; --string: #14693a; --number: #0a58b8; --comment: #6a737d; --name: #7a4b00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171c; --ink: #e3e7ec; --soft: #9aa4af; --line: #30363d; --inset: #1c2128; --accent: #8ab4f8; --wash: #1a2433;
    --good: #56d364; --bad: #ff8f86; --late: #e3b341;
    --keyword: #e09bea; --string: #8bd5a0; --number: #84b9ff; --comment: #8b949e; --name: #e5c07b;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 56rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; overflow-wrap: break-word;
}
header { margin-bottom: 1.5rem; padding-bottom: 1rem; border-bottom: 1px solid var(--line); }
h1 { margin: 0 0 .35rem; font-size: 1.35rem; line-height: 1.3; }
h2 { margin: 0; font-size: .8rem; font-weight: 600; color: var(--soft); }
a { color: var(--accent); }
.details, .reason, .attachment { margin: 0; color: var(--soft); font-size: .85rem; }
.reason { color: var(--late); }
.said { margin: 1.1rem 0; }
.said > :first-child { margin-top: 0; }
.said > :last-child { margin-bottom: 0; }
.said.user { padding: .75rem 1rem; border-radius: .6rem; background: var(--wash); }
.said.user p { white-space: pre-line; }
.aside { margin: 1.1rem 0; padding-left: .9rem; border-left: 3px solid var(--line); color: var(--soft); font-size: .9rem; }
.script { margin: 1.1rem 0; border: 1px solid var(--line); border-radius: .6rem; overflow: hidden; }
.script h2 { display: flex; justify-content: space-between; gap: 1rem; padding: .4rem .9rem; border-bottom: 1px solid var(--line); }
.ending.good { color: var(--good); }
.ending.bad { color: var(--bad); }
.ending.late { color: var(--late); }
pre, code, samp { font: .84rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; tab-size: 4; }
pre { margin: 0; padding: .75rem .9rem; max-height: 32rem; overflow: auto; }
p code, li code, td code { padding: .1em .3em; border-radius: .3em; background: var(--inset); }
.said pre, .aside pre { border-radius: .4rem; background: var(--inset); }
.said pre code, .aside pre code { padding: 0; background: none; }
pre.code { background: var(--inset); }
pre.output { border-top: 1px solid var(--line); }
pre:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
figure { margin: 0; padding: .75rem .9rem; }
.script figure, .script .attachment { border-top: 1px solid var(--line); }
.script .attachment { padding: .5rem .9rem; }
img { display: block; max-width: 100%; height: auto; background: #fff; border-radius: .3rem; }
table { display: block; max-width: 100%; overflow-x: auto; border-collapse: collapse; }
th, td { padding: .3rem .6rem; border: 1px solid var(--line); text-align: left; }
blockquote { margin: 1rem 0; padding-left: .9rem; border-left: 3px solid var(--line); color: var(--soft); }
.tok-keyword, .tok-operatorKeyword { color: var(--keyword); }
.tok-string, .tok-string2 { color: var(--string); }
.tok-number, .tok-bool, .tok-atom { color: var(--number); }
.tok-comment { color: var(--comment); font-style: italic; }
.tok-definition, .tok-className, .tok-meta { color: var(--name); }
@media print { pre { max-height: none; white-space: pre-wrap; } }
`;
