// The choice among ready-made rules, and which revision is published.
import { h } from './dom.js';
import { call } from './api.js';

const followedWithin = 30; // seconds, in which every function takes up what is published
let bar; // as it is shown now
let known = null;
let wanted = ''; // what is to be published next; whoever walks through the choices by keyboard is faster than the answers
let busy = false;
let published = 0; // when this page did it
let counting;

/** rulesBar is the choice, as it is now. */
export function rulesBar() {
  bar = h('div', { class: 'rules', role: 'group', 'aria-label': 'Rules' });
  if (known) draw();
  look();
  return bar;
}

async function look() {
  known = (await call('rules', null, 'GET')) || known;
  if (known) draw();
}

function draw() {
  const choice = h(
    'select',
    { id: 'rules', 'aria-describedby': 'rules-says', onchange: () => publish(choice.value) },
    !known.active && h('option', { value: '', selected: true }, 'Published elsewhere'),
    known.choices.map((c) => h('option', { value: c.name, selected: c.name === known.active }, c.title)),
  );
  const says = known.choices.find((c) => c.name === known.active)?.says || 'Somebody published other rules than these.';
  const focused = bar.contains(document.activeElement);
  bar.replaceChildren(
    h('label', { for: 'rules' }, 'Rules'),
    choice,
    h('span', { class: 'revision' }, `revision ${known.revision}`),
    h('p', { id: 'rules-says' }, h('span', { class: 'says' }, says), h('span', { class: 'followed' })),
  );
  if (focused) choice.focus();
  clearInterval(counting);
  if (count()) counting = setInterval(() => count() || clearInterval(counting), 1000);
}

/** count says how long the functions may still go by the rules before, and reports whether they may. */
function count() {
  const left = Math.ceil(followedWithin - (Date.now() - published) / 1000);
  bar.querySelector('.followed').textContent = left > 0 ? ` The functions follow within ${left} s.` : '';
  return left > 0 && bar.isConnected;
}

async function publish(name) {
  wanted = name;
  if (busy) return;
  busy = true;
  while (wanted) {
    const next = { name: wanted, revision: known.revision };
    wanted = '';
    const answer = await call('rules', next);
    if (!answer) break;
    known = answer;
    published = Date.now();
  }
  busy = false;
  await look();
}
