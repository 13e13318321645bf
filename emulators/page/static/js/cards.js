// Cards (v2): headers, collapsible sections and the widgets that apps use most. What a person unfolded stays unfolded when the card is
// edited in place.
import { h, icon } from './dom.js';
import { cardText, link } from './markup.js';
import { call } from './api.js';
import { me } from './store.js';

const unfolded = new Set(); // "message/card/section"

const icons = {
  CLOCK: 'clock',
  PERSON: 'person',
  MULTIPLE_PEOPLE: 'person',
  DESCRIPTION: 'file',
  BOOKMARK: 'file',
  EMAIL: 'chat',
  STAR: 'spark',
  psychology: 'spark',
  lightbulb: 'spark',
  build: 'tool',
  schedule: 'clock',
  check: 'result',
  check_circle: 'result',
  error: 'alert',
  warning: 'alert',
};

/** cards renders all cards of a message. */
export function cards(m) {
  return (m.cardsV2 || []).map((c, i) => card(m, c.card || {}, c.cardId || String(i)));
}

function card(m, c, id) {
  const sections = (c.sections || []).map((s, i) => section(m, s, `${m.name}/${id}/${i}`));
  return h('div', { class: 'card', role: 'group', 'aria-label': plain(c.header?.title) || 'Card' }, header(c.header), sections);
}

function header(head) {
  if (!head) return null;
  return h(
    'div',
    { class: 'card-head' },
    String(head.imageUrl || '').startsWith('data:image/') &&
      h('img', { class: `card-image ${head.imageType === 'CIRCLE' ? 'round' : ''}`, src: head.imageUrl, alt: head.imageAltText || '' }),
    h(
      'div',
      {},
      h('div', { class: 'card-title' }, plain(head.title)),
      head.subtitle && h('div', { class: 'card-sub' }, plain(head.subtitle)),
    ),
  );
}

function section(m, s, key) {
  const widgets = (s.widgets || []).map((w, i) => widget(m, w, `${key}/${i}`));
  const root = h('div', { class: 'card-section' }, s.header && h('div', { class: 'card-section-head' }, cardText(s.header)));
  const shown = s.collapsible ? Math.min(s.uncollapsibleWidgetsCount || 0, widgets.length) : widgets.length;
  root.append(h('div', { class: 'widgets' }, widgets.slice(0, shown)));
  if (shown === widgets.length) return root;
  const id = `fold-${key.replace(/[^\w-]/g, '-')}`;
  const more = h('div', { class: 'fold', id }, h('div', { class: 'fold-inner' }, h('div', { class: 'widgets' }, widgets.slice(shown))));
  const label = h('span');
  const button = h(
    'button',
    {
      type: 'button',
      class: 'fold-button',
      'aria-controls': id,
      'data-key': `fold:${key}`,
      onclick: () => {
        if (unfolded.has(key)) unfolded.delete(key);
        else unfolded.add(key);
        show();
      },
    },
    label,
    icon('down'),
  );
  const show = () => {
    const open = unfolded.has(key);
    label.textContent = open ? 'Show less' : `Show ${widgets.length - shown} more`;
    button.setAttribute('aria-expanded', String(open));
    more.classList.toggle('open', open);
    more.inert = !open;
  };
  show();
  root.append(more, button);
  return root;
}

function widget(m, w, key) {
  if (w.textParagraph) return h('div', { class: 'w-text' }, cardText(w.textParagraph.text));
  if (w.decoratedText) return decorated(m, w.decoratedText, key);
  if (w.buttonList)
    return h(
      'div',
      { class: 'w-buttons' },
      (w.buttonList.buttons || []).map((b, i) => button(m, b, `${key}/${i}`)),
    );
  if (w.chipList)
    return h(
      'div',
      { class: 'w-buttons' },
      (w.chipList.chips || []).map((c, i) => button(m, { ...c, text: c.label }, `${key}/${i}`)),
    );
  if (w.divider) return h('hr', { class: 'w-divider' });
  if (w.columns) {
    return h(
      'div',
      { class: 'w-columns' },
      (w.columns.columnItems || []).map((col, c) =>
        h(
          'div',
          { class: 'widgets' },
          (col.widgets || []).map((inner, i) => widget(m, inner, `${key}/${c}/${i}`)),
        ),
      ),
    );
  }
  if (w.image) return h('div', { class: 'w-note' }, w.image.altText || 'Image');
  return h('div', { class: 'w-note' }, `Widget not shown: ${Object.keys(w).join(', ')}`);
}

function decorated(m, d, key) {
  return h(
    'div',
    { class: 'w-decorated' },
    glyph(d.startIcon || d.icon),
    h(
      'div',
      { class: 'w-body' },
      d.topLabel && h('div', { class: 'w-label' }, plain(d.topLabel)),
      h('div', { class: d.wrapText ? 'w-line wrap' : 'w-line' }, cardText(d.text)),
      d.bottomLabel && h('div', { class: 'w-label' }, plain(d.bottomLabel)),
    ),
    d.button && button(m, d.button, key),
    glyph(d.endIcon),
  );
}

function glyph(i) {
  if (!i) return null;
  return h('span', { class: 'w-icon', title: i.altText || '' }, icon(icons[i.knownIcon || i.materialIcon?.name] || 'chat'));
}

function button(m, b, key) {
  const props = {
    type: 'button',
    class: b.type === 'FILLED' ? 'button filled' : 'button',
    'data-key': `button:${key}`,
    disabled: Boolean(b.disabled),
    'aria-label': b.altText,
  };
  const action = b.onClick?.action;
  const url = b.onClick?.openLink?.url;
  if (!action && url) {
    const a = link(url, b.text || url);
    if (a.classList) a.classList.add('button');
    return a;
  }
  return h('button', { ...props, onclick: (e) => press(e.currentTarget, m, action) }, plain(b.text) || 'Button');
}

/** press tells the app of the click, and keeps a second one from following at once. */
async function press(el, m, action) {
  if (!action?.function) return;
  el.setAttribute('aria-busy', 'true');
  const parameters = Object.fromEntries((action.parameters || []).map((p) => [p.key, p.value ?? '']));
  await call('click', { user: me().name, message: m.name, function: action.function, parameters });
  setTimeout(() => el.removeAttribute('aria-busy'), 600);
}

/** plain is a card's text with its markup gone. */
export function plain(text) {
  return cardText(text)
    .map((n) => (typeof n === 'string' ? n : n.textContent))
    .join('');
}
