// What the page knows. Everything comes from the stream; views listen for the topics that concern them.

const listeners = new Map();

export const state = {
  app: null,
  people: [],
  spaces: [],
  messages: new Map(),
  deliveries: [],
  sessions: new Map(),
  recordsError: '',
  decisions: [],
  decisionsError: '',
  traces: false,
  rules: false,
  space: '',
  users: new Map(),
  read: new Map(),
  online: false,
};

/** on calls f whenever topic is emitted. */
export function on(topic, f) {
  if (!listeners.has(topic)) listeners.set(topic, []);
  listeners.get(topic).push(f);
}

export function emit(topic, detail) {
  for (const f of listeners.get(topic) || []) f(detail);
}

export function takeSnapshot(s) {
  state.app = { ...s.app, bot: true };
  state.people = s.people;
  state.deliveries = s.deliveries || [];
  state.traces = s.traces;
  state.rules = s.rules;
  state.messages = new Map(Object.entries(s.messages).map(([space, list]) => [space, new Map((list || []).map((m) => [m.name, m]))]));
  state.spaces = s.spaces;
  if (!currentSpace()) state.space = remembered('space') || s.spaces[0]?.name || '';
  if (!currentSpace()) state.space = s.spaces[0]?.name || '';
  for (const sp of s.spaces) if (!state.read.has(sp.name)) state.read.set(sp.name, latest(sp.name));
  emit('snapshot');
}

export function takeMessage(m) {
  const space = m.name.split('/messages/')[0];
  if (!state.messages.has(space)) state.messages.set(space, new Map());
  const known = state.messages.get(space);
  const fresh = !known.has(m.name);
  known.set(m.name, m);
  if (space === state.space) state.read.set(space, latest(space));
  emit('message', { space, message: m, fresh });
}

export function takeDelivery(d) {
  const i = state.deliveries.findIndex((have) => have.id === d.id);
  if (i >= 0) state.deliveries[i] = d;
  else state.deliveries.push(d);
  if (state.deliveries.length > 100) state.deliveries.shift();
  emit('deliveries');
}

export function takeRecords(r) {
  if (r.space !== state.space) return;
  state.recordsError = r.error || '';
  if (r.session && r.records) state.sessions.set(r.session, r.records);
  emit('records');
}

export function takeDecisions(d) {
  if (d.space !== state.space) return;
  state.decisionsError = d.error || '';
  if (!d.error) state.decisions = d.decisions || [];
  emit('decisions');
}

export function takeSpaces(spaces) {
  state.spaces = spaces;
  emit('spaces');
}

export function openSpace(name) {
  if (name === state.space) return;
  state.space = name;
  state.sessions = new Map();
  state.decisions = [];
  state.read.set(name, latest(name));
  remember('space', name);
  emit('open');
}

export const currentSpace = () => state.spaces.find((s) => s.name === state.space);
export const messagesOf = (space) => [...(state.messages.get(space) || new Map()).values()];
export const latest = (space) => messagesOf(space).reduce((t, m) => (m.createTime > t ? m.createTime : t), '');
export const unread = (space) => messagesOf(space).filter((m) => !m.deleteTime && m.createTime > (state.read.get(space) || '')).length;
export const personNamed = (name) => (name === state.app?.name ? state.app : state.people.find((p) => p.name === name));
export const isApp = (name) => name === state.app?.name;

/** spaceTitle is what a space is called: a direct message by its person. */
export function spaceTitle(s) {
  return s.direct ? personNamed(s.members[0])?.displayName || 'Direct message' : s.displayName;
}

/** me is the person as whom the page acts in the current space. */
export function me() {
  const members = currentSpace()?.members || [];
  const chosen = state.users.get(state.space) || remembered('me');
  return personNamed(members.includes(chosen) ? chosen : members[0]);
}

export function actAs(name) {
  state.users.set(state.space, name);
  remember('me', name);
  emit('me');
}

export function remember(key, value) {
  try {
    localStorage.setItem(`kesoku.${key}`, value);
  } catch {
    /* storage may be switched off; then nothing is remembered */
  }
}

export function remembered(key) {
  try {
    return localStorage.getItem(`kesoku.${key}`);
  } catch {
    return null;
  }
}
