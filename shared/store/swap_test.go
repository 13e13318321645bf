package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store"
)

func TestNewRefusesNothing(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	c := r.client.Firestore
	for i, err := range []error{
		second(store.New(nil, r.shelf, clock.System{}, uuid.NewString)), second(store.New(c, nil, clock.System{}, uuid.NewString)),
		second(store.New(c, r.shelf, nil, uuid.NewString)), second(store.New(c, r.shelf, clock.System{}, nil)),
	} {
		if err == nil {
			t.Errorf("store %d is made of nothing", i)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// P1: the first change makes session and head together; everybody after it finds them.
func TestConversation(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	h := r.conversation()
	if s, err := h.Load(t.Context()); err != nil || s.Seq != 0 {
		t.Fatalf("fresh: %+v, %v", s, err)
	}
	first, err := h.Change(t.Context(), receive("k1", "one"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.conversation().Change(t.Context(), receive("k2", "two"))
	if err != nil || got.ID != first.ID || len(got.Inbox) != 2 {
		t.Errorf("found %s with %d prompts, %v, want %s with 2", got.ID, len(got.Inbox), err, first.ID)
	}
	if _, err := r.Session("nobody").Load(t.Context()); !errors.Is(err, errs.ErrNotFound) {
		t.Errorf("unknown session: %v", err)
	}
	if _, err := r.Session("nobody").Change(t.Context(), say("x")); !errors.Is(err, errs.ErrNotFound) {
		t.Errorf("change of an unknown session: %v", err)
	}
}

// A1: what a change costs: one read and one commit; a handle that knows the session reads no more.
func TestCostOfAChange(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	h := r.Session(r.started(t))
	before := r.client.Counts()
	for i, reads := range []int{1, 0, 0} {
		if _, err := h.Change(t.Context(), say("x")); err != nil {
			t.Fatal(err)
		}
		got := r.client.Counts().Minus(before)
		before = r.client.Counts()
		if got.Reads != reads || got.Writes != 2 || got.Calls["Commit"] != 1 {
			t.Errorf("change %d: %+v, want %d reads and 2 writes in one commit", i, got, reads)
		}
	}
	if _, err := h.Change(t.Context(), func(d *session.Draft) error { d.Unchanged = true; return nil }); err != nil {
		t.Fatal(err)
	}
	if got := r.client.Counts().Minus(before); got.Writes != 0 || got.Calls["Commit"] != 0 {
		t.Errorf("a decision to change nothing wrote: %+v", got)
	}
}

// case B38: fifty prompts at once, from two instances, to a session that does not exist yet: none is lost, none doubled, and nobody has to
// come back more than a few times.
func TestRacers(t *testing.T) {
	t.Parallel()
	env, _ := open(t)
	const racers = 50
	rigs := []rig{on(t, env.Instance("a"), clock.System{}), on(t, env.Instance("b"), clock.System{})}
	nacks := make([]int, racers)
	var group errgroup.Group
	for i := range racers {
		group.Go(func() error {
			key := fmt.Sprintf("k%02d", i)
			for ; nacks[i] < 20; nacks[i]++ { // as often as a wake-up is delivered
				_, err := rigs[i%2].conversation().Change(t.Context(), receive(key, key))
				if err == nil || errs.KindOf(err) != errs.KindRetryable {
					return err
				}
			}
			return fmt.Errorf("prompt %s never got in", key)
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	s, err := rigs[0].conversation().Load(t.Context())
	if err != nil || len(s.Inbox) != racers || s.Seq != racers {
		t.Fatalf("%d prompts wait, seq %d, %v", len(s.Inbox), s.Seq, err)
	}
	texts := rigs[0].contents(t, s.ID)
	for i, ref := range s.Inbox {
		if ref.Seq != int64(i+1) || i >= len(texts) || texts[i] != ref.Key {
			t.Errorf("place %d: %+v, messages %v", i, ref, texts)
		}
	}
	if worst := slices.Max(nacks); worst > 3 {
		t.Errorf("somebody had to come %d times", worst)
	}
	t.Logf("nacks: %v", nacks)
}

// case B31, A1: what a decision refuses is not written, and stays the refusal that it was.
func TestRefusedDecision(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	id := r.started(t)
	_, err := r.Session(id).Change(t.Context(), func(d *session.Draft) error {
		d.Create(author().Alert("never"))
		return fmt.Errorf("turn: %w", errs.ErrFenced)
	})
	if errs.KindOf(err) != errs.KindFenced || len(r.contents(t, id)) != 0 {
		t.Errorf("%v, messages %v", err, r.contents(t, id))
	}
}

// B44: a decision that writes nothing is never made on a memory: no lost race would tell that it is wrong.
func TestDecisionsOnMemory(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	id := r.started(t)
	for name, refuse := range map[string]error{"unchanged": nil, "error": errors.New("nothing there")} {
		h := r.Session(id)
		before, err := h.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Session(id).Change(t.Context(), receive(name, name)); err != nil {
			t.Fatal(err)
		}
		got, err := h.Change(t.Context(), func(d *session.Draft) error {
			d.Unchanged = refuse == nil
			if len(d.Inbox) == len(before.Inbox) {
				return refuse
			}
			d.Unchanged = false
			d.Inbox[len(d.Inbox)-1].ThreadID = "seen"
			return nil
		})
		if err != nil || len(got.Inbox) == len(before.Inbox) || got.Inbox[len(got.Inbox)-1].ThreadID != "seen" {
			t.Errorf("%s: decided on what was long past: %v", name, err)
		}
	}
}

// What a handle returns is the caller's: to change it must not reach the next swap.
func TestMemoryIsTheHandlesOwn(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	id := r.started(t)
	begin := func(d *session.Draft) error { d.Begin(now); return nil }
	for _, decide := range []func(*session.Draft) error{receive("k", "hi"), begin} {
		if _, err := r.Session(id).Change(t.Context(), decide); err != nil {
			t.Fatal(err)
		}
	}
	for name, get := range map[string]func(*store.Session) (session.Session, error){
		"loaded":  func(h *store.Session) (session.Session, error) { return h.Load(t.Context()) },
		"changed": func(h *store.Session) (session.Session, error) { return h.Change(t.Context(), say("x")) },
		"unchanged": func(h *store.Session) (session.Session, error) {
			return h.Change(t.Context(), func(d *session.Draft) error { d.Unchanged = true; return nil })
		},
	} {
		h := r.Session(id)
		s, err := get(h)
		if err != nil {
			t.Fatal(err)
		}
		s.Turn.Step, s.Turn.Prompts[0] = 99, 99
		got, err := h.Change(t.Context(), say("x"))
		if err != nil || got.Turn.Step != 0 || got.Turn.Prompts[0] != 1 {
			t.Errorf("%s: %+v, %v", name, got.Turn, err)
		}
	}
}

// L1, L2: a message moves, gets its place when its turn begins, and keeps all else.
func TestMovedMessages(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	id := r.started(t)
	h := r.Session(id)
	var prompt, note message.Message
	_, err := h.Change(t.Context(), func(d *session.Draft) error {
		m := author().UserPrompt("Chii", "hi", now, message.Metadata{SenderID: "u", Attachments: []message.Attachment{{Name: "a"}}})
		prompt, note = d.Create(m), d.Create(author().Notification(message.Spot{Turn: 1}, "note"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Change(t.Context(), func(d *session.Draft) error {
		p, n := prompt, note
		p.Turn, p.Step, p.Phase, p.Ordinal = 4, 3, message.PhaseText, 2
		n.Metadata.DeliveryError = "403 \xff" + strings.Repeat("x", 2<<20) // whatever a platform says
		return errors.Join(d.Move(&p, message.Claim), d.Move(&n, message.Undeliverable))
	})
	if err != nil {
		t.Fatal(err)
	}
	prompt.Turn, prompt.Step, prompt.Phase, prompt.Ordinal, prompt.Status = 4, 3, message.PhaseText, 2, message.StatusProcessing
	note.Metadata.DeliveryError, note.Status = "403 �"+strings.Repeat("x", 8<<10-len("403 �")), message.StatusError
	all, err := r.Session(id).Since(t.Context(), 0)
	if diff := cmp.Diff([]message.Message{prompt, note}, all); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// H6: the tail of a session is read by its names, whole and in order, across the bounds of one read.
func TestSince(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	id := r.started(t)
	h := r.Session(id)
	const total = 620
	for n := 0; n < total; n += 155 {
		_, err := h.Change(t.Context(), func(d *session.Draft) error {
			for i := range 155 {
				d.Create(author().Notification(message.Spot{Turn: 1}, fmt.Sprint(n+i+1)))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, after := range []int64{-5, 0, 1, 299, 300, 301, 319, 320, 321, 619, 620, 700} {
		before := r.client.Counts()
		got, err := h.Since(t.Context(), after)
		want := total - max(after, 0)
		if err != nil || int64(len(got)) != max(want, 0) {
			t.Fatalf("after %d: %d messages, %v, want %d", after, len(got), err, want)
		}
		for i, m := range got {
			if m.Seq != max(after, 0)+int64(i)+1 || m.Content != fmt.Sprint(m.Seq) {
				t.Fatalf("after %d: message %d is seq %d, %q", after, i, m.Seq, m.Content)
			}
		}
		if reads := r.client.Counts().Minus(before).Reads; reads != len(got) {
			t.Errorf("after %d: %d documents read for %d messages", after, reads, len(got))
		}
	}
}

// case B39: content that no document holds goes to the staging area, whole, and a preview on a rune's edge stays.
func TestOversize(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"just fits":       strings.Repeat("x", 256<<10),
		"one too many":    strings.Repeat("x", 256<<10+1),
		"1,048,667 bytes": strings.Repeat("x", 1_048_667),
		"runes":           "x" + strings.Repeat("文", 400_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, r := open(t)
			id := r.started(t)
			if _, err := r.Session(id).Change(t.Context(), say(content)); err != nil {
				t.Fatal(err)
			}
			all, err := r.Session(id).Since(t.Context(), 0)
			if err != nil || len(all) != 1 {
				t.Fatalf("%d messages, %v", len(all), err)
			}
			m := all[0]
			if name == "just fits" {
				if m.Content != content || m.Metadata.StagedAs != "" {
					t.Errorf("%d bytes stay, staged as %q", len(m.Content), m.Metadata.StagedAs)
				}
				return
			}
			preview, marked := strings.CutSuffix(m.Content, "\n…")
			if !marked || len(preview) > 8<<10 || len(preview) < 8<<10-3 || !strings.HasPrefix(content, preview) {
				t.Errorf("preview of %d bytes, marked = %v", len(preview), marked)
			}
			if r.shelf.kept[m.Metadata.StagedAs] != content {
				t.Errorf("%q does not hold the whole", m.Metadata.StagedAs)
			}
		})
	}
}

// case B39: a step whose results together are too large for one request is stored all the same; what is staged already is not staged again.
func TestOversizeTogether(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	id := r.started(t)
	_, err := r.Session(id).Change(t.Context(), func(d *session.Draft) error {
		for i := range 32 {
			out := message.Outcome{CallID: fmt.Sprint(i), Name: "shell", Content: strings.Repeat("x", 200<<10)}
			if i == 0 {
				out.StagedAs = "sessions/s/tool/0/out.txt"
			}
			d.Create(author().ToolResult(message.Spot{Turn: 1, Step: 1, Ordinal: i}, out))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.Session(id).Since(t.Context(), 0)
	if err != nil || len(all) != 32 || len(r.shelf.kept) != 31 || all[0].Metadata.StagedAs != "sessions/s/tool/0/out.txt" {
		t.Fatalf("%d messages, %d staged, %v", len(all), len(r.shelf.kept), err)
	}
}

// case B39: who loses the race for a place must not write over what the winner staged for it.
func TestOversizeRace(t *testing.T) {
	t.Parallel()
	env, r := open(t)
	id := r.started(t)
	rival := rig{Store: mustStore(t, env.Instance("b"), r.shelf), client: env.Instance("b"), shelf: r.shelf}
	large := func(s string) string { return strings.Repeat(s, 300<<10) }
	h := r.Session(id)
	if _, err := h.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := rival.Session(id).Change(t.Context(), say(large("r"))); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Change(t.Context(), say(large("m"))); err != nil {
		t.Fatal(err)
	}
	all, err := r.Session(id).Since(t.Context(), 0)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d messages, %v", len(all), err)
	}
	for i, want := range []string{"r", "m"} {
		if got := r.shelf.kept[all[i].Metadata.StagedAs]; got != large(want) {
			t.Errorf("message %d holds %.1q…, want %q…", i, got, want)
		}
	}
}

func TestStagingFails(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	id := r.started(t)
	r.shelf.refuse = errors.New("no room")
	_, err := r.Session(id).Change(t.Context(), say(strings.Repeat("x", 1<<20)))
	if !errors.Is(err, r.shelf.refuse) || errs.KindOf(err) != errs.KindRetryable || len(r.contents(t, id)) != 0 {
		t.Errorf("%v, messages %v", err, r.contents(t, id))
	}
}

// A handler whose time is over stops between two attempts.
func TestChangeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	env, _ := open(t)
	r := on(t, env.Instance("b"), clock.NewManual(now)) // whose back-off nobody ends
	id := r.started(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	h := r.Session(id)
	if _, err := h.Load(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Session(id).Change(ctx, say("rival")); err != nil {
		t.Fatal(err)
	}
	_, err := h.Change(ctx, func(d *session.Draft) error { cancel(); return say("mine")(d) })
	if err == nil || errs.KindOf(err) != errs.KindRetryable {
		t.Errorf("%v", err)
	}
	if got := r.contents(t, id); !slices.Equal(got, []string{"rival"}) {
		t.Errorf("messages %v", got)
	}
}

// case B38: a decision that reads messages may read newer ones than the session it was made on, and fail for that. It is made again once the
// session has moved, and its error stands if it has not.
func TestDecisionOnTornRead(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	id := r.started(t)
	rival := r.Session(id)
	ledger := r.Session(id)
	torn := errors.New("the messages are ahead of the session")
	decisions := 0
	_, err := ledger.Change(t.Context(), func(d *session.Draft) error {
		decisions++
		if decisions == 1 {
			if _, err := rival.Change(t.Context(), func(d *session.Draft) error { d.Settings.Role = "moved"; return nil }); err != nil {
				return err
			}
			return torn
		}
		d.Settings.Model = "decided on " + d.Settings.Role
		return nil
	})
	if err != nil || decisions != 2 {
		t.Errorf("%d decisions, %v; want a second one on the moved session", decisions, err)
	}
	if got, err := r.Session(id).Load(t.Context()); err != nil || got.Settings.Model != "decided on moved" {
		t.Errorf("%+v, %v", got.Settings, err)
	}
	decisions = 0
	_, err = ledger.Change(t.Context(), func(*session.Draft) error { decisions++; return torn })
	if !errors.Is(err, torn) || decisions > 2 {
		t.Errorf("%v after %d decisions, want the error of a decision on what still stands", err, decisions)
	}
}
