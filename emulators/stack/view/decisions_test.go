package view

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"kesoku.dev/emulators/page"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/route"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
)

// unstaged is the staging area of a store that keeps no long messages.
type unstaged struct{}

func (unstaged) Put(context.Context, string, []byte, string) (string, error) {
	return "", errors.New("no message is stored here")
}

// What was decided in a channel comes at once, and again when it changes, and only then; the last hundred events, long texts cut, with the end
// of the window of what still waits.
func TestDecisionsFollowTheStore(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	st, err := store.New(env.Firestore, unstaged{}, clock.System{}, uuid.NewString)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.PublishConfig(t.Context(), map[string]string{"kesoku.yaml": "chat: {model: 'gemini:flash', merge: {mode: settle, quiet: 4000}}"}, 0); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	put := func(channel string, n int, text string) chat.Record {
		t.Helper()
		at := now.Add(time.Duration(n) * time.Millisecond)
		r := chat.NewRecord(chat.Event{
			Platform: platform, Kind: chat.KindMessage, MessageID: fmt.Sprint(channel, n), ChannelID: channel, Text: text, At: at,
			Sender: chat.Sender{ID: "users/1", Type: chat.SenderHuman},
		}, at)
		if err := st.PutEvent(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	next, stop := iter.Pull2(Records{st}.Decisions(t.Context(), "spaces/A"))
	defer stop()
	see := func() []page.Decision {
		t.Helper()
		list, err, ok := next()
		if err != nil || !ok {
			t.Fatalf("decisions ended: %v, %v", err, ok)
		}
		return list
	}
	if list := see(); len(list) != 0 {
		t.Fatalf("an empty channel has %d", len(list))
	}
	put("spaces/B", 0, "elsewhere")
	waits := put("spaces/A", 1, strings.Repeat("吗", 400))
	list := see()
	if len(list) != 1 || list[0].Key != waits.Key || list[0].Text != strings.Repeat("吗", cut)+"…" {
		t.Fatalf("got %+v", list)
	}
	if want := waits.ReceivedAt.Add(4 * time.Second); !list[0].Pending || !list[0].Closes.Equal(want) {
		t.Errorf("the window closes at %v, want %v", list[0].Closes, want)
	}
	stored, err := st.Event(t.Context(), waits.Key)
	if err != nil {
		t.Fatal(err)
	}
	stored.Settle(chat.Decision{Effect: chat.EffectIgnore, Reason: "none", By: "rule"}, "ignored", "")
	if err := st.Commit(t.Context(), route.Change{Events: []chat.Stored{stored}}); err != nil {
		t.Fatal(err)
	}
	if list = see(); list[0].Pending || list[0].Outcome != "ignored" || !list[0].Closes.IsZero() {
		t.Errorf("settled: %+v", list[0])
	}
	for n := 2; n < 2+decided; n++ {
		put("spaces/A", n, "more")
	}
	for len(list) < decided || list[decided-1].Key != chat.NewRecord(chat.Event{Platform: platform, Kind: chat.KindMessage, MessageID: fmt.Sprint("spaces/A", 1+decided)}, now).Key {
		list = see()
	}
	if len(list) != decided || list[0].Key == waits.Key {
		t.Errorf("%d events, of which the oldest is %s", len(list), list[0].Text)
	}
}

// A configuration that cannot be read is told to who watches, and ends nothing.
func TestDecisionsTellOfErrors(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	st, err := store.New(env.Firestore, unstaged{}, clock.System{}, uuid.NewString)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.PublishConfig(t.Context(), map[string]string{"kesoku.yaml": "chat: {nonsense: 1}"}, 0); err != nil {
		t.Fatal(err)
	}
	e := chat.Event{Platform: platform, Kind: chat.KindMessage, MessageID: "1", ChannelID: "spaces/A", At: time.Now()}
	if err := st.PutEvent(t.Context(), chat.NewRecord(e, time.Now())); err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, err := range (Records{st}).Decisions(t.Context(), "spaces/A") {
		if err == nil || !strings.Contains(err.Error(), "nonsense") {
			t.Fatalf("got %v", err)
		}
		if told++; told == 2 {
			break
		}
	}
}
