package deliver_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/session"
)

// L3, V, case B72: a turn that takes long gets a card at once, which follows its steps in place, and at last shows how it ended.
func TestCardLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin(t)
	w.mustRun(t)
	w.want(t) // nothing yet: a plain turn needs no card
	w.announce(t)
	w.mustRun(t)
	w.call(t, "fetch")
	w.mustRun(t)
	w.result(t, "fetch", false)
	w.mustRun(t)
	w.call(t, "notes")
	w.result(t, "notes", true)
	w.mustRun(t)
	w.reply(t, "Found it.")
	w.mustRun(t)
	w.want(t,
		"post [running Thinking…]",
		"edit [running Working… fetch:running]",
		"edit [running Working… fetch:done]",
		"edit [running Working… fetch:done notes:failed]",
		"post Found it.",
		"edit [done Done fetch:done notes:failed]")
	w.drained(t)
	card := w.chat.all[0]
	if card.post.ID == "" || card.post.To.ThreadID != "thread" || card.card.Button == nil || card.card.Button.Action != "stop" ||
		card.card.Button.Params["session"] != "s1" || card.card.Button.Params["turn"] != "1" {
		t.Errorf("card %+v with %+v", card.post, card.card)
	}
	for _, c := range w.chat.all {
		if c.edit != "" && c.edit != card.post.ID {
			t.Errorf("edited %s, want %s", c.edit, card.post.ID)
		}
		for _, s := range cardSteps(c) {
			if strings.Contains(s, "secret detail") {
				t.Error("people read what is for the model")
			}
		}
	}
	last := w.chat.all[5].card
	if last.Button != nil || last.Footer == "" {
		t.Errorf("final card %+v", last)
	}
	if s := w.session(t); s.Outbox.Card.Revision != 5 || !s.Outbox.Card.Final {
		t.Errorf("card %+v", s.Outbox.Card)
	}
	for _, m := range w.messages(t)[1:] {
		if m.Status != message.StatusDelivered {
			t.Errorf("message %d of class %d is %s", m.Seq, m.Class(), m.Status)
		}
	}
}

func cardSteps(w written) []string {
	var out []string
	if w.card != nil {
		for _, s := range w.card.Steps {
			out = append(out, s.Detail+" "+s.Result)
		}
	}
	return out
}

// case B73: what is superseded before anybody sent it is never sent: several steps are one edit, and a turn that is over one post.
func TestCoalescing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin(t)
	for _, name := range []string{"a", "b", "c"} {
		w.call(t, name)
		w.result(t, name, false)
	}
	w.mustRun(t)
	w.want(t, "post [running Working… a:done b:done c:done]")
	w.call(t, "d")
	w.result(t, "d", false)
	w.reply(t, "Done.")
	w.mustRun(t)
	w.want(t, "post [running Working… a:done b:done c:done]", "post Done.", "edit [done Done a:done b:done c:done d:done]")
	w.drained(t)

	w.chat.forget()
	w.begin(t)
	w.call(t, "e")
	w.result(t, "e", false)
	w.reply(t, "And again.")
	w.mustRun(t)
	w.want(t, "post And again. [done Done e:done]")
	w.drained(t)
}

// Two turns that were over before anybody sent anything: each reply in its order, each with its own card.
func TestTwoTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, text := range []string{"First.", "Second."} {
		w.begin(t)
		w.call(t, strings.ToLower(text[:3]))
		w.reply(t, text)
	}
	w.mustRun(t)
	w.want(t, "post First. [done Done fir:failed]", "post Second. [done Done sec:failed]")
	w.drained(t)
}

// A7: the card of a turn that was pre-empted, and so ended without a word, closes as stopped, and the next turn has its own.
func TestPreempted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin(t)
	w.call(t, "a")
	w.mustRun(t)
	w.end(t, nil)
	w.begin(t)
	w.announce(t)
	w.mustRun(t)
	w.reply(t, "This.")
	w.mustRun(t)
	w.want(t, "post [running Working… a:running]", "edit [stopped Stopped a:failed]", "post [running Thinking…]", "post This.", "edit [done Done]")
	w.drained(t)
	if w.chat.all[0].post.ID == w.chat.all[2].post.ID {
		t.Error("both turns have one card")
	}
}

// A turn that failed, and one that somebody stopped, say so on their cards too.
func TestFailedAndStopped(t *testing.T) {
	t.Parallel()
	for state, with := range map[string]func(message.Author, message.Spot, message.TurnMetrics) message.Message{
		"failed": func(a message.Author, at message.Spot, _ message.TurnMetrics) message.Message {
			return a.CrashNotice(at, "Sorry.")
		},
		"stopped": func(a message.Author, at message.Spot, _ message.TurnMetrics) message.Message {
			return a.Notification(at, "Sorry.")
		},
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.begin(t)
			w.call(t, "a")
			w.mustRun(t)
			w.end(t, with)
			w.mustRun(t)
			got := w.chat.seen()
			if len(got) != 3 || got[1] != "post Sorry." || !strings.HasPrefix(got[2], "edit ["+state) || !strings.HasSuffix(got[2], " a:failed]") {
				t.Errorf("written %v", got)
			}
			w.drained(t)
		})
	}
}

// A card that a person deleted, or that may not be written, is given up: the reply matters more, and no second card comes.
func TestCardGivenUp(t *testing.T) {
	t.Parallel()
	gone := errs.Permanent(errs.ErrNotFound)
	for name, tt := range map[string]struct{ edit error }{"deleted": {gone}, "not found, unmarked": {errs.ErrNotFound}, "forbidden": {errs.Permanentf("403")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.begin(t)
			w.call(t, "a")
			w.mustRun(t)
			w.chat.edit = func() error { return tt.edit }
			w.result(t, "a", false)
			w.mustRun(t)
			w.call(t, "b")
			w.mustRun(t)
			w.reply(t, "Here.")
			w.mustRun(t)
			w.want(t, "post [running Working… a:running]", "edit [running Working… a:done]", "post Here.")
			w.drained(t)
		})
	}
}

// A card that cannot be made at all does not keep the reply.
func TestCardRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin(t)
	w.call(t, "a")
	w.chat.create = func(_ int, p platform.Post) error {
		if p.Text == "" {
			return errs.Permanentf("400: cards are not allowed here")
		}
		return nil
	}
	w.mustRun(t)
	w.result(t, "a", false)
	w.mustRun(t)
	w.reply(t, "Here.")
	w.mustRun(t)
	w.want(t, "post [running Working… a:running]", "post Here.")
	w.drained(t)
}

// A card's passing failure is tried again, and the steps are not lost by it.
func TestCardRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin(t)
	w.call(t, "a")
	w.chat.create = func(int, platform.Post) error { return errors.New("down") }
	if err := w.run(t.Context()); err == nil {
		t.Fatal("ended well")
	}
	w.chat.forget()
	w.chat.create = nil
	w.mustRun(t)
	// The first handler cannot know that none of its posts went through, so the second makes sure what the card shows.
	w.want(t, "post [running Working… a:running]", "edit [running Working… a:running]")
	w.drained(t)
}

// L3, V: a platform without a live view is sent the reply alone; its steps are marked and never sent.
func TestWithoutSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.chat.features = platform.Features{MaxBytes: 2048}
	w.begin(t)
	w.announce(t)
	w.call(t, "a")
	w.mustRun(t)
	w.want(t)
	if got := w.statuses(t); !slices.Equal(got, []string{"1 processing", "6 delivered"}) {
		t.Errorf("statuses %v", got)
	}
	w.drained(t)
	w.result(t, "a", false)
	w.reply(t, "Here.")
	w.mustRun(t)
	w.want(t, "post Here.")
	if got := w.statuses(t); !slices.Equal(got, []string{"1 processed", "6 delivered", "7 delivered", "5 delivered"}) {
		t.Errorf("statuses %v", got)
	}
	w.drained(t)
}

// A turn that ends while its card is being written: the card is closed by the same handler.
func TestEndsWhileCardIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin(t)
	w.call(t, "a")
	w.chat.create = func(n int, _ platform.Post) error {
		if n == 0 {
			w.result(t, "a", false)
			w.reply(t, "Quick.")
		}
		return nil
	}
	w.mustRun(t)
	w.want(t, "post [running Working… a:running]", "post Quick.", "edit [done Done a:done]")
	w.drained(t)
}

// Long texts of a step are cut on a character's edge: a card is a glance.
func TestStepsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin(t)
	w.change(t, func(d *session.Draft) error {
		a := author(d, w.now.Now())
		d.Create(a.Thought(spot(d, 1), strings.Repeat("思", 5000), nil))
		d.Create(a.ToolCall(spot(d, 1), "x", message.Call{ID: "a", Name: "a", Arguments: message.Arguments(`{"x":"` + strings.Repeat("字", 5000) + `"}`)}))
		d.Stored(1, 1)
		return nil
	})
	w.mustRun(t)
	steps := w.chat.all[0].card.Steps
	if len(steps) != 2 || len([]rune(steps[0].Detail)) != 1200 || len([]rune(steps[1].Detail)) != 300 || !strings.HasSuffix(steps[0].Detail, "思…") {
		t.Errorf("%d steps of %d and %d runes", len(steps), len([]rune(steps[0].Detail)), len([]rune(steps[1].Detail)))
	}
}
