// Text as Google Chat shows it: *bold*, _italic_, ~strike~, `code`, fenced blocks, <url|label>, lists and quotes. It builds nodes and
// never parses HTML, so that nothing in a message can become markup of the page.
import { h } from './dom.js';

const pattern = (names) =>
  new RegExp(
    [
      '(`[^`\\n]+`)', // 1 code
      '<((?:https?:\\/\\/|mailto:)[^|>\\s]+)(?:\\|([^>\\n]+))?>', // 2 url, 3 label
      '(https?:\\/\\/[^\\s<>"\']*[^\\s<>"\'.,;:!?)\\]}*_~。，）])', // 4 bare url
      '(?<![\\p{L}\\p{N}*])\\*(\\S(?:[^*\\n]*\\S)?)\\*(?![\\p{L}\\p{N}*])', // 5 bold
      '(?<![\\p{L}\\p{N}_])_(\\S(?:[^_\\n]*\\S)?)_(?![\\p{L}\\p{N}_])', // 6 italic
      '(?<![\\p{L}\\p{N}~])~(\\S(?:[^~\\n]*\\S)?)~(?![\\p{L}\\p{N}~])', // 7 strike
      names.length ? `(${names.map((n) => n.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')})` : '(?!)(.)', // 8 mention
    ].join('|'),
    'gu',
  );

/** inline turns one run of text into nodes. */
function inline(text, names, depth = 0) {
  const nodes = [];
  let at = 0;
  for (const m of text.matchAll(pattern(names))) {
    if (m.index > at) nodes.push(text.slice(at, m.index));
    at = m.index + m[0].length;
    const inner = (s) => (depth < 4 ? inline(s, names, depth + 1) : [s]);
    if (m[1]) nodes.push(h('code', {}, m[1].slice(1, -1)));
    else if (m[2]) nodes.push(link(m[2], m[3] || m[2]));
    else if (m[4]) nodes.push(link(m[4], m[4]));
    else if (m[5]) nodes.push(h('strong', {}, inner(m[5])));
    else if (m[6]) nodes.push(h('em', {}, inner(m[6])));
    else if (m[7]) nodes.push(h('s', {}, inner(m[7])));
    else nodes.push(h('span', { class: 'mention' }, m[8]));
  }
  if (at < text.length) nodes.push(text.slice(at));
  return nodes;
}

/** link leads to a web or mail address, and to nothing else. */
export function link(url, label) {
  if (!/^(https?:\/\/|mailto:)/i.test(url)) return document.createTextNode(label);
  return h('a', { href: url, target: '_blank', rel: 'noopener noreferrer' }, label);
}

const listItem = /^\s*[*•-]\s+(.*)$/;
const quoted = /^>\s?(.*)$/;

/** markup turns a message's text into block nodes. names are the mentions that were annotated, with their @. */
export function markup(text, names = []) {
  const blocks = [];
  const parts = text.split(/```(?:[\w+-]*\n)?([\s\S]*?)(?:```|$)/);
  parts.forEach((part, i) => {
    if (i % 2) blocks.push(h('pre', { tabindex: '0' }, h('code', {}, part.replace(/\n$/, ''))));
    else blocks.push(...paragraphs(part.replace(/^\n|\n$/g, ''), names));
  });
  return blocks;
}

function paragraphs(text, names) {
  const blocks = [];
  let kind = '';
  for (const line of text === '' ? [] : text.split('\n')) {
    const item = line.match(listItem);
    const quote = line.match(quoted);
    const next = item ? 'ul' : quote ? 'blockquote' : line.trim() === '' ? '' : 'p';
    if (next !== '' && next !== kind) blocks.push(h(next));
    kind = next;
    const block = blocks.at(-1);
    if (item) block.append(h('li', {}, inline(item[1], names)));
    else if (next) {
      if (block.childNodes.length) block.append(h('br'));
      block.append(...inline(quote ? quote[1] : line, names));
    }
  }
  return blocks;
}

/** mentionNames are the annotated mentions of a message, the longest first. */
export function mentionNames(m) {
  const names = (m.annotations || [])
    .filter((a) => a.type === 'USER_MENTION')
    .map((a) => (m.text || '').slice(a.startIndex || 0, (a.startIndex || 0) + (a.length || 0)));
  return [...new Set(names)].filter(Boolean).sort((a, b) => b.length - a.length);
}

const allowed = {
  B: 'strong',
  STRONG: 'strong',
  I: 'em',
  EM: 'em',
  U: 'u',
  S: 's',
  STRIKE: 's',
  DEL: 's',
  CODE: 'code',
  UL: 'ul',
  OL: 'ol',
  LI: 'li',
  P: 'p',
};

/** cardText turns a card's small HTML into nodes: what is not allowed leaves its text behind, and nothing else. */
export function cardText(html) {
  const inert = new DOMParser().parseFromString(String(html ?? ''), 'text/html'); // runs no script, loads nothing
  return [...inert.body.childNodes].flatMap((n) => copy(n));
}

function copy(node) {
  if (node.nodeType === Node.TEXT_NODE) return [node.data];
  if (node.nodeType !== Node.ELEMENT_NODE || ['SCRIPT', 'STYLE', 'TEMPLATE', 'IFRAME'].includes(node.tagName)) return [];
  const children = [...node.childNodes].flatMap((n) => copy(n));
  if (node.tagName === 'BR') return [h('br')];
  if (node.tagName === 'A') {
    const made = link(node.getAttribute('href') || '', node.textContent);
    return [made];
  }
  if (node.tagName === 'FONT') {
    const made = h('span', {}, children);
    const color = node.getAttribute('color') || '';
    if (/^(#[0-9a-f]{3,8}|[a-z]{3,20})$/i.test(color)) made.style.setProperty('color', color);
    return [made];
  }
  const tag = allowed[node.tagName];
  return tag ? [h(tag, {}, children)] : children;
}
