// The composer: who speaks, what they say, and to what it is a reply, a quote or a correction.
import { h, icon, iconButton } from './dom.js';
import { state, on, currentSpace, personNamed, messagesOf, me, actAs, spaceTitle } from './store.js';
import { call, toast } from './api.js';

const root = document.getElementById('composer');
const maxFile = 5 * 1024 * 1024;
const context = { thread: null, quote: null, edit: null };
let files = [];
let options = [];
let active = -1;

const input = h('textarea', {
  id: 'input',
  rows: '1',
  spellcheck: 'true',
  'aria-label': 'Message',
  'aria-autocomplete': 'list',
  'aria-controls': 'people',
});
const chips = h('div', { class: 'chips' });
const people = h('ul', { id: 'people', class: 'people', role: 'listbox', 'aria-label': 'People', hidden: true });
const who = h('select', {
  class: 'who',
  'aria-label': 'Send as',
  onchange: () => {
    actAs(who.value);
    input.focus();
  },
});
const picker = h('input', { type: 'file', class: 'sr', tabindex: '-1', multiple: true, 'aria-hidden': 'true', onchange: addFiles });
const sendButton = iconButton('send', 'Send', send, { id: 'send' });

export function start() {
  root.append(
    people,
    h(
      'div',
      { class: 'box' },
      chips,
      input,
      h(
        'div',
        { class: 'row' },
        h('label', { class: 'as' }, h('span', {}, 'Send as'), who),
        h('button', { type: 'button', class: 'mention-button', onclick: mentionApp }, icon('at'), h('span', {}, 'Kesoku')),
        iconButton('attach', 'Attach a file', () => picker.click()),
        picker,
        h('span', { class: 'hint' }, 'Enter to send · Shift+Enter for a new line'),
        sendButton,
      ),
    ),
  );
  input.addEventListener('input', () => {
    grow();
    suggest();
  });
  input.addEventListener('keydown', keys);
  input.addEventListener('blur', () => setTimeout(() => document.activeElement !== input && closePeople(), 120));
  on('snapshot', drawWho);
  on('me', drawWho);
  on('open', () => {
    clear();
    drawWho();
    input.focus();
  });
}

export const focusComposer = () => input.focus();

export function startReply(thread, title) {
  set({ thread: { name: thread, title } });
}
export function startQuote(m, title) {
  set({
    quote: { name: m.name, title, thread: m.thread?.name },
    thread: m.threadReply ? { name: m.thread.name, title } : context.thread,
  });
}
export function startEdit(m) {
  set({ edit: { name: m.name, title: m.text }, thread: null, quote: null });
  prefill(m.text || '');
}

/** prefill puts text into the composer and the caret behind it. */
export function prefill(text) {
  input.value = text;
  grow();
  input.focus();
  input.setSelectionRange(text.length, text.length);
}

function set(change) {
  Object.assign(context, change);
  drawChips();
  input.focus();
}

function clear() {
  Object.assign(context, { thread: null, quote: null, edit: null });
  files = [];
  input.value = '';
  drawChips();
  grow();
  closePeople();
}

function drawWho() {
  const s = currentSpace();
  if (!s) return;
  who.replaceChildren(
    ...s.members.map((name) => h('option', { value: name, selected: name === me()?.name }, personNamed(name)?.displayName || name)),
  );
  who.disabled = s.members.length < 2;
  root.classList.toggle('direct', s.direct);
  input.placeholder = s.direct ? 'Message Kesoku' : `Message ${spaceTitle(s)}`;
}

function drawChips() {
  const chip = (sign, text, drop) =>
    h(
      'span',
      { class: 'context' },
      icon(sign),
      h('span', {}, text),
      iconButton('close', `Drop: ${text}`, () => {
        drop();
        drawChips();
        input.focus();
      }),
    );
  chips.replaceChildren(
    ...[
      context.edit && chip('edit', 'Editing your message', clear),
      context.thread &&
        chip('thread', `Reply in thread: ${context.thread.title}`, () => {
          context.thread = null;
        }),
      context.quote &&
        chip('quote', `Quote: ${context.quote.title}`, () => {
          context.quote = null;
        }),
      ...files.map((f) =>
        chip('file', f.name, () => {
          files = files.filter((have) => have !== f);
        }),
      ),
    ].filter(Boolean),
  );
}

/** send empties the composer at once, so that the next message can be typed; what was refused comes back. */
async function send() {
  const text = input.value.trim();
  if (!text && !files.length) return;
  const user = me().name;
  const wanted = { ...context };
  const sent = files;
  const request = wanted.edit
    ? ['edit', { user, message: wanted.edit.name, text }]
    : ['post', { space: state.space, user, text, thread: wanted.thread?.name || '', quote: wanted.quote?.name || '', files }];
  clear();
  if (wanted.thread) set({ thread: wanted.thread }); // a conversation in a thread goes on there
  if ((await call(...request)) || input.value !== '') return;
  files = sent;
  set(wanted);
  prefill(text);
}

function keys(e) {
  if (e.isComposing) return; // Enter that ends an input method's word sends nothing
  if (!people.hidden && peopleKeys(e)) return;
  if (e.key === 'Enter' && !e.shiftKey) {
    e.preventDefault();
    send();
  } else if (e.key === 'Escape') {
    if (context.edit || context.quote || context.thread) clear();
    else input.blur();
  } else if (e.key === 'ArrowUp' && input.value === '') {
    const own = messagesOf(state.space)
      .filter((m) => m.sender?.name === me().name && !m.deleteTime)
      .pop();
    if (own) {
      e.preventDefault();
      startEdit(own);
    }
  }
}

/** suggest offers people after an @. */
function suggest() {
  const typed = input.value.slice(0, input.selectionStart).match(/(?:^|[\s(（])@([^\s@]*)$/u);
  const s = currentSpace();
  options =
    typed && s
      ? [...(s.appIn ? [state.app] : []), ...s.members.map(personNamed)].filter(
          (p) => p && p.displayName.toLowerCase().includes(typed[1].toLowerCase()),
        )
      : [];
  if (!options.length) return closePeople();
  active = 0;
  people.replaceChildren(
    ...options.map((p, i) =>
      h(
        'li',
        {
          id: `person-${i}`,
          role: 'option',
          onmousedown: (e) => {
            e.preventDefault();
            choose(i);
          },
        },
        h('span', {}, p.displayName),
        p.bot && h('span', { class: 'badge' }, 'App'),
      ),
    ),
  );
  people.hidden = false;
  return mark();
}

function peopleKeys(e) {
  if (e.key === 'ArrowDown' || e.key === 'ArrowUp')
    active = (active + (e.key === 'ArrowDown' ? 1 : options.length - 1)) % options.length;
  else if (e.key === 'Enter' || e.key === 'Tab') choose(active);
  else if (e.key === 'Escape') closePeople();
  else return false;
  e.preventDefault();
  mark();
  return true;
}

function mark() {
  [...people.children].forEach((li, i) => li.setAttribute('aria-selected', String(i === active)));
  if (people.hidden) input.removeAttribute('aria-activedescendant');
  else input.setAttribute('aria-activedescendant', `person-${active}`);
}

function choose(i) {
  const end = input.selectionStart;
  const from = input.value.lastIndexOf('@', end - 1);
  input.setRangeText(`@${options[i].displayName} `, from, end, 'end');
  closePeople();
}

function closePeople() {
  people.hidden = true;
  input.removeAttribute('aria-activedescendant');
}

function mentionApp() {
  if (!input.value.includes('@Kesoku')) input.setRangeText('@Kesoku ', 0, 0, 'end');
  input.focus();
}

async function addFiles() {
  for (const f of picker.files) {
    if (f.size > maxFile) {
      toast(`${f.name} is larger than 5 MB.`);
      continue;
    }
    const url = await new Promise((done) => {
      const r = new FileReader();
      r.onload = () => done(r.result);
      r.readAsDataURL(f);
    });
    files.push({ name: f.name, type: f.type, data: url.slice(url.indexOf(',') + 1) });
  }
  picker.value = '';
  drawChips();
}

function grow() {
  input.style.setProperty('height', 'auto');
  input.style.setProperty('height', `${Math.min(input.scrollHeight, 200)}px`);
}
