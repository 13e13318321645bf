// A turn's trace as a waterfall: spans as bars by start and duration, children below their parents. It knows traces, and of ours only how
// models, tools and services are told apart.
import { h, icon, iconButton } from './dom.js';
import { on, state } from './store.js';

const shown = new Set(); // waterfalls that are open

/** traceRow is a turn's trace, folded; it is fetched when it is opened, and again when there are more spans. */
export function traceRow(session, turn) {
  const view = h('div', { class: 'trace-view', role: 'group', 'aria-label': `Trace of turn ${turn}` });
  const sum = h('span', { class: 'trace-sum' });
  const row = { session, turn, view, sum, last: '' };
  const details = h(
    'details',
    {
      ontoggle: (e) => {
        if (e.target !== details) return;
        if (details.open) shown.add(row);
        else shown.delete(row);
        if (details.open) draw(row);
      },
    },
    h('summary', {}, h('span', { class: 'trace-sign' }, icon('trace')), h('b', {}, `Trace of turn ${turn}`), sum, icon('down')),
    view,
    h('button', { type: 'button', class: 'button quiet trace-large', onclick: () => enlarge(row) }, icon('large'), 'Enlarge'),
  );
  row.details = details;
  return details;
}

/** enlarge shows the waterfall alone, as wide as the window allows, until it is closed. */
function enlarge(row) {
  const place = row.view.nextSibling;
  const dialog = h(
    'dialog',
    { class: 'trace-dialog', 'aria-label': `Trace of turn ${row.turn}` },
    h('header', {}, h('b', {}, `Trace of turn ${row.turn}`), row.sum.cloneNode(true), iconButton('close', 'Close', () => dialog.close())),
    h('div', { class: 'trace-wide' }, row.view),
  );
  dialog.addEventListener('close', () => {
    place.before(row.view);
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
}

let waiting;

on('spans', () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => shown.forEach((row) => (row.details.isConnected ? draw(row) : shown.delete(row))), 150);
});
on('open', () => shown.clear());

async function draw(row) {
  try {
    const answer = await fetch(`api/trace?session=${encodeURIComponent(row.session)}&turn=${row.turn}`);
    const text = await answer.text();
    if (!answer.ok || text === row.last) return;
    row.last = text;
    const traces = JSON.parse(text).traces || [];
    row.view.replaceChildren(...(traces.length ? traces.flatMap(waterfall) : [h('p', { class: 'trace-none' }, 'No span has come yet.')]));
    row.sum.replaceChildren(...(traces.length ? summary(traces) : []));
  } catch {
    row.view.replaceChildren(h('p', { class: 'trace-none' }, 'The trace cannot be read now.'));
  }
}

const time = (at) => Date.parse(at) + Number(`0.${at.match(/\.\d{3}(\d+)/)?.[1] || 0}`); // Date cuts to milliseconds
const long = (s) => Math.max(0, time(s.end) - time(s.start));

/** span shows a duration in the unit that suits it. */
function span(ms) {
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  return ms < 60000 ? `${(ms / 1000).toFixed(2)} s` : `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
}

function summary(traces) {
  const all = traces.flat();
  const failed = all.filter((s) => s.failed).length;
  const total = Math.max(...all.map((s) => time(s.end))) - Math.min(...all.map((s) => time(s.start)));
  return [
    span(total),
    failed ? h('span', { class: 'trace-failed' }, ` · ${failed} failed`) : '',
    h('span', { class: 'trace-count' }, ` · ${all.length} spans`),
  ];
}

// What a span is about, in the order of the legend: by its name where it is a model's or a tool's, else by its service.
const kinds = [
  ['webhook', 'Webhook', (s) => s.kind === 'server'],
  ['model', 'Model', (s) => s.name.startsWith('chat ')],
  ['tool', 'Tools', (s) => s.name.startsWith('execute_tool ')],
  ['pipeline', 'Pipeline', (s) => s.service === 'pipeline'],
  ['turn', 'Turn', (s) => s.service === 'turn'],
  ['deliver', 'Deliver', (s) => s.service === 'deliver'],
  ['webhook', 'Webhook', (s) => /^(googlechat|discord|wechat|api)$/.test(s.service)],
  ['other', 'Other', () => true],
];
const order = ['webhook', 'pipeline', 'turn', 'model', 'tool', 'deliver', 'other'];
const kindOf = (s) => kinds.find(([, , is]) => is(s))[0];

/** tree lists spans parents first, each with its depth. One whose parent is not there, or not there yet, stands at the top. */
function tree(spans) {
  const known = new Set(spans.map((s) => s.id));
  const below = Map.groupBy(spans, (s) => (known.has(s.parent) && s.parent !== s.id ? s.parent : ''));
  const out = [];
  const walk = (id, depth) => {
    for (const s of below.get(id) || []) {
      out.push([s, depth]);
      walk(s.id, depth + 1);
    }
  };
  walk('', 0);
  return out;
}

function waterfall(spans) {
  const from = Math.min(...spans.map((s) => time(s.start)));
  const total = Math.max(...spans.map((s) => time(s.end)), from + 0.001) - from;
  const used = new Set(spans.map(kindOf));
  const links = spans.some((s) => s.links) ? ' · linked to another trace' : '';
  return [
    h(
      'div',
      { class: 'trace-legend' },
      order.filter((k) => used.has(k)).map((k) => h('span', { class: `w-${k}` }, h('i'), kinds.find(([key]) => key === k)[1])),
    ),
    h('div', { class: 'axis', 'aria-hidden': 'true' }, h('span'), h('div', { class: 'ticks' }, ticks(total))),
    h('ol', { class: 'waterfall' }, tree(spans).map(([s, depth]) => bar(s, depth, from, total))),
    h('p', { class: 'trace-id' }, `trace ${spans[0].trace}${links}`),
  ];
}

function ticks(total) {
  return [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const tick = h('span', {}, part ? span(total * part) : '0');
    tick.style.left = `${part * 100}%`;
    return tick;
  });
}

function bar(s, depth, from, total) {
  const kind = kindOf(s);
  const line = h('span', { class: 'track' }, h('i'));
  line.firstChild.style.left = `${Math.min(((time(s.start) - from) / total) * 100, 99.5)}%`;
  line.firstChild.style.width = `${(long(s) / total) * 100}%`;
  const name = h('span', { class: 'span-name' }, h('span', {}, s.name));
  name.style.setProperty('--depth', Math.min(depth, 12));
  const where = `${s.service}: ${s.name}\n${span(long(s))}, after ${span(time(s.start) - from)}${s.failed ? `\nfailed: ${s.attrs['error.type'] || s.message || ''}` : ''}`;
  return h(
    'li',
    { class: `w-${kind}${s.failed ? ' failed' : ''}` },
    h(
      'details',
      {},
      h('summary', { title: where }, name, h('span', { class: 'span-time' }, s.failed ? icon('alert') : '', span(long(s))), line),
      attributes(s, from),
    ),
  );
}

function attributes(s, from) {
  const rows = [['service', s.service], ['kind', s.kind], ['starts after', span(time(s.start) - from)]];
  for (const key of Object.keys(s.attrs).sort()) rows.push([key, s.attrs[key]]);
  if (s.message) rows.push(['message', s.message]);
  for (const [trace, id] of Object.entries(s.links || {})) rows.push(['linked to', `${trace} / ${id}`]);
  return h(
    'dl',
    {},
    rows.map(([key, value]) => h('div', {}, h('dt', {}, key), h('dd', {}, Array.isArray(value) ? value.join(', ') : String(value)))),
  );
}

/** hasTraces reports whether turns have traces to show. */
export const hasTraces = () => state.traces;
