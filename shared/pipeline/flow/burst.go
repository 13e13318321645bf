package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/hooks"
	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/route"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/telemetry"
)

// ErrAgain says that something was stored on which the next look goes on.
var ErrAgain = errors.New("look again")

// errMoved makes the handler look anew.
var errMoved = fmt.Errorf("the conversation has another session now: %w", errs.ErrConflict)

// MaxMessages is how many messages one prompt merges at most; the pause is not waited for beyond it.
const MaxMessages = 32

// Burst is what is settled as one: messages of one conversation that follow each other closely (P10), or a single event.
type Burst struct {
	*Deps
	Messages []*Message // in the order of the platform's clock
	Key      string     // of the conversation; empty for what is no message

	// Memory is what is remembered of the route, once a decider needed it; Changed says that it must be written.
	Memory  *route.Stored
	Changed bool

	Ledger  Ledger
	Session string        // of the ledger, once it was read
	Fresh   bool          // nothing was said in that session yet
	Earlier []chat.Record // events to be stored with the burst: what was said before, or will not be said any more
	Staged  bool          // attachments lie in the staging area of that session
	Settled bool
	Notices []Notice

	stage string // that runs
	began time.Time
}

// Notice is something that people are told along with the burst's commit.
type Notice struct{ ThreadID, Text string }

// Waits reports whether the burst takes further messages: the route settles bursts, or a decision is held.
func (b *Burst) Waits() bool {
	first := b.Messages[0]
	return b.Key != "" && (first.Route.Route.Merge.ModeFor(first.Event.Direct) == config.MergeSettle || b.Held())
}

// Held reports whether a decision in it waits.
func (b *Burst) Held() bool {
	return slices.ContainsFunc(b.Messages, func(m *Message) bool { return m.Event.HeldUntil != nil })
}

// ClosesAt is when the burst has waited long enough: when nobody has written for the quiet time, at the latest the maximum after its first message
// arrived; or when the delay that a decision asked for is over. It is zero for one that need not wait. Where messages wake at once, one that
// addresses the bot ends the waiting of what was held before it.
func (b *Burst) ClosesAt() (until time.Time) {
	if !b.Waits() || len(b.Messages) >= MaxMessages {
		return time.Time{}
	}
	first, last := b.Messages[0], b.Messages[len(b.Messages)-1]
	merge := first.Route.Route.Merge
	settles := merge.ModeFor(first.Event.Direct) == config.MergeSettle
	for _, m := range b.Messages {
		switch {
		case m.Event.HeldUntil == nil:
			if !settles && m.addresses() {
				return time.Time{}
			}
		case m.Decision.Settle:
			settles = true
		case m.Event.HeldUntil.After(until):
			until = *m.Event.HeldUntil
		}
	}
	if settles {
		until = latest(until, earliest(first.Event.ReceivedAt.Add(merge.Max.Duration()), last.Event.ReceivedAt.Add(merge.Quiet.Duration())))
	}
	return until
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Index is where in the burst the event is, or -1.
func (b *Burst) Index(key string) int {
	return slices.IndexFunc(b.Messages, func(m *Message) bool { return m.Event.Key == key })
}

// First is the first message on its way, by whose settings the burst goes, or nil.
func (b *Burst) First() *Message {
	if i := slices.IndexFunc(b.Messages, (*Message).Live); i >= 0 {
		return b.Messages[i]
	}
	return nil
}

// Waker is the message whose decision to wake has the highest priority, the first of several, or nil. What only goes along with another is none.
func (b *Burst) Waker() *Message {
	var best *Message
	for _, m := range b.Messages {
		if m.Live() && m.Wakes() && (best == nil || m.Decision.Priority > best.Decision.Priority) {
			best = m
		}
	}
	return best
}

// Remember reads what is remembered of the route, once.
func (b *Burst) Remember(ctx context.Context) (*route.Stored, error) {
	if b.Memory == nil {
		m, err := b.Events.Route(ctx, b.Messages[0].Event.RouteID)
		if err != nil {
			return nil, err
		}
		b.Memory = &m
	}
	return b.Memory, nil
}

// Begin notes the stage that runs from now on.
func (b *Burst) Begin(stage string) { b.stage, b.began = stage, b.Clock.Now() }

// Ran notes how long the stage took that began last.
func (b *Burst) Ran() {
	for _, m := range b.Messages {
		m.Event.Stages = append(m.Event.Stages, b.took())
	}
}

func (b *Burst) took() chat.StageTime {
	return chat.StageTime{Stage: b.stage, Micros: b.Clock.Now().Sub(b.began).Microseconds()}
}

// Change is what the burst's commit writes beside a session: the events with the time that the present stage took so far, and the route.
func (b *Burst) Change(events ...chat.Stored) route.Change {
	for i := range events {
		if b.stage != "" {
			events[i].Stages = append(slices.Clone(events[i].Stages), b.took())
		}
	}
	c := route.Change{Events: events, Fresh: b.Earlier}
	if b.Changed {
		c.Route = b.Memory
	}
	return c
}

// End settles a burst of which nothing is to be stored but its events.
func (b *Burst) End(ctx context.Context) error {
	var events []chat.Stored
	for _, m := range b.Messages {
		m.Event = m.Settled(m.Outcome, "")
		events = append(events, m.Event)
	}
	if err := b.Events.Commit(ctx, b.Change(events...)); err != nil {
		return err
	}
	b.Close(ctx)
	return nil
}

// Commit settles all events of the burst in the swap that changes its session, and publishes the wake-up that goes with it. decide returns the
// events as they shall stand.
func (b *Burst) Commit(ctx context.Context, decide func(*session.Draft) ([]chat.Stored, error)) error {
	var events []chat.Stored
	_, err := b.Ledger.Settle(ctx, func(d *session.Draft) (route.Change, error) {
		if b.Staged && d.ID != b.Session {
			return route.Change{}, errMoved
		}
		all, err := decide(d)
		if err != nil {
			return route.Change{}, err
		}
		for i := range all {
			if all[i].SessionID == "" {
				all[i].Woken = d.ID
			}
		}
		for _, n := range b.Notices {
			author := message.Author{ChatbotID: d.ChatbotID, ChannelID: d.ChannelID, Now: b.Clock.Now()}
			d.Create(author.Notification(message.Spot{ThreadID: n.ThreadID}, n.Text))
		}
		events = all
		return b.Change(all...), nil
	})
	if err != nil {
		return err
	}
	for i, m := range b.Messages {
		m.Event = events[i]
	}
	b.Close(ctx)
	if len(b.Notices) > 0 {
		if err := b.Bus.Publish(ctx, bus.TopicDeliveries, bus.Wake{Session: b.woken()}); err != nil {
			return err
		}
	}
	return b.wake(ctx)
}

// woken is the session that the burst was settled with.
func (b *Burst) woken() string {
	return cmp.Or(b.Messages[0].Event.SessionID, b.Messages[0].Event.Woken)
}

// wake publishes once for the whole burst.
func (b *Burst) wake(ctx context.Context) error {
	for _, m := range b.Messages {
		e := &m.Event
		if e.Outcome == OutcomeAccepted && e.Decision.Effect != chat.EffectWake {
			continue
		}
		if e.SessionID != "" && e.Outcome != OutcomeFull && e.Outcome != OutcomeDuplicate {
			return b.Announce(ctx, e.Outcome, e.SessionID, e.Decision)
		}
	}
	return nil
}

// Close tells the log and the listeners what became of each event.
func (b *Burst) Close(ctx context.Context) {
	b.Settled = true
	for _, m := range b.Messages {
		e := &m.Event
		if e.Pending {
			continue
		}
		m.Log.InfoContext(ctx, "settled", "outcome", e.Outcome, "effect", e.Decision.Effect, "reason", e.Decision.Reason, "by", e.Decision.By, "session", e.SessionID)
		telemetry.Note(ctx, telemetry.KeyEffect.String(string(e.Decision.Effect)), telemetry.KeyReason.String(e.Decision.Reason),
			telemetry.KeyOutcome.String(e.Outcome), telemetry.KeySession.String(e.SessionID))
		if err := b.Hooks.Receive(ctx, hooks.Received{Event: e.Event, SessionID: e.SessionID, Decision: e.Decision}); err != nil {
			m.Log.ErrorContext(ctx, "a listener failed", "error", err)
		}
	}
}

// Open finds the session of the message's conversation, or the one to be made for it.
func (b *Burst) Open(m *Message) {
	e := &m.Event
	binding := m.Route.Route.Binding()
	key := binding.ConversationKey(&e.Event)
	b.Ledger = b.Conversations.Conversation(key, func() session.Session {
		return session.New(b.NewID(), key, e.RouteID, e.Platform, e.ChannelID, e.Direct, b.Clock.Now())
	})
}

// Texts are in the person's own language where the platform tells it, else in the route's.
func (b *Burst) Texts(m *Message) locale.Texts {
	return locale.For(m.Event.Locale, m.Route.Route.Locale)
}

// Tell settles the message and those still on their way with an outcome and stores a notification in their conversation, if wanted says so.
func (b *Burst) Tell(ctx context.Context, to *Message, outcome string, wanted func(*session.Draft) bool, text string) error {
	b.Open(to)
	return b.Commit(ctx, func(d *session.Draft) ([]chat.Stored, error) {
		if wanted(d) {
			author := message.Author{ChatbotID: d.ChatbotID, ChannelID: d.ChannelID, Now: b.Clock.Now()}
			d.Create(author.Notification(message.Spot{ThreadID: to.Event.ThreadID}, text))
		}
		var events []chat.Stored
		for _, m := range b.Messages {
			if m.Live() || m == to {
				events = append(events, m.Settled(outcome, d.ID))
			} else {
				events = append(events, m.Settled(m.Outcome, ""))
			}
		}
		return events, nil
	})
}

// Load reads which session the burst belongs to, once.
func (b *Burst) Load(ctx context.Context) error {
	if b.Session != "" {
		return nil
	}
	s, err := b.Ledger.Load(ctx)
	if err != nil {
		return err
	}
	b.Session, b.Fresh = s.ID, s.Turns == 0 && len(s.Inbox) == 0
	return nil
}
