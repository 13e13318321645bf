// The page's way to the server: JSON calls, and one stream of changes.
import { state, emit, takeSnapshot, takeMessage, takeDelivery, takeRecords, takeDecisions, takeSpaces } from './store.js';

/** call posts a request; a failure is shown as a toast and returned as undefined. */
export async function call(path, body, method = 'POST') {
  try {
    const init = { method };
    if (method === 'POST') Object.assign(init, { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    const response = await fetch(`api/${path}`, init);
    const answer = await response.json();
    if (response.ok) return answer;
    toast(answer.error?.message || `The server answered ${response.status}.`);
  } catch (e) {
    toast(`The server cannot be reached: ${e.message}`);
  }
  return undefined;
}

let hiding;

export function toast(text) {
  const el = document.getElementById('toast');
  el.textContent = text;
  el.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => {
    el.hidden = true;
  }, 6000);
}

let source;

/** connect opens the stream for the current space, and closes the one before. The browser reconnects by itself. */
export function connect() {
  source?.close();
  source = new EventSource(`api/stream?space=${encodeURIComponent(state.space)}`);
  const handlers = {
    snapshot: takeSnapshot,
    message: takeMessage,
    delivery: takeDelivery,
    records: takeRecords,
    decisions: takeDecisions,
    spaces: takeSpaces,
  };
  source.addEventListener('spans', () => emit('spans'));
  for (const [name, take] of Object.entries(handlers)) source.addEventListener(name, (e) => take(JSON.parse(e.data)));
  source.addEventListener('open', () => online(true));
  source.addEventListener('error', () => online(false));
}

function online(yes) {
  if (state.online === yes) return;
  state.online = yes;
  emit('online');
}
