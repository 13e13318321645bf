// The rail on the left, and the bar above the conversation.
import { h, icon, iconButton, avatar, arrows } from './dom.js';
import { state, on, openSpace, unread, personNamed, currentSpace, spaceTitle, remember, remembered, me } from './store.js';
import { call } from './api.js';

const rail = document.getElementById('rail');
const bar = document.getElementById('bar');

export function start() {
  applyTheme(remembered('theme') || '');
  document.body.classList.toggle('panel-closed', remembered('panel') === 'closed');
  arrows(rail, '.place');
  for (const topic of ['snapshot', 'open', 'message', 'spaces']) on(topic, drawRail);
  for (const topic of ['snapshot', 'open', 'spaces', 'online']) on(topic, drawBar);
}

function drawRail() {
  const focused = document.activeElement?.dataset?.space;
  const rooms = state.spaces.filter((s) => !s.direct);
  const direct = state.spaces.filter((s) => s.direct);
  rail.replaceChildren(
    h(
      'div',
      { class: 'brand' },
      h('img', { src: 'icon.svg', alt: '', class: 'brand-mark' }),
      h('span', { class: 'brand-name' }, 'Kesoku'),
      h('span', { class: 'brand-tag' }, 'local'),
    ),
    group('Spaces', rooms),
    group('Direct messages', direct),
    h('div', { class: 'rail-foot' }, h('span', {}, 'Everything here stays on this machine.')),
  );
  if (focused) rail.querySelector(`[data-space="${CSS.escape(focused)}"]`)?.focus();
}

function group(title, spaces) {
  return h(
    'div',
    { class: 'group' },
    h('h2', {}, title),
    h(
      'ul',
      {},
      spaces.map((s) => h('li', {}, place(s))),
    ),
  );
}

function place(s) {
  const n = unread(s.name);
  const here = s.name === state.space;
  return h(
    'button',
    {
      type: 'button',
      class: `place${here ? ' here' : ''}${n ? ' unread' : ''}`,
      'data-space': s.name,
      title: spaceTitle(s),
      'aria-current': here ? 'page' : undefined,
      onclick: () => openSpace(s.name),
    },
    s.direct
      ? avatar(personNamed(s.members[0]) || { name: s.name })
      : h('span', { class: 'place-sign', 'aria-hidden': 'true' }, [...s.displayName][0]),
    h('span', { class: 'place-name' }, spaceTitle(s)),
    n > 0 && h('span', { class: 'count' }, String(n), h('span', { class: 'sr' }, ' unread')),
  );
}

function drawBar() {
  const s = currentSpace();
  if (!s) return;
  const people = s.members.map((m) => personNamed(m)?.displayName).filter(Boolean);
  const detail = s.direct
    ? 'Direct message with Kesoku'
    : `${people.length + (s.appIn ? 1 : 0)} members${s.appIn ? '' : ' · Kesoku is not here'}`;
  document.title = `${spaceTitle(s)} · Kesoku local chat`;
  bar.replaceChildren(
    ...[
      s.direct
        ? avatar(personNamed(s.members[0]) || { name: s.name })
        : h('span', { class: 'place-sign large', 'aria-hidden': 'true' }, [...s.displayName][0]),
      h('div', { class: 'bar-title' }, h('h1', {}, spaceTitle(s)), h('p', { title: people.join(', ') }, detail)),
      !state.online && h('span', { class: 'offline', role: 'status' }, icon('alert'), 'Reconnecting…'),
      !s.direct &&
        h(
          'button',
          { type: 'button', class: 'button quiet', onclick: () => call('app', { space: s.name, user: me().name, in: !s.appIn }) },
          s.appIn ? 'Remove Kesoku' : 'Add Kesoku',
        ),
      iconButton(isDark() ? 'sun' : 'moon', isDark() ? 'Light theme' : 'Dark theme', toggleTheme, { id: 'theme' }),
      iconButton('panel', 'Records panel', togglePanel, {
        id: 'panel-toggle',
        'aria-controls': 'panel',
        'aria-expanded': String(!document.body.classList.contains('panel-closed')),
      }),
    ].filter(Boolean),
  );
}

const isDark = () =>
  (document.documentElement.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';

function applyTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
}

function toggleTheme() {
  const next = isDark() ? 'light' : 'dark';
  applyTheme(next);
  remember('theme', next);
  drawBar();
  document.getElementById('theme').focus();
}

function togglePanel() {
  const closed = document.body.classList.toggle('panel-closed');
  remember('panel', closed ? 'closed' : 'open');
  drawBar();
  document.getElementById('panel-toggle').focus();
}
