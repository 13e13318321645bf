// Package platformtest is the suite that every platform's adapter passes: what delivery relies on when it says that a message is sent
// once. It knows the adapter contract and, through a Harness, a stand-in of the platform; it must not know any one platform.
package platformtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/render"
)

// Fault is what the platform does to the next write, and to that one alone.
type Fault string

// The faults.
const (
	FaultBusy      Fault = "busy"       // refuses for now, naming RetryDelay where the platform can
	FaultBroken    Fault = "broken"     // fails with a fault of its own
	FaultForbidden Fault = "forbidden"  // refuses for good
	FaultTooLong   Fault = "too long"   // refuses the text for its length
	FaultLostReply Fault = "lost reply" // makes the message, and the answer never arrives
)

// RetryDelay is what FaultBusy asks for.
const RetryDelay = 7 * time.Second

// Message is what stands on the platform.
type Message struct {
	ID       string
	ThreadID string
	Content  string // text and cards in whatever form; it holds what was written
}

// Harness is an adapter and the stand-in that it talks to, fresh for one test.
type Harness interface {
	Adapter() platform.Adapter
	// Channel is a channel that exists, without messages. Missing is one that does not.
	Channel() string
	Missing() string
	// Thread starts a thread in the channel and returns its id; Fault and Messages have nothing to do with it.
	Thread(t *testing.T) string
	// GoneThread is the id of a thread of the channel that is no more. Writes to it land elsewhere.
	GoneThread() string
	// Messages is what the adapter's writes have left in the channel, oldest first.
	Messages(t *testing.T) []Message
	// Delete takes the message off the platform, as a person would.
	Delete(t *testing.T, messageID string)
	Fault(t *testing.T, f Fault)
}

// Run runs the suite. What the adapter's Features say it cannot do is skipped, saying so.
func Run(t *testing.T, fresh func(t *testing.T) Harness) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Harness){
		"one key makes one message":              oneKeyOneMessage,
		"two keys make two messages":             twoKeysTwoMessages,
		"the longest text passes":                longestTextPasses,
		"an edit changes the message in place":   editInPlace,
		"an edit of a gone message":              editOfGone,
		"a message stays in its thread":          threadKept,
		"the thread it fell back to is told":     fallbackTold,
		"a refused length is too long":           tooLong,
		"a busy platform is to be tried again":   busy,
		"a broken platform is to be tried again": broken,
		"a forbidden write is permanent":         forbidden,
		"a missing channel is permanent":         missingChannel,
		"a lost reply makes no second message":   lostReply,
		"an ended context is no permanent error": endedContext,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

func post(h Harness, key, text string) platform.Post {
	return platform.Post{To: platform.Address{ChannelID: h.Channel()}, Key: key, ID: "id-" + key, Text: text}
}

func create(t *testing.T, h Harness, p platform.Post) platform.Posted {
	t.Helper()
	posted, err := h.Adapter().Create(t.Context(), p)
	if err != nil {
		t.Fatalf("create %s: %v", p.Key, err)
	}
	return posted
}

func failing(t *testing.T, h Harness, p platform.Post, want errs.Kind) error {
	t.Helper()
	_, err := h.Adapter().Create(t.Context(), p)
	if err == nil {
		t.Fatal("no error")
	}
	if got := errs.KindOf(err); got != want {
		t.Fatalf("%v is %s, want %s", err, got, want)
	}
	return err
}

// standing fails unless exactly these contents stand on the platform.
func standing(t *testing.T, h Harness, want ...string) []Message {
	t.Helper()
	got := h.Messages(t)
	if len(got) != len(want) {
		t.Fatalf("%d messages stand, want %d: %+v", len(got), len(want), got)
	}
	for i, content := range want {
		if !strings.Contains(got[i].Content, content) {
			t.Errorf("message %d is %q, want %q in it", i, got[i].Content, content)
		}
	}
	return got
}

// case B69
func oneKeyOneMessage(t *testing.T, h Harness) {
	first, second := create(t, h, post(h, "a", "hello")), create(t, h, post(h, "a", "hello"))
	if first != second || first.MessageID == "" {
		t.Errorf("one key gave %+v and %+v", first, second)
	}
	standing(t, h, "hello")
}

// case B70
func twoKeysTwoMessages(t *testing.T, h Harness) {
	first, second := create(t, h, post(h, "a", "hello")), create(t, h, post(h, "b", "hello"))
	if first.MessageID == second.MessageID {
		t.Errorf("two keys gave one message %s", first.MessageID)
	}
	standing(t, h, "hello", "hello")
}

func longestTextPasses(t *testing.T, h Harness) {
	text := strings.Repeat("a", h.Adapter().Features().MaxBytes)
	create(t, h, post(h, "a", text))
	standing(t, h, text)
}

func card(title string) *render.Card {
	return &render.Card{
		State: render.StateRunning, Title: title, Fold: "steps", Footer: "footer",
		Steps:  []render.Step{{Kind: render.StepTool, State: render.StateDone, Title: "tool", Detail: "detail", Result: "result"}},
		Button: &render.Button{Label: "Stop", Action: "stop", Params: map[string]string{"session": "s", "turn": "1"}},
	}
}

func cardPost(t *testing.T, h Harness, title string) platform.Post {
	t.Helper()
	if !h.Adapter().Features().Edit {
		t.Skip("the platform cannot edit messages")
	}
	p := post(h, "card", "")
	p.Card = card(title)
	return p
}

// case B72
func editInPlace(t *testing.T, h Harness) {
	p := cardPost(t, h, "thinking")
	posted := create(t, h, p)
	if err := h.Adapter().Edit(t.Context(), h.Channel(), p.ID, card("finished")); err != nil {
		t.Fatalf("edit: %v", err)
	}
	if got := standing(t, h, "finished"); got[0].ID != posted.MessageID {
		t.Errorf("the edit made message %s of %s", got[0].ID, posted.MessageID)
	}
}

func editOfGone(t *testing.T, h Harness) {
	p := cardPost(t, h, "thinking")
	h.Delete(t, create(t, h, p).MessageID)
	if err := h.Adapter().Edit(t.Context(), h.Channel(), p.ID, card("finished")); !errors.Is(err, errs.ErrNotFound) {
		t.Errorf("edit of a gone message: %v", err)
	}
	standing(t, h)
}

func threadPost(t *testing.T, h Harness, thread func() string) platform.Post {
	t.Helper()
	if !h.Adapter().Features().Threads {
		t.Skip("the platform has no threads")
	}
	p := post(h, "a", "hello")
	p.To.ThreadID = thread()
	return p
}

// case B67
func threadKept(t *testing.T, h Harness) {
	p := threadPost(t, h, func() string { return h.Thread(t) })
	posted := create(t, h, p)
	got := standing(t, h, "hello")
	if posted.ThreadID != p.To.ThreadID || got[0].ThreadID != p.To.ThreadID {
		t.Errorf("meant for thread %q, said to be in %q, is in %q", p.To.ThreadID, posted.ThreadID, got[0].ThreadID)
	}
}

// case B68
func fallbackTold(t *testing.T, h Harness) {
	p := threadPost(t, h, h.GoneThread)
	posted := create(t, h, p)
	got := standing(t, h, "hello")
	if posted.ThreadID == p.To.ThreadID || posted.ThreadID != got[0].ThreadID {
		t.Errorf("said to be in thread %q, is in %q", posted.ThreadID, got[0].ThreadID)
	}
}

// case B65
func tooLong(t *testing.T, h Harness) {
	p := post(h, "a", strings.Repeat("a", h.Adapter().Features().MaxBytes))
	h.Fault(t, FaultTooLong)
	if err := failing(t, h, p, errs.KindPermanent); !errors.Is(err, platform.ErrTooLong) {
		t.Errorf("not ErrTooLong: %v", err)
	}
	standing(t, h)
}

func busy(t *testing.T, h Harness) {
	h.Fault(t, FaultBusy)
	if got := errs.After(failing(t, h, post(h, "a", "hello"), errs.KindRetryable)); got != RetryDelay {
		t.Errorf("to be tried again after %s, the platform said %s", got, RetryDelay)
	}
	create(t, h, post(h, "a", "hello"))
	standing(t, h, "hello")
}

func broken(t *testing.T, h Harness) {
	h.Fault(t, FaultBroken)
	_ = failing(t, h, post(h, "a", "hello"), errs.KindRetryable)
	create(t, h, post(h, "a", "hello"))
	standing(t, h, "hello")
}

func forbidden(t *testing.T, h Harness) {
	h.Fault(t, FaultForbidden)
	if err := failing(t, h, post(h, "a", "hello"), errs.KindPermanent); errors.Is(err, platform.ErrTooLong) {
		t.Errorf("taken for too long: %v", err)
	}
	standing(t, h)
}

func missingChannel(t *testing.T, h Harness) {
	p := post(h, "a", "hello")
	p.To.ChannelID = h.Missing()
	_ = failing(t, h, p, errs.KindPermanent)
}

// case B69
func lostReply(t *testing.T, h Harness) {
	h.Fault(t, FaultLostReply)
	_ = failing(t, h, post(h, "a", "hello"), errs.KindRetryable)
	posted := create(t, h, post(h, "a", "hello"))
	if got := standing(t, h, "hello"); got[0].ID != posted.MessageID {
		t.Errorf("the retry gave message %s, %s stands", posted.MessageID, got[0].ID)
	}
}

func endedContext(t *testing.T, h Harness) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Adapter().Create(ctx, post(h, "a", "hello"))
	if errs.KindOf(err) != errs.KindRetryable || !errors.Is(err, context.Canceled) {
		t.Errorf("create with an ended context: %v", err)
	}
}
