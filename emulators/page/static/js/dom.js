// Small helpers to build the page. Text always enters as text nodes; nothing here parses HTML.

/** h makes an element: h('p', {class: 'x', onclick: f}, 'text', child). */
export function h(tag, props = {}, ...children) {
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) el.addEventListener(key.slice(2), value);
    else if (key === 'value' || key === 'disabled' || key === 'hidden' || key === 'open' || key === 'selected') el[key] = value;
    else el.setAttribute(key, value === true ? '' : String(value));
  }
  el.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}

// 24-unit outlines, drawn for this page.
const outlines = {
  send: 'M4 12 20 4l-5 16-3.5-6.5zM11.5 13.5 20 4',
  thread: 'M4 5h16v10H10l-4 4v-4H4zM8 9h8M8 12h5',
  quote: 'M5 7h5v5c0 3-2 5-4 5M14 7h5v5c0 3-2 5-4 5',
  edit: 'M4 20l1-4L16.5 4.5l3 3L8 19zM14 7l3 3',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5',
  attach: 'M18 11l-6.5 6.5a3.5 3.5 0 0 1-5-5L14 5a2.3 2.3 0 0 1 3.4 3.3L10 15.6a1 1 0 0 1-1.6-1.5L15 7.5',
  at: 'M16 12a4 4 0 1 0-4 4 4 4 0 0 0 4-4v1.5a2.3 2.3 0 0 0 4.5 0V12a8.5 8.5 0 1 0-3.4 6.8',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z',
  down: 'M6 9.5l6 6 6-6',
  close: 'M6 6l12 12M18 6L6 18',
  panel: 'M4 5h16v14H4zM14.5 5v14',
  hash: 'M9.5 4L7.5 20M16.5 4l-2 16M4.5 9h16M3.5 15h16',
  person: 'M12 4.5a3.8 3.8 0 1 0 0 7.6 3.8 3.8 0 0 0 0-7.6zM4.5 20c.8-4 3.8-6 7.5-6s6.7 2 7.5 6',
  spark: 'M12 3.5l1.9 5.1 5.1 1.9-5.1 1.9L12 17.5l-1.9-5.1L5 10.5l5.1-1.9zM18.5 16v4M16.5 18h4',
  tool: 'M14.5 6.5a4 4 0 0 1 5-1.5l-2.7 2.7 1.5 1.5L21 6.5a4 4 0 0 1-5.7 4.9L8 18.7A2 2 0 0 1 5.3 16l7.3-7.3a4 4 0 0 1 1.9-2.2z',
  result: 'M5 12.5l4.5 4.5L19 7',
  clock: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4.5l3 2',
  fold: 'M8 3.5l4 4 4-4M8 20.5l4-4 4 4M4 12h16',
  bell: 'M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 20.5h4',
  alert: 'M12 4l9 16H3zM12 10v4.5M12 17v.500',
  chat: 'M4 5h16v11H10l-4 4v-4H4z',
  file: 'M7 3.5h7l4 4v13H7zM14 3.5v4h4',
  trace: 'M4 6h9M8 12h8M13 18h7',
  large: 'M14 4h6v6M20 4l-7 7M10 20H4v-6M4 20l7-7',
  eye: 'M2.5 12s3.5-6.5 9.5-6.5 9.5 6.5 9.5 6.5-3.5 6.5-9.5 6.5S2.5 12 2.5 12zM12 9.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z',
  mute: 'M4 5h16v11H10l-4 4v-4H4zM9 10.5h6',
  nudge: 'M12 4v9M12 17.5v1',
};

/** icon draws one of the outlines; it says nothing to a screen reader. */
export function icon(name) {
  const ns = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(ns, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(ns, 'path');
  path.setAttribute('d', outlines[name] || outlines.chat);
  svg.append(path);
  return svg;
}

/** iconButton is a button that shows an icon alone; its label is its name and its tooltip. */
export function iconButton(name, label, onclick, props = {}) {
  return h('button', { type: 'button', class: 'icon-button', 'aria-label': label, title: label, onclick, ...props }, icon(name));
}

/** avatar is a round with the person's initial, or the app's mark. */
export function avatar(person, isApp) {
  if (isApp) return h('img', { class: 'avatar', src: 'icon.svg', alt: '' });
  const letters = [...(person.displayName || '?')];
  const tone = [...person.name].reduce((sum, c) => sum + c.codePointAt(0), 0) % 6;
  return h('span', { class: `avatar tone-${tone}${person.bot ? ' square' : ''}`, 'aria-hidden': 'true' }, letters[0]);
}

/** clock shows the time of day of a timestamp. */
export function clock(at) {
  return new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}

/** day shows the date of a timestamp, in words where it is near. */
export function day(at) {
  const date = new Date(at);
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86400000);
  if (days === 0) return 'Today';
  if (days === 1) return 'Yesterday';
  return date.toLocaleDateString([], { weekday: 'long', day: 'numeric', month: 'long' });
}

/** arrows lets the up and down keys move among the items that select() finds in a container. */
export function arrows(container, selector) {
  container.addEventListener('keydown', (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    const edge = { Home: 0, End: -1 }[e.key];
    if ((step === undefined && edge === undefined) || !e.target.matches(selector)) return;
    const items = [...container.querySelectorAll(selector)];
    const next = edge === undefined ? items[items.indexOf(e.target) + step] : items.at(edge);
    if (!next) return;
    e.preventDefault();
    next.focus();
  });
}
