package store_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
)

// M4, H1: whatever a session and its messages hold comes back as it went, every field of it, also through an update.
func TestSessionRoundTrip(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	h := r.conversation()
	for _, step := range []string{"created", "updated", "emptied"} {
		var created message.Message
		want, err := h.Change(t.Context(), func(d *session.Draft) error {
			id, seq := d.ID, d.Seq
			if step == "emptied" {
				d.Session = session.Session{}
			} else {
				fill(reflect.ValueOf(&d.Session).Elem())
			}
			d.ID, d.Seq = id, seq
			var m message.Message
			fill(reflect.ValueOf(&m).Elem())
			m.Seq, m.Role, m.Type, m.Metadata.ToolArguments = 0, message.RoleTool, message.TypeToolCall, `{"__a__":[[1,{"b.c/d":null}]],"":2}`
			created = d.Create(m)
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		got, err := r.Session(want.ID).Load(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s session: %v (-written +read):\n%s", step, err, diff)
		}
		all, err := r.Session(want.ID).Since(t.Context(), created.Seq-1)
		if diff := cmp.Diff([]message.Message{created}, all); diff != "" || err != nil {
			t.Errorf("%s message: %v (-written +read):\n%s", step, err, diff)
		}
	}
}

// M4: the fields in Firestore are the ones in JSON, the twelve of the model first among them; metadata that a class has not is not there.
func TestFieldNames(t *testing.T) {
	t.Parallel()
	env, r := open(t)
	id := r.started(t)
	if _, err := r.Session(id).Change(t.Context(), say("hello")); err != nil {
		t.Fatal(err)
	}
	snap, err := env.Firestore.Doc("sessions/" + id + "/messages/" + session.MessageID(id, 1)).Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data := snap.Data()
	for _, name := range strings.Fields("id session_id parent_id chatbot_id channel_id sender role type content status metadata timestamp " +
		"turn step phase ordinal seq") {
		if _, ok := data[name]; !ok {
			t.Errorf("no field %s", name)
		}
		delete(data, name)
	}
	if len(data) != 0 {
		t.Errorf("further fields: %v", data)
	}
	if meta, err := snap.DataAt("metadata"); err != nil || len(meta.(map[string]any)) != 0 {
		t.Errorf("metadata %v, %v, want none", meta, err)
	}
}

// P1: an event comes back as it was put, every field of it.
func TestEventRoundTrip(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	var want chat.Record
	fill(reflect.ValueOf(&want).Elem())
	want.Key = want.Event.Key()
	if err := r.PutEvent(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	got, err := r.Event(t.Context(), want.Key)
	if diff := cmp.Diff(want, got.Record); diff != "" || err != nil {
		t.Errorf("%v (-put +read):\n%s", err, diff)
	}
}
