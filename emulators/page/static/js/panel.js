// The panel on the right: the records of the space's sessions, what was decided on its messages, and how the webhook answered.
import { h, icon, clock } from './dom.js';
import { state, on, currentSpace } from './store.js';
import { call } from './api.js';
import { traceRow, hasTraces } from './trace.js';
import { start as startDecisions, showDecisions, drawDecisions } from './decisions.js';

const panel = document.getElementById('panel');
const tabs = ['Records', 'Decisions', 'Webhook'];
let tab = 0;
const open = new Set(); // ids of records that are unfolded
const faults = { list: [] };

// The rows of the message model's table.
const classes = [
  ['nudge', 'Unknown'],
  ['person', 'User prompt'],
  ['clock', 'Cron prompt'],
  ['fold', 'Compaction'],
  ['spark', 'Thought'],
  ['chat', 'Final reply'],
  ['tool', 'Tool call'],
  ['result', 'Tool result'],
  ['file', 'System prompt'],
  ['bell', 'Alert'],
  ['nudge', 'Nudge'],
  ['bell', 'Notification'],
  ['alert', 'Crash notice'],
];

const body = h('div', { class: 'panel-body', id: 'panel-body', role: 'tabpanel', tabindex: '0' });
const strip = h(
  'div',
  { class: 'tabs', role: 'tablist', 'aria-label': 'Panel' },
  tabs.map((name, i) =>
    h('button', { type: 'button', role: 'tab', id: `tab-${i}`, 'aria-controls': 'panel-body', onclick: () => show(i) }, name),
  ),
);

export function start() {
  panel.append(strip, body);
  strip.addEventListener('keydown', (e) => {
    const next = { ArrowLeft: tab - 1, ArrowRight: tab + 1, Home: 0, End: -1 }[e.key];
    if (next === undefined) return;
    e.preventDefault();
    show((next + tabs.length) % tabs.length);
    strip.children[tab].focus();
  });
  startDecisions();
  on('records', () => tab === 0 && drawRecords());
  on('decisions', () => tab === 1 && drawDecisions(body));
  on('deliveries', () => tab === 2 && drawCalls());
  on('snapshot', () => redraws[tab]());
  on('spaces', () => tab === 2 && show(2));
  on('open', () => show(tab));
  show(0);
}

// What shows a tab anew, and what brings it up to date.
const views = [drawRecords, () => showDecisions(body), drawWebhook];
const redraws = [drawRecords, () => drawDecisions(body), drawCalls];

function show(i) {
  tab = i;
  [...strip.children].forEach((b, n) => {
    b.setAttribute('aria-selected', String(n === i));
    b.tabIndex = n === i ? 0 : -1;
  });
  body.setAttribute('aria-labelledby', `tab-${i}`);
  body.replaceChildren();
  views[i]();
}

function drawRecords() {
  if (!state.sessions.size || state.recordsError) {
    body.replaceChildren(
      h(
        'div',
        { class: 'empty' },
        icon('panel'),
        h('p', {}, state.recordsError || 'What Kesoku stores of this space appears here, as it happens.'),
      ),
    );
    return;
  }
  body.querySelector('.empty')?.remove();
  const atEnd = body.scrollHeight - body.scrollTop - body.clientHeight < 60;
  [...state.sessions.keys()].forEach((id, i, ids) => session(id, i === ids.length - 1));
  if (atEnd) body.scrollTop = body.scrollHeight;
}

/** session shows one session's records, changing only the rows that changed. */
function session(id, newest) {
  let el = [...body.querySelectorAll('.session')].find((have) => have.dataset.id === id);
  if (!el) {
    el = h(
      'details',
      { class: 'session', 'data-id': id, open: newest },
      h('summary', {}, h('span', { class: 'session-id' }, `Session ${id.slice(0, 10)}`), h('span', { class: 'session-count' })),
      h('ol'),
    );
    body.append(el);
  }
  const records = state.sessions.get(id);
  el.querySelector('.session-count').textContent = `${records.length} ${records.length === 1 ? 'record' : 'records'}`;
  const list = el.querySelector('ol');
  const rows = new Map([...list.children].map((row) => [row.dataset.id, row]));
  let before = null;
  for (const { key, json, make } of rowsOf(id, records)) {
    let row = rows.get(key);
    rows.delete(key);
    if (!row || row.recordJSON !== json) {
      const made = make();
      made.recordJSON = json;
      if (row) {
        row.replaceWith(made);
        made.classList.add('changed');
      }
      row = made;
    }
    const place = before ? before.nextSibling : list.firstChild;
    if (place !== row) list.insertBefore(row, place);
    before = row;
  }
  for (const row of rows.values()) row.remove();
}

/** rowsOf lists a session's rows: its records, and behind the last one of each turn the turn's trace. */
function rowsOf(id, records) {
  const last = new Map(records.map((r, i) => [r.turn, i]));
  return records.flatMap((r, i) => {
    const rows = [{ key: r.id, json: JSON.stringify(r), make: () => record(r) }];
    if (hasTraces() && r.turn && last.get(r.turn) === i) {
      const make = () => h('li', { class: 'trace', 'data-id': `trace-${r.turn}` }, traceRow(id, r.turn));
      rows.push({ key: `trace-${r.turn}`, json: '', make });
    }
    return rows;
  });
}

function record(r) {
  const [sign, name] = classes[r.class] || classes[0];
  const details = h(
    'details',
    { open: open.has(r.id), ontoggle: (e) => (e.target.open ? open.add(r.id) : open.delete(r.id)) },
    h(
      'summary',
      {},
      h('span', { class: `sign class-${r.class}` }, icon(sign)),
      h(
        'span',
        { class: 'record-main' },
        h('span', { class: 'record-top' }, h('b', {}, name), h('span', { class: `status s-${r.status}` }, r.status)),
        h(
          'span',
          { class: 'record-text' },
          r.metadata?.tool_name && r.class === 6
            ? `${r.metadata.tool_name} ${JSON.stringify(r.metadata.tool_arguments ?? {})}`
            : r.content || '—',
        ),
        h('span', { class: 'record-meta' }, `${r.sender} · ${r.role}/${r.type} · turn ${r.turn}.${r.step} · #${r.seq}`),
      ),
    ),
    h('pre', { tabindex: '0' }, JSON.stringify(r, null, 2)),
  );
  return h('li', { class: 'record', 'data-id': r.id }, details);
}

async function drawWebhook() {
  const s = currentSpace();
  if (!s) return;
  body.replaceChildren(
    settings(s),
    h('h3', {}, 'Calls'),
    h('ol', { class: 'calls' }),
    h('h3', {}, 'Faults of the REST API'),
    faultForm(),
    h('ul', { class: 'faults' }),
  );
  drawCalls();
  drawFaults(await call('faults', null, 'GET'));
}

function settings(s) {
  const change = (what) => call('settings', { space: s.name, settings: { ...s.settings, ...what } });
  const check = (key, text) =>
    h(
      'label',
      { class: 'check' },
      checkbox(s.settings[key], (on) => change({ [key]: on })),
      text,
    );
  return h(
    'div',
    { class: 'settings' },
    h('h3', {}, 'How this space is told'),
    h(
      'label',
      { class: 'field' },
      'Form of events',
      select(['addon', 'classic'], s.settings.form, (form) => change({ form })),
    ),
    h(
      'label',
      { class: 'field' },
      'Copies of each event',
      select(['1', '2', '3'], String(s.settings.copies), (n) => change({ copies: Number(n) })),
    ),
    check('space_events', 'Space events for every message'),
  );
}

function checkbox(on, f) {
  const box = h('input', { type: 'checkbox', onchange: () => f(box.checked) });
  box.checked = on;
  return box;
}

function select(values, chosen, f) {
  const el = h(
    'select',
    { onchange: () => f(el.value) },
    values.map((v) => h('option', { value: v, selected: v === chosen }, v)),
  );
  return el;
}

function drawCalls() {
  const list = body.querySelector('.calls');
  if (!list) return;
  const rows = [...state.deliveries]
    .reverse()
    .slice(0, 30)
    .map((d) =>
      h(
        'li',
        {},
        h(
          'span',
          { class: `code ${!d.done ? 'wait' : d.status >= 200 && d.status < 300 ? 'good' : 'bad'}` },
          d.done ? String(d.status || '×') : '…',
        ),
        h(
          'span',
          { class: 'call-kind', title: d.error || d.kind },
          d.kind.replace('google.workspace.chat.', ''),
          d.attempt > 1 ? ` · attempt ${d.attempt}` : '',
          d.copy > 1 ? ` · copy ${d.copy}` : '',
        ),
        h('span', { class: 'call-ms' }, d.done ? `${d.millis} ms` : ''),
        h('time', {}, clock(d.at)),
      ),
    );
  list.replaceChildren(...(rows.length ? rows : [h('li', { class: 'none' }, 'The webhook has not been called yet.')]));
}

function faultForm() {
  const op = select(['create', 'patch', 'get', 'list', 'delete'], 'create', () => {});
  const kind = select(['429', '500', '503', 'timeout_after_write', 'drop', '403', '404', 'invalid_argument'], '429', () => {});
  const times = h('input', { type: 'number', min: '1', max: '99', value: '1', 'aria-label': 'How often' });
  op.setAttribute('aria-label', 'Operation');
  kind.setAttribute('aria-label', 'Kind of fault');
  return h(
    'div',
    { class: 'fault-form' },
    op,
    kind,
    times,
    h(
      'button',
      {
        type: 'button',
        class: 'button',
        onclick: async () =>
          drawFaults(await call('faults', { op: op.value, kind: kind.value, times: Number(times.value), retry_after_seconds: 0 })),
      },
      'Arm',
    ),
    h(
      'button',
      { type: 'button', class: 'button quiet', onclick: async () => drawFaults(await call('faults', null, 'DELETE')) },
      'Clear',
    ),
  );
}

function drawFaults(answer) {
  if (answer) faults.list = answer.faults || [];
  const list = body.querySelector('.faults');
  list?.replaceChildren(...faults.list.map((f) => h('li', {}, `${f.op}: ${f.kind}, ${f.times} more`)));
}
