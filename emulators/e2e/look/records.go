// Package look reads what a world has come to: the records in the store, and what people see in the chat, as text that can be compared.
package look

import (
	"context"

	"cloud.google.com/go/firestore"

	"kesoku.dev/emulators/e2e/world"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
)

// Sessions returns all sessions, the oldest first.
func Sessions(w *world.World) []session.Session {
	w.T.Helper()
	docs, err := w.Env.Firestore.Collection("sessions").OrderBy("created_at", firestore.Asc).Documents(context.WithoutCancel(w.T.Context())).GetAll()
	if err != nil {
		w.T.Fatalf("read the sessions: %v", err)
	}
	out := make([]session.Session, len(docs))
	for i, d := range docs {
		if err := d.DataTo(&out[i]); err != nil {
			w.T.Fatalf("read session %s: %v", d.Ref.ID, err)
		}
	}
	return out
}

// Records returns all messages of a session, in their order.
func Records(w *world.World, sessionID string) []message.Message {
	w.T.Helper()
	all, err := w.Store.Session(sessionID).Since(context.WithoutCancel(w.T.Context()), 0)
	if err != nil {
		w.T.Fatalf("read the messages of %s: %v", sessionID, err)
	}
	return all
}

// Events returns all stored events.
func Events(w *world.World) []chat.Record {
	w.T.Helper()
	docs, err := w.Env.Firestore.Collection("events").Documents(context.WithoutCancel(w.T.Context())).GetAll()
	if err != nil {
		w.T.Fatalf("read the events: %v", err)
	}
	out := make([]chat.Record, len(docs))
	for i, d := range docs {
		if err := d.DataTo(&out[i]); err != nil {
			w.T.Fatalf("read event %s: %v", d.Ref.ID, err)
		}
	}
	return out
}
