package sweep_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"google.golang.org/grpc/codes"

	"kesoku.dev/functions/sweep"
	"kesoku.dev/shared/boot/boottest"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/route"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
)

var start = time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC)

func pushed(t *testing.T, id, data string, at time.Time) cloudevents.Event {
	t.Helper()
	return boottest.Push(t, bus.TopicSweeps, id, []byte(data), at)
}

// world is a project with one session to be swept.
type world struct {
	*boottest.Instance
	env   *testenv.Env
	now   *clock.Manual
	store *store.Store
	id    string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{env: testenv.New(t), now: clock.NewManual(start), id: "s1"}
	w.Instance = boottest.Start(t, w.env, "sweep-1", testenv.Stepped{Manual: w.now}, sweep.New)
	w.store = boottest.Base(t, w.env, w.env.Client, testenv.Stepped{Manual: w.now}, slog.New(slog.DiscardHandler)).Store
	return w
}

func (w *world) sweep(t *testing.T) []string {
	t.Helper()
	if err := w.Handle(t.Context(), pushed(t, "e", "{}", w.now.Now())); err != nil {
		t.Errorf("sweep: %v", err)
	}
	return w.Heard()
}

func (w *world) change(t *testing.T, decide func(*session.Draft) error) {
	t.Helper()
	ledger := w.store.Conversation("k", func() session.Session {
		return session.New(w.id, "k", "googlechat:spaces/A", "googlechat", "spaces/A", false, w.now.Now())
	})
	if _, err := ledger.Change(t.Context(), decide); err != nil {
		t.Fatal(err)
	}
}

func (w *world) session(t *testing.T) session.Session {
	t.Helper()
	s, err := w.store.Session(w.id).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) message(t *testing.T, seq int64) message.Message {
	t.Helper()
	all, err := w.store.Session(w.id).Since(t.Context(), seq-1)
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	return all[0]
}

// prompt puts a prompt into the inbox.
func (w *world) prompt(t *testing.T) {
	t.Helper()
	w.change(t, func(d *session.Draft) error {
		d.Receive(session.Ref{Key: "p1", When: session.WhenNext}, 0)
		m := message.Author{ChatbotID: d.ChatbotID, ChannelID: d.ChannelID, Now: w.now.Now()}.UserPrompt("Ann", "hello", w.now.Now(), message.Metadata{})
		m.Seq = d.Seq
		d.Create(m)
		return nil
	})
}

// claim begins a turn whose holder is never heard of again.
func (w *world) claim(t *testing.T) {
	t.Helper()
	w.change(t, func(d *session.Draft) error {
		if v := d.ClaimTurn(session.Claimant{Holder: "dead", EventID: "e0"}, w.now.Now()); v != session.VerdictClaimed {
			return fmt.Errorf("claim: %s", v)
		}
		for _, ref := range d.Begin(w.now.Now()) {
			m := w.message(t, ref.Seq)
			m.Turn = d.Turn.Number
			if err := d.Move(&m, message.Claim); err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	wakeTurn    = `turns {"session":"s1"}`
	wakeDeliver = `deliveries {"session":"s1"}`
)

// L4: a prompt that is processing, older than 300 s, and whose lease has expired goes back and is woken; its old holder is fenced.
func TestOrphan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.prompt(t)
	w.claim(t)
	epoch := w.session(t).TurnLease.Epoch
	w.now.Advance(301 * time.Second)
	if got := w.sweep(t); !slices.Contains(got, wakeTurn) {
		t.Errorf("published %v, want the turn woken", got)
	}
	s := w.session(t)
	if got := w.message(t, 1).Status; got != message.StatusPendingAgent {
		t.Errorf("prompt is %s, want pending_agent", got)
	}
	if s.TurnLease.Held() || s.TurnLease.Epoch <= epoch || s.Turn == nil || s.Turn.Recoveries != 1 || s.TurnLease.Holds("dead", epoch) {
		t.Errorf("session %+v, turn %+v", s.TurnLease, s.Turn)
	}
	// The next sweep finds it put back already, and wakes it again only once it is overdue again.
	if got := w.sweep(t); len(got) != 0 {
		t.Errorf("swept again at once: %v", got)
	}
	w.now.Advance(61 * time.Second)
	if got := w.sweep(t); !slices.Contains(got, wakeTurn) || w.session(t).Turn.Recoveries != 1 {
		t.Errorf("a minute later: %v, recoveries %d", got, w.session(t).Turn.Recoveries)
	}
}

// L4: what is younger is only woken, for a claim takes it over; what is on the edge is not older than 300 s.
func TestYoungOrphan(t *testing.T) {
	t.Parallel()
	for _, age := range []time.Duration{121 * time.Second, 300 * time.Second} {
		w := newWorld(t)
		w.prompt(t)
		w.claim(t)
		w.now.Advance(age)
		if got := w.sweep(t); !slices.Equal(got, []string{wakeTurn}) {
			t.Errorf("%s: published %v", age, got)
		}
		if s := w.session(t); w.message(t, 1).Status != message.StatusProcessing || s.Turn.Recoveries != 0 || !s.TurnLease.Held() {
			t.Errorf("%s: prompt %s, lease %+v", age, w.message(t, 1).Status, s.TurnLease)
		}
	}
}

// L4, case B33: a live lease is never stolen, however old its prompt, even where the session is due for another reason.
func TestLiveLeaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.prompt(t)
	w.claim(t)
	w.now.Advance(time.Hour)
	w.change(t, func(d *session.Draft) error { // it stored a step, which nobody has delivered
		d.Create(message.Author{ChatbotID: d.ChatbotID, ChannelID: d.ChannelID, Now: start}.Thought(message.Spot{Turn: 1, Step: 1}, "hm", nil))
		d.Stored(1, 0)
		return nil
	})
	for range 4 { // and it lives on
		w.now.Advance(40 * time.Second)
		w.change(t, func(d *session.Draft) error { d.RenewTurn(w.now.Now()); return nil })
	}
	before := w.session(t)
	if got := w.sweep(t); slices.Contains(got, wakeTurn) {
		t.Errorf("published %v", got)
	}
	if s := w.session(t); s.TurnLease != before.TurnLease || w.message(t, 1).Status != message.StatusProcessing {
		t.Errorf("lease %+v, prompt %s", s.TurnLease, w.message(t, 1).Status)
	}
	w.now.Advance(60*time.Second - time.Microsecond)
	if got := w.sweep(t); slices.Contains(got, wakeTurn) || w.session(t).TurnLease != before.TurnLease {
		t.Errorf("just before the lease's end: published %v, lease %+v", got, w.session(t).TurnLease)
	}
	w.now.Advance(time.Microsecond)
	if got := w.sweep(t); !slices.Contains(got, wakeTurn) || w.message(t, 1).Status != message.StatusPendingAgent {
		t.Errorf("after it: published %v, prompt %s", got, w.message(t, 1).Status)
	}
}

// case B33: of two sweeps that see the same orphan exactly one puts it back.
func TestTwoSweeps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.prompt(t)
	w.claim(t)
	epoch := w.session(t).TurnLease.Epoch
	w.now.Advance(301 * time.Second)
	rival := boottest.Start(t, w.env, "sweep-2", testenv.Stepped{Manual: w.now}, sweep.New)
	w.Client.Faults.Clear()
	// The rival comes between our read and our commit.
	w.Client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Before: func() {
		if err := rival.Handle(t.Context(), pushed(t, "e2", "", w.now.Now())); err != nil {
			t.Errorf("rival: %v", err)
		}
	}})
	if err := w.Handle(t.Context(), pushed(t, "e1", "", w.now.Now())); err != nil {
		t.Error(err)
	}
	s := w.session(t)
	if s.Turn.Recoveries != 1 || s.TurnLease.Epoch != epoch+1 || w.message(t, 1).Status != message.StatusPendingAgent {
		t.Errorf("recoveries %d, epoch %d after %d, prompt %s: want it put back once", s.Turn.Recoveries, s.TurnLease.Epoch, epoch, w.message(t, 1).Status)
	}
	if n := w.Client.Counts().Writes + rival.Client.Counts().Writes; n != 4 {
		t.Errorf("%d documents written by both, want session and prompt once, and each sweep's note of itself", n)
	}
}

// A turn that another worker takes up between the sweep's look and its commit is left to it.
func TestSweepLosesToClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.prompt(t)
	w.claim(t)
	w.now.Advance(301 * time.Second)
	w.Client.Faults.Clear()
	w.Client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Before: func() {
		w.change(t, func(d *session.Draft) error {
			d.ClaimTurn(session.Claimant{Holder: "alive", EventID: "e9"}, w.now.Now())
			return nil
		})
	}})
	if err := w.Handle(t.Context(), pushed(t, "e1", "", w.now.Now())); err != nil {
		t.Error(err)
	}
	if s := w.session(t); s.TurnLease.Holder != "alive" || w.message(t, 1).Status != message.StatusProcessing {
		t.Errorf("lease %+v, prompt %s", s.TurnLease, w.message(t, 1).Status)
	}
}

// D3: a webhook that died before it announced its event, and one whose announcement was lost.
func TestLostEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := chat.Event{Platform: "googlechat", Kind: chat.KindMessage, MessageID: "m1", ChannelID: "spaces/A", At: start}
	r := chat.NewRecord(e, w.now.Now())
	if err := w.store.PutEvent(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	w.now.Advance(30*time.Second - time.Microsecond)
	if got := w.sweep(t); len(got) != 0 {
		t.Errorf("too early: %v", got)
	}
	w.now.Advance(time.Microsecond)
	want := `inbound {"route":"googlechat:spaces/A","event":"` + r.Key + `"}`
	for range 2 { // until somebody settles it
		if got := w.sweep(t); !slices.Equal(got, []string{want}) {
			t.Errorf("published %v, want %s", got, want)
		}
	}
	stored, err := w.store.Event(t.Context(), r.Key)
	if err != nil {
		t.Fatal(err)
	}
	stored.Settle(chat.Decision{Effect: chat.EffectIgnore}, "ignored", "")
	if err := w.store.Commit(t.Context(), route.Change{Events: []chat.Stored{stored}}); err != nil {
		t.Fatal(err)
	}
	if got := w.sweep(t); len(got) != 0 {
		t.Errorf("settled: %v", got)
	}
}

// A delivery that died, or whose wake-up was lost, is woken; one whose lease is live is not.
func TestUndrainedOutbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.change(t, func(d *session.Draft) error {
		d.Create(message.Author{ChatbotID: d.ChatbotID, ChannelID: d.ChannelID, Now: start}.Notification(message.Spot{}, "hello"))
		return nil
	})
	w.now.Advance(60 * time.Second)
	if got := w.sweep(t); !slices.Equal(got, []string{wakeDeliver}) {
		t.Errorf("lost wake-up: published %v", got)
	}
	w.change(t, func(d *session.Draft) error {
		d.ClaimSend(session.Claimant{Holder: "sender", EventID: "e"}, w.now.Now())
		return nil
	})
	w.now.Advance(119 * time.Second)
	if got := w.sweep(t); len(got) != 0 {
		t.Errorf("within its lease and grace: published %v", got)
	}
	w.now.Advance(time.Second)
	if got := w.sweep(t); !slices.Equal(got, []string{wakeDeliver}) {
		t.Errorf("dead delivery: published %v", got)
	}
	if n := w.Client.Counts().Writes; n != 3 {
		t.Errorf("%d documents written, want each of three sweeps' note of itself: nothing had to be put back", n)
	}
}

// Where nothing is outstanding a sweep costs its queries and not one document, however many sessions and events there are.
func TestIdle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.change(t, func(*session.Draft) error { return nil })
	e := chat.NewRecord(chat.Event{Platform: "googlechat", MessageID: "m1", ChannelID: "spaces/A", At: start}, start)
	e.Settle(chat.Decision{}, "ignored", "")
	if err := w.store.PutEvent(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	w.now.Advance(24 * time.Hour)
	if got := w.sweep(t); len(got) != 0 {
		t.Errorf("published %v", got)
	}
	if c := w.Client.Counts(); c.Reads != 0 || c.Writes != 1 || c.Published != 0 || c.Calls["RunQuery"] != 2 {
		t.Errorf("%+v, want two queries, the note that it swept, and nothing else", c)
	}
}

// What fails with events does not keep the sweep from sessions, but it does not hide either: the wake-up comes again.
func TestOneQueryFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.prompt(t)
	w.now.Advance(time.Minute)
	w.Client.Faults.Clear()
	w.Client.Faults.Add(testenv.Fault{Method: "RunQuery", Times: 1, Fail: codes.PermissionDenied})
	w.Ear = boottest.Listen(w.Client)
	if err := w.Handle(t.Context(), pushed(t, "e", "", w.now.Now())); err == nil {
		t.Error("acked although nobody looked at events")
	}
	if got := w.Heard(); !slices.Equal(got, []string{wakeTurn}) {
		t.Errorf("published %v", got)
	}
	w.Client.Faults.Clear()
	w.Client.Faults.Add(testenv.Fault{Method: "Publish", Times: 1, Fail: codes.PermissionDenied})
	if err := w.Handle(t.Context(), pushed(t, "e", "", w.now.Now())); err == nil {
		t.Error("acked although nobody was woken")
	}
}
