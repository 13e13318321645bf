// Why the agent spoke or stayed silent: what was decided on each message of the space, and what still waits.
import { h, icon, clock } from './dom.js';
import { state, on, personNamed } from './store.js';
import { rulesBar } from './rules.js';

const open = new Set(); // keys of decisions that are unfolded
let list; // while the tab is shown
let ticking;

const effects = {
  wake: ['chat', 'wake'],
  observe: ['eye', 'observe'],
  ignore: ['mute', 'ignore'],
  waits: ['clock', 'waits'],
};

// What a reason means, in words. A reason that is not here speaks for itself.
const reasons = {
  at: 'It was mentioned.',
  quote: 'One of its messages was quoted.',
  nickname: 'It was called by its name.',
  direct: 'A direct message is always for it.',
  random: 'Nobody asked; the dice fell so.',
  none: 'Nobody addressed it.',
  urge: 'Nobody addressed it, but the talk invites it.',
  judge: 'Nobody addressed it; the judge was asked.',
  merged: 'Answered along with one that woke it.',
  cooldown: 'Addressed, but too soon after the last time.',
  self: 'Its own message.',
  private: 'Direct messages are switched off.',
  command: 'A command, not a message.',
  bot_loop: 'The other bot answers without end.',
  engine_off: 'It is switched off here.',
  veto: 'A hook vetoed it.',
  backfill: 'Said before it was listening; kept as context.',
  edited: 'A message was edited.',
  deleted: 'A message was deleted.',
  joined: 'It was added to the space.',
  left: 'It was removed from the space.',
  action: 'A button of a card was pressed.',
};

const effectOf = (d) => (d.pending ? 'waits' : d.decision.effect || 'ignore');
const why = (d) => reasons[d.decision.reason] || d.decision.reason || 'Not decided yet.';

/** silence says why a message was not answered; nothing for one that was, or that waits. */
export function silence(messageName) {
  const d = state.decisions.find((one) => one.kind === 'message' && one.message_id === messageName);
  if (!d || d.pending || d.sender.self || d.decision.effect === 'wake') return '';
  return `${d.decision.effect === 'observe' ? 'Observed' : 'Ignored'}: ${d.decision.reason === 'none' ? 'nobody addressed Kesoku' : d.decision.reason}`;
}

/** start listens for what the tab shows. */
export function start() {
  on('open', () => open.clear());
}

/** showDecisions fills the panel's body. */
export function showDecisions(body) {
  list = h('ol', { class: 'decisions' });
  list.said = h('div', { class: 'sr', role: 'status' });
  body.replaceChildren(list, list.said);
  drawDecisions(body);
  body.scrollTop = body.scrollHeight;
}

/** drawDecisions shows what has changed, and leaves all other rows as they are. */
export function drawDecisions(body) {
  if (!list?.isConnected) return;
  if (state.rules && !body.querySelector('.rules')) body.prepend(rulesBar());
  const all = state.decisions;
  if (!all.length || state.decisionsError) {
    const text = state.decisionsError || 'For each message that Kesoku hears in this space: why it speaks, or stays silent.';
    list.replaceChildren(h('li', { class: 'empty' }, icon('panel'), h('p', {}, text)));
    return;
  }
  list.querySelector('.empty')?.remove();
  const atEnd = body.scrollHeight - body.scrollTop - body.clientHeight < 60;
  const rows = new Map([...list.children].map((row) => [row.dataset.key, row]));
  let before = null;
  for (const [i, d] of all.entries()) {
    const last = d.pending && !all.slice(i + 1).some((other) => other.pending && other.closes === d.closes);
    const json = JSON.stringify(d) + last;
    let row = rows.get(d.key);
    rows.delete(d.key);
    if (row?.json !== json) row = replaced(row, d, last, json);
    const place = before ? before.nextSibling : list.firstChild;
    if (place !== row) list.insertBefore(row, place);
    before = row;
  }
  for (const row of rows.values()) row.remove();
  clearInterval(ticking);
  if (tick()) ticking = setInterval(() => tick() || clearInterval(ticking), 100);
  if (atEnd) body.scrollTop = body.scrollHeight;
}

function replaced(old, d, last, json) {
  const row = decision(d, last);
  row.json = json;
  if (!old) return row;
  const focused = old.contains(document.activeElement);
  old.replaceWith(row);
  if (focused) row.querySelector('summary').focus();
  row.classList.add('changed');
  if (!d.pending) list.said.textContent = `${sender(d)}: ${d.decision.effect}. ${why(d)}`;
  return row;
}

const sender = (d) => (d.sender.self ? 'Kesoku' : personNamed(d.sender.id)?.displayName || d.sender.name || 'Somebody');

function decision(d, last) {
  const effect = effectOf(d);
  const joins = d.pending && d.closes && !last;
  const kind = d.kind === 'message' ? '' : h('span', { class: 'badge' }, d.kind);
  const pill = h('span', { class: `effect e-${effect}` }, effects[effect][1]);
  if (d.pending && d.closes) pill.replaceChildren(h('span', { class: 'sr' }, 'waits'), h('span', { class: 'left', 'aria-hidden': 'true' }));
  const details = h(
    'details',
    { open: open.has(d.key), ontoggle: (e) => (e.target.open ? open.add(d.key) : open.delete(d.key)) },
    h(
      'summary',
      {},
      h('span', { class: `sign e-${effect}` }, icon(effects[effect][0])),
      h(
        'span',
        { class: 'record-main' },
        h('span', { class: 'record-top' }, h('span', { class: 'who-at' }, h('b', {}, sender(d)), kind, h('time', {}, clock(d.at))), pill),
        h('span', { class: 'record-text' }, said(d)),
        (d.pending || !d.sender.self) && h('span', { class: 'why' }, d.pending ? waiting(d, last) : why(d)),
        !d.pending && h('span', { class: 'record-meta' }, brief(d)),
        d.decision.threshold > 0 && meter(d.decision),
        d.verdict?.done && h('span', { class: 'judge' }, h('b', {}, d.verdict.speak ? 'Judge: yes' : 'Judge: no'), ` “${d.verdict.reason}”`),
        !d.pending && !d.sender.self && stages(d.stages || []),
      ),
    ),
    facts(d),
  );
  return h('li', { class: `decision ${effect}${joins ? ' joins' : ''}`, 'data-key': d.key, 'data-closes': d.closes || undefined }, details);
}

const brief = (d) =>
  [d.decision.reason, `by ${d.decision.by || '—'}`, d.decision.priority && `priority ${d.decision.priority}`, d.outcome, d.stages?.length && took(total(d.stages))].filter(Boolean).join(' · ');

const said = (d) => `${d.at_me ? '@Kesoku ' : ''}${d.text}` || (d.sender.self ? 'a card' : '—');

/** waiting says what a pending message waits for; of a burst the last message tells it for all. */
function waiting(d, last) {
  if (d.verdict && !d.verdict.done) return 'The judge is being asked …';
  if (!d.closes) return 'Being decided …';
  if (!last) return h('span', { class: 'sr' }, 'Taken together with what follows.');
  return [h('span', { class: 'countdown', role: 'timer' }), h('span', { class: 'window', 'aria-hidden': 'true' }, h('i'))];
}

/** tick counts down what waits, and reports whether anything does. */
function tick() {
  const rows = list?.isConnected ? [...list.querySelectorAll('[data-closes]')] : [];
  const woken = new Set(state.decisions.filter((d) => d.pending && d.decision.effect === 'wake').map((d) => d.closes));
  for (const row of rows) {
    const d = state.decisions.find((one) => one.key === row.dataset.key);
    if (!d) continue;
    const left = Math.max(0, Date.parse(d.closes) - Date.now()) / 1000;
    row.querySelector('.left').textContent = left ? `${left.toFixed(1)} s` : '…';
    const text = row.querySelector('.countdown');
    if (!text) continue;
    const verb = woken.has(d.closes) ? 'answers' : 'decides';
    text.textContent = left ? `${verb} in ${left.toFixed(1)} s, if nobody writes` : `${verb} now …`;
    const whole = Date.parse(d.closes) - Date.parse(d.received_at);
    row.querySelector('.window i').style.width = `${Math.min(100, (left * 100000) / Math.max(1, whole))}%`;
  }
  return rows.length > 0;
}

/** meter shows an urge against its threshold. */
function meter({ urge = 0, threshold }) {
  const bar = h('span', { class: 'urge-bar' }, h('i'), h('u'));
  bar.children[0].style.width = `${Math.min(urge, 1) * 100}%`;
  bar.children[1].style.left = `${Math.min(threshold, 1) * 100}%`;
  const reached = urge >= threshold;
  const digits = !reached && urge.toFixed(2) === threshold.toFixed(2) ? 3 : 2;
  const text = `urge ${urge.toFixed(digits)} ${reached ? '≥' : '<'} ${threshold.toFixed(digits)}`;
  return h('span', { class: `urge${reached ? ' reached' : ''}` }, bar, h('span', {}, text));
}

const took = (micros) => (micros < 1000 ? `${micros} µs` : `${(micros / 1000).toFixed(micros < 10000 ? 1 : 0)} ms`);
const total = (all) => all.reduce((sum, s) => sum + s.micros, 0);

/** stages draws how long each stage took as one thin bar, if that is worth a look; unfolded, the facts list them. */
function stages(all) {
  if (total(all) < 1000) return null;
  const bar = h('span', { class: 'stages', 'aria-hidden': 'true' });
  for (const s of all) {
    const part = h('i', { class: `stage-${s.stage}`, title: `${s.stage}: ${took(s.micros)}` });
    part.style.flexGrow = Math.max(s.micros, 1);
    bar.append(part);
  }
  return bar;
}

/** facts is all that is known, for who unfolds it. */
function facts(d) {
  const { decision: c, verdict: v } = d;
  const rows = [
    ['effect', c.effect || '—'],
    ['reason', c.reason],
    ['by', c.by],
    ['priority', c.effect && String(c.priority)],
    ['urge', c.threshold > 0 && `${(c.urge || 0).toFixed(3)}, threshold ${c.threshold.toFixed(3)}`],
    ['judge', v?.done && `${v.speak ? 'speak' : 'stay silent'}, urge ${v.urge.toFixed(2)}${v.wait_ms ? `, wait ${v.wait_ms} ms` : ''}`],
    ['judge says', v?.done && v.reason],
    ['joins', c.busy && `the ${c.busy === 'step' ? 'running turn’s next step' : 'next turn'}`],
    ['outcome', d.outcome],
    ['session', d.session_id],
  ].filter(([, value]) => value);
  return h(
    'div',
    { class: 'facts' },
    h('dl', {}, rows.map(([key, value]) => h('div', {}, h('dt', {}, key), h('dd', {}, value)))),
    d.stages?.length > 0 && h('ol', { class: 'stage-list', 'aria-label': 'Stages of the pipeline' }, d.stages.map((s) => stageRow(s, d.stages))),
  );
}

function stageRow(s, all) {
  const share = h('i');
  share.style.width = `${(s.micros * 100) / Math.max(1, ...all.map((one) => one.micros))}%`;
  return h('li', { class: `stage-${s.stage}` }, h('span', {}, s.stage), h('span', { class: 'share', 'aria-hidden': 'true' }, share), h('span', {}, took(s.micros)));
}
