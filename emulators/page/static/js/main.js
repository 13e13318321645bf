// Starts the page: every view listens first, then the stream opens.
import { on, remembered, state } from './store.js';
import { connect } from './api.js';
import { start as startRail } from './rail.js';
import { start as startConversation } from './conversation.js';
import { start as startComposer } from './composer.js';
import { start as startPanel } from './panel.js';

state.space = remembered('space') || '';
startComposer();
startRail();
startConversation();
startPanel();

let streamed = state.space;
on('snapshot', () => {
  if (streamed === state.space) return;
  streamed = state.space; // the first visit learns its space from the snapshot
  connect();
});
on('open', () => {
  streamed = state.space;
  connect();
});
connect();
