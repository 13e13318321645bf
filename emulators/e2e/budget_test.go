package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"golang.org/x/sync/errgroup"

	"kesoku.dev/emulators/e2e/look"
	"kesoku.dev/emulators/e2e/world"
	"kesoku.dev/emulators/models"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/testenv"
)

// The budget of a plain turn from webhook to delivered, in operations, since those are billed and do not depend on the machine.
const (
	maxWrites = 12
	maxReads  = 8   // beside the tail of the history
	maxTail   = 125 // messages of history that a turn reads
	publishes = 3
)

// plainAnswer is a model's answer without thoughts.
var plainAnswer = json.RawMessage(`{"candidates":[{"content":{"role":"model","parts":[{"text":"Hello."}]},"finishReason":"STOP"}],` +
	`"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":2,"totalTokenCount":12}}`)

// cost is what one message cost.
type cost struct{ writes, reads, tail, published int }

// H6: a plain turn costs the same at message 10 and at message 10,000 of a session.
func TestBudget(t *testing.T) {
	t.Parallel()
	var tail atomic.Int64
	o := world.Options{OnStart: func(i *world.Instance) {
		if i.Function == "turn" {
			i.Client.Faults.Add(testenv.Fault{Method: "BatchGetDocuments", Match: func(req any) bool {
				tail.Add(int64(messagesIn(req)))
				return false
			}})
		}
	}}
	for range 11 {
		o.Models.Script = append(o.Models.Script, models.Reply{Chunks: []json.RawMessage{plainAnswer}})
	}
	w := world.New(t, o)
	ask := func(text string) cost {
		before, tailBefore := w.Env.Total(), tail.Load()
		w.PostAcked(world.Alice, world.Room, "@Kesoku "+text)
		w.WaitIdle()
		d := w.Env.Total().Minus(before)
		c := cost{writes: d.Writes, tail: int(tail.Load() - tailBefore), published: d.Published}
		c.reads = d.Reads - c.tail
		return c
	}
	for i := range 9 {
		ask(fmt.Sprint("hello ", i))
	}
	early := ask("hello, tenth")
	fill(t, w, 10_000)
	late := ask("hello, ten thousandth")
	thoughtful := ask("hello, and think")
	t.Logf("at message 10: %+v, at message 10,000: %+v, with a thought: %+v", early, late, thoughtful)
	if thoughtful.writes != late.writes+2 || thoughtful.reads != late.reads+1 {
		t.Errorf("a thought costs %+v instead of a write to store it, a read and a write to show it", thoughtful)
	}
	for at, c := range map[string]cost{"at message 10": early, "at message 10,000": late} {
		if c.writes > maxWrites || c.reads > maxReads || c.tail > maxTail || c.published != publishes {
			t.Errorf("%s: %+v, allowed are %d writes, %d reads and %d of the tail, %d publishes", at, c, maxWrites, maxReads, maxTail, publishes)
		}
	}
	if late.writes != early.writes || late.reads != early.reads || late.published != early.published {
		t.Errorf("the cost grows with the session: %+v, then %+v", early, late)
	}
}

// messagesIn counts the messages that a read asks for.
func messagesIn(req any) int {
	r, ok := req.(*firestorepb.BatchGetDocumentsRequest)
	if !ok {
		return 0
	}
	n := 0
	for _, d := range r.GetDocuments() {
		if strings.Contains(d, "/messages/") {
			n++
		}
	}
	return n
}

// fill makes the only session n messages long: finished turns of a prompt and a reply each.
func fill(t *testing.T, w *world.World, n int64) {
	t.Helper()
	s := look.Sessions(w)[0]
	ref := w.Env.Firestore.Collection("sessions").Doc(s.ID)
	author := message.Author{SessionID: s.ID, ChatbotID: s.ChatbotID, ChannelID: s.ChannelID, Now: w.Clock.Now()}
	const batch = 400
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(4)
	for first := s.Seq + 1; first <= n; first += batch {
		group.Go(func() error {
			return w.Env.Firestore.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
				for seq := first; seq <= min(n, first+batch-1); seq++ {
					m := past(author, s.Turns, seq-s.Seq)
					m.Seq, m.ID = seq, session.MessageID(s.ID, seq)
					if err := tx.Create(ref.Collection("messages").Doc(m.ID), m); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	_, err := ref.Update(t.Context(), []firestore.Update{
		{Path: "seq", Value: n}, {Path: "turns", Value: s.Turns + int(n-s.Seq+1)/2}, {Path: "outbox.cursor", Value: n},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// past is the i-th message, from 1, of turns that are over.
func past(a message.Author, turns int, i int64) message.Message {
	turn := turns + int(i+1)/2
	if i%2 == 1 {
		m := a.UserPrompt("Alice", fmt.Sprint("question ", turn), a.Now, message.Metadata{})
		m.Status, m.Turn = message.StatusProcessed, turn
		return m
	}
	m := a.FinalReply(message.Spot{Turn: turn, Step: 1}, fmt.Sprint("answer ", turn), message.TurnMetrics{SessionTurns: turn}, nil)
	m.Status = message.StatusDelivered
	return m
}
