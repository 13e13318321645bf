// The conversation of the current space: threads in a room, a flat list in a direct message.
import { h, icon, iconButton, avatar, clock, day, arrows } from './dom.js';
import { state, on, currentSpace, messagesOf, personNamed, isApp, me } from './store.js';
import { markup, mentionNames } from './markup.js';
import { cards, plain } from './cards.js';
import { silence } from './decisions.js';
import { call } from './api.js';
import { startReply, startQuote, startEdit, prefill, focusComposer } from './composer.js';

const log = document.getElementById('log');
const live = document.getElementById('live');

export function start() {
  arrows(log, '.msg');
  log.addEventListener('keydown', keys);
  on('snapshot', draw);
  on('open', draw);
  on('me', draw);
  on('decisions', () => log.querySelectorAll('.msg').forEach((el) => (el.querySelector('.fate').textContent = silence(el.dataset.name))));
  on('message', ({ space, message, fresh }) => {
    if (space !== state.space) return;
    upsert(message);
    if (fresh && message.sender?.name !== me()?.name) announce(message);
  });
}

/** draw shows the space anew. */
function draw() {
  const s = currentSpace();
  if (!s) return;
  log.replaceChildren();
  const list = messagesOf(s.name).sort(byTime);
  if (!list.length) log.append(welcome(s));
  for (const m of list) insert(m, s);
  log.scrollTop = log.scrollHeight;
}

const byTime = (a, b) => (a.createTime < b.createTime ? -1 : 1);

/** upsert puts a new or changed message in its place, and leaves all others as they are. */
function upsert(m) {
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  const old = find(m.name);
  if (old) {
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const made = message(m);
    old.replaceWith(made);
    if (focused) refocus(made, focused.dataset.key);
  } else {
    log.querySelector('.welcome')?.remove();
    insert(m, currentSpace());
  }
  if (atEnd || (!old && m.sender?.name === me()?.name)) log.scrollTo({ top: log.scrollHeight });
}

const find = (name) => [...log.querySelectorAll('.msg')].find((el) => el.dataset.name === name);

function refocus(made, key) {
  const same = key && [...made.querySelectorAll('[data-key]')].find((el) => el.dataset.key === key);
  (same || made).focus();
}

function insert(m, s) {
  const last = log.lastElementChild;
  const root = s.direct ? null : [...log.querySelectorAll('.thread')].find((el) => el.dataset.thread === m.thread?.name);
  if (root) {
    root.querySelector('.msgs').append(message(m));
    label(root);
    return;
  }
  if (!last || last.dataset.day !== day(m.createTime))
    log.append(h('div', { class: 'day', 'data-day': day(m.createTime) }, h('span', {}, day(m.createTime))));
  log.append(thread(m, s));
}

function thread(m, s) {
  const el = h(
    'section',
    { class: s.direct ? 'thread flat' : 'thread', 'data-thread': m.thread?.name || '', 'data-day': day(m.createTime) },
    h('div', { class: 'msgs' }, message(m)),
  );
  if (!s.direct) {
    el.append(
      h(
        'button',
        { type: 'button', class: 'reply', onclick: () => startReply(m.thread.name, title(m)) },
        icon('thread'),
        h('span', {}, 'Reply in thread'),
      ),
    );
  }
  label(el);
  return el;
}

function label(el) {
  const n = el.querySelectorAll('.msg').length - 1;
  el.setAttribute('aria-label', n > 0 ? `Thread with ${n} ${n === 1 ? 'reply' : 'replies'}` : 'Thread');
}

const title = (m) => (m.text || plain(m.cardsV2?.[0]?.card?.header?.title) || 'message').split('\n')[0].slice(0, 60);

/** message renders one message. */
function message(m) {
  const sender = personNamed(m.sender?.name) || { name: m.sender?.name || '', displayName: m.sender?.displayName || 'Somebody' };
  const said = m.deleteTime ? 'Message deleted' : m.text || title(m);
  const edited = m.lastUpdateTime && !m.deleteTime;
  return h(
    'article',
    {
      class: `msg${isApp(sender.name) ? ' from-app' : ''}`,
      tabindex: '0',
      'data-name': m.name,
      'aria-label': `${sender.displayName}, ${clock(m.createTime)}: ${said.slice(0, 300)}`,
    },
    avatar(sender, isApp(sender.name)),
    h(
      'div',
      { class: 'msg-main' },
      h(
        'div',
        { class: 'msg-head' },
        h('span', { class: 'msg-name' }, sender.displayName),
        sender.bot && h('span', { class: 'badge' }, 'App'),
        h('time', { datetime: m.createTime, title: new Date(m.createTime).toLocaleString() }, clock(m.createTime)),
        edited && h('span', { class: 'edited' }, 'Edited'),
        h('span', { class: 'fate' }, silence(m.name)),
      ),
      m.deleteTime ? h('div', { class: 'gone' }, icon('trash'), 'Message deleted by its author') : content(m),
    ),
    !m.deleteTime && tools(m),
  );
}

function content(m) {
  const q = m.quotedMessageMetadata;
  return [
    q &&
      h(
        'div',
        { class: 'quoted' },
        h('span', { class: 'quoted-name' }, personNamed(q.quotedMessageSnapshot?.sender)?.displayName || 'Quoted'),
        h('span', {}, q.quotedMessageSnapshot?.text || 'a card'),
      ),
    m.text && h('div', { class: 'text' }, markup(m.text, mentionNames(m))),
    (m.attachment || []).map((a) =>
      h(
        'a',
        { class: 'file', href: `api/media/${encodeURIComponent(a.attachmentDataRef?.resourceName || '')}`, download: a.contentName },
        icon('file'),
        a.contentName,
      ),
    ),
    cards(m),
  ];
}

function tools(m) {
  const own = m.sender?.name === me()?.name;
  return h(
    'div',
    { class: 'tools', role: 'toolbar', 'aria-label': 'Message actions' },
    iconButton('quote', 'Quote', () => startQuote(m, title(m)), { 'data-key': 'quote' }),
    !currentSpace().direct &&
      iconButton('thread', 'Reply in thread', () => startReply(m.thread.name, title(m)), { 'data-key': 'reply' }),
    own && iconButton('edit', 'Edit', () => startEdit(m), { 'data-key': 'edit' }),
    own && iconButton('trash', 'Delete', () => call('delete', { user: me().name, message: m.name }), { 'data-key': 'delete' }),
  );
}

/** keys are the shortcuts on a focused message. */
function keys(e) {
  if (e.key === 'Escape') return focusComposer();
  if (!e.target.matches('.msg') || e.ctrlKey || e.metaKey || e.altKey) return undefined;
  const key = { q: 'quote', r: 'reply', e: 'edit', Delete: 'delete' }[e.key];
  const button = key && e.target.querySelector(`[data-key="${key}"]`);
  if (!button) return undefined;
  e.preventDefault();
  return button.click();
}

function announce(m) {
  const sender = personNamed(m.sender?.name)?.displayName || 'Somebody';
  live.textContent = `${sender}: ${(m.text || title(m)).slice(0, 200)}`;
}

/** suggestions fill the composer; the second part is left for the person to write. */
const suggestions = {
  en: [
    ['clock', 'What time is it in Tokyo?', ''],
    ['spark', 'Remember that ', '…'],
    ['file', 'Read this page ', '…'],
  ],
  zh: [
    ['clock', '现在东京几点？', ''],
    ['spark', '请记住', '……'],
    ['file', '读一下这个网页 ', '……'],
  ],
};

function welcome(s) {
  const list = suggestions[me()?.locale === 'zh' ? 'zh' : 'en'];
  return h(
    'div',
    { class: 'welcome' },
    h('img', { src: 'icon.svg', alt: '', class: 'welcome-mark' }),
    h('h2', {}, s.direct ? `${personNamed(s.members[0])?.displayName} and Kesoku` : s.displayName),
    h(
      'p',
      {},
      s.direct
        ? 'A direct message: Kesoku reads every word of it.'
        : 'Mention @Kesoku to wake it. Everybody in the space sees what it does.',
    ),
    h(
      'div',
      { class: 'try', role: 'group', 'aria-label': 'Try' },
      list.map(([sign, text, rest]) =>
        h(
          'button',
          { type: 'button', class: 'chip', onclick: () => prefill((s.direct ? '' : '@Kesoku ') + text) },
          icon(sign),
          text + rest,
        ),
      ),
    ),
  );
}
