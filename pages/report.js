/* The samples of a report: a table that holds tens of thousands, its filters, and one sample at a time with its transcript.
   Everything is unpacked from data of the page itself. Text goes in as text; transcripts are markup in which all that
   came from outside was escaped when the page was written, and the page's policy lets no other script run. */
'use strict';

const ROW_PIXELS = 36;
const element = (id) => document.getElementById(id);

function make(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

async function unpack(block) {
  const packed = Uint8Array.from(atob(block.textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text());
}

const table = element('table');
const fields = JSON.parse(table.dataset.fields);
const isCompared = table.dataset.compared === 'yes';
const transcriptBlocks = [...document.querySelectorAll('script.transcripts')];
const number = (value) => value.toLocaleString('en-US');

const columns = [
  {
    name: 'id',
    text: (row) => (row.epoch === 1 ? row.name : `${row.name} · ${row.epoch}`),
    title: (row) => row.id,
    sort: (row) => row.order,
  },
  {
    name: 'verdict',
    className: 'standing',
    text: (row) => row.standing,
    mark: (row) => row.standing,
    sort: (row) => row.standing,
  },
  ...(isCompared
    ? [
        {
          name: 'before',
          className: 'before',
          text: (row) => row.before ?? '–',
          mark: (row) => row.before,
          sort: (row) => row.before ?? '',
        },
      ]
    : []),
  { name: 'question', className: 'prompt', text: (row) => row.prompt, sort: (row) => row.prompt },
  { name: 'answer', text: (row) => row.answer, sort: (row) => row.answer },
  { name: 'target', text: (row) => row.target, sort: (row) => row.target },
  {
    name: 'steps',
    className: 'number',
    text: (row) => number(row.steps),
    sort: (row) => row.steps,
  },
  {
    name: 'seconds',
    className: 'number',
    text: (row) => row.seconds.toFixed(1),
    sort: (row) => row.seconds,
  },
  {
    name: 'tokens',
    className: 'number',
    text: (row) => number(row.tokens),
    sort: (row) => row.tokens,
  },
];

let all = [];
let shown = [];
let sorting = { column: columns[0], direction: 1 };
let current = -1;

/* The table: only the rows in view are in the page. */

const heads = make('div', 'row heads');
const view = make('div', 'view');
const body = make('div', 'body');
view.tabIndex = 0;
view.append(body);
for (const column of columns) {
  const head = make('div', column.className);
  const button = make('button', '', column.name);
  button.type = 'button';
  button.addEventListener('click', () => {
    const again = sorting.column === column;
    sorting = { column, direction: again ? -sorting.direction : 1 };
    update();
  });
  head.append(button);
  column.head = head;
  heads.append(head);
}
table.classList.toggle('compared', isCompared);
table.replaceChildren(heads, view);
view.addEventListener('scroll', draw, { passive: true });
new ResizeObserver(draw).observe(view);

function draw() {
  const first = Math.max(0, Math.floor(view.scrollTop / ROW_PIXELS) - 8);
  const last = Math.min(
    shown.length,
    Math.ceil((view.scrollTop + view.clientHeight) / ROW_PIXELS) + 8,
  );
  const rows = [];
  for (let index = first; index < last; index += 1) rows.push(drawnRow(shown[index], index));
  body.replaceChildren(...rows);
}

function drawnRow(row, index) {
  const drawn = make('div', 'row');
  drawn.style.top = `${index * ROW_PIXELS}px`;
  for (const column of columns) {
    const cell = make('div', column.className, column.text(row));
    if (column.mark?.(row)) cell.classList.add(column.mark(row));
    cell.title = column.title?.(row) ?? cell.textContent;
    drawn.append(cell);
  }
  drawn.addEventListener('click', () => open(index));
  return drawn;
}

/* Filters */

function isWanted(row) {
  const standing = element('standing').value;
  if (standing === 'gained' || standing === 'lost') {
    const [before, now] = standing === 'gained' ? ['wrong', 'correct'] : ['correct', 'wrong'];
    if (row.before !== before || row.standing !== now) return false;
  } else if (standing !== '' && row.standing !== standing) return false;
  const status = element('status').value;
  if (status !== '' && row.status !== status) return false;
  const group = element('group').value;
  if (group !== '') {
    const [field, value] = JSON.parse(group);
    if (!row.groups[field].includes(value)) return false;
  }
  const words = element('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => row.text.includes(word));
}

function update() {
  const { column, direction } = sorting;
  const compare = (a, b) => {
    const [x, y] = [column.sort(a), column.sort(b)];
    const order = typeof x === 'number' ? x - y : x.localeCompare(y, 'en', { numeric: true });
    return direction * order || a.order - b.order;
  };
  shown = all.filter(isWanted).sort(compare);
  for (const { head } of columns) head.removeAttribute('aria-sort');
  column.head.setAttribute('aria-sort', direction === 1 ? 'ascending' : 'descending');
  element('shown').textContent =
    shown.length === all.length
      ? number(all.length)
      : `${number(shown.length)} of ${number(all.length)}`;
  body.style.height = `${shown.length * ROW_PIXELS}px`;
  view.scrollTop = 0;
  draw();
  if (shown.length === 0) body.append(make('p', 'nothing', 'No sample is like that.'));
}

function fillChoices() {
  const statuses = [...new Set(all.map((row) => row.status))].sort();
  for (const status of statuses) element('status').append(new Option(status, status));
  for (const [field, name] of fields.entries()) {
    const values = [...new Set(all.flatMap((row) => row.groups[field]))];
    values.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
    const set = make('optgroup');
    set.label = name;
    for (const value of values) set.append(new Option(value, JSON.stringify([field, value])));
    element('group').append(set);
  }
  element('status').hidden = statuses.length < 2;
  element('group').hidden = fields.length === 0;
}

element('filters').addEventListener('input', update);
element('filters').addEventListener('submit', (event) => event.preventDefault());

/* One sample */

const dialog = element('sample');
let unpacked = { block: -1, transcripts: [] };

async function open(index) {
  const row = shown[index];
  if (row === undefined) return;
  current = index;
  element('sample-id').textContent = row.epoch === 1 ? row.id : `${row.id}, epoch ${row.epoch}`;
  element('previous').disabled = index === 0;
  element('next').disabled = index === shown.length - 1;
  const facts = [
    ['verdict', row.standing + (row.before === undefined ? '' : ` (before: ${row.before})`)],
    ['why', row.explanation],
    ['answer', row.answer],
    ['target', row.target],
    ['ending', row.status],
    [
      'effort',
      `${number(row.steps)} steps, ${number(row.scripts)} scripts, ${row.seconds.toFixed(1)} s, ${number(row.tokens)} tokens`,
    ],
    ...fields.map((field, at) => [field, row.groups[at].join(', ')]),
  ].filter(([, text]) => text !== '');
  element('verdict').replaceChildren(
    ...facts.flatMap(([name, text]) => [
      make('dt', '', name),
      make('dd', name === 'verdict' ? `standing ${row.standing}` : '', text),
    ]),
  );
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  const [block, place] = row.place;
  if (unpacked.block !== block) {
    element('transcript').textContent = '…';
    const transcripts = await unpack(transcriptBlocks[block]);
    unpacked = { block, transcripts };
  }
  if (shown[current] !== row) return;
  element('transcript').innerHTML = unpacked.transcripts[place];
  history.replaceState(null, '', `#${encodeURIComponent(JSON.stringify([row.id, row.epoch]))}`);
}

element('previous').addEventListener('click', () => open(current - 1));
element('next').addEventListener('click', () => open(current + 1));
element('close').addEventListener('click', () => dialog.close());
dialog.addEventListener('close', () => history.replaceState(null, '', ' '));
dialog.addEventListener('click', (event) => {
  if (event.target === dialog && event.clientX < dialog.getBoundingClientRect().left)
    dialog.close();
});
dialog.addEventListener('keydown', (event) => {
  if (event.target.closest('pre')) return;
  if (event.key === 'ArrowLeft') open(current - 1);
  if (event.key === 'ArrowRight') open(current + 1);
});
view.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') open(Math.round(view.scrollTop / ROW_PIXELS));
});

/** A link to the page can name a sample. */
function openNamed() {
  try {
    const [id, epoch] = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    open(shown.findIndex((row) => row.id === id && row.epoch === epoch));
  } catch {
    // No sample is named.
  }
}

/** What all ids begin with, up to a separator: it tells nothing apart. */
function commonPrefix(ids) {
  let prefix = ids.length > 1 ? ids[0] : '';
  for (const id of ids) {
    while (!id.startsWith(prefix)) prefix = prefix.slice(0, -1);
  }
  return /^.*[-_/.: ]/.exec(prefix)?.[0] ?? '';
}

async function start() {
  for (const block of document.querySelectorAll('script.rows')) {
    for (const row of await unpack(block)) all.push(row);
    block.remove();
  }
  const prefix = commonPrefix(all.map((row) => row.id));
  for (const [order, row] of all.entries()) {
    row.order = order;
    row.name = prefix.length > 6 ? `…${row.id.slice(prefix.length)}` : row.id;
    row.text = [
      row.id,
      row.prompt,
      row.answer,
      row.target,
      row.explanation,
      row.status,
      ...row.groups.flat(),
    ]
      .join('\n')
      .toLowerCase();
  }
  fillChoices();
  update();
  openNamed();
}

start();
