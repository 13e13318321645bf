package flow

import (
	"context"
	"log/slog"
	"time"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/censor"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/hooks"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/pipeline/judge"
	"kesoku.dev/shared/route"
	"kesoku.dev/shared/session"
)

// Events is where events and what is remembered of their routes are stored.
type Events interface {
	PendingEvents(ctx context.Context, routeID string, limit int) ([]chat.Stored, error)
	RecentEvents(ctx context.Context, routeID string, before time.Time, limit int) ([]chat.Stored, error)
	Event(ctx context.Context, key string) (chat.Stored, error)
	Route(ctx context.Context, routeID string) (route.Stored, error)
	// Commit writes a change that touches no session; errs.ErrConflict means that somebody changed any of it first.
	Commit(ctx context.Context, c route.Change) error
}

// Ledger is one session's record.
type Ledger interface {
	Load(ctx context.Context) (session.Session, error)
	// Settle changes the session, events and their route in one swap; errs.ErrConflict means that somebody changed one of those first.
	Settle(ctx context.Context, decide func(*session.Draft) (route.Change, error)) (session.Session, error)
	Message(ctx context.Context, seq int64) (message.Message, error)
}

// Conversations finds sessions.
type Conversations interface {
	// Conversation is the current session of a conversation, or the fresh one.
	Conversation(key string, fresh func() session.Session) Ledger
	Session(id string) Ledger
}

// Configuration gives the settings in force.
type Configuration interface {
	Active(ctx context.Context) (*config.Config, error)
}

// Publisher sends wake-ups.
type Publisher interface {
	Publish(ctx context.Context, topic bus.Topic, wake any) error
}

// Media copies an attachment into the staging area and returns it with its name there. An errs.Permanent error means it cannot be had.
type Media interface {
	Stage(ctx context.Context, e *chat.Event, sessionID string, a message.Attachment) (message.Attachment, error)
}

// Channels tells what a platform knows of an event's channel. An errs.Permanent error means that it will never say.
type Channels interface {
	// History returns up to limit messages that were written before the event, the oldest first.
	History(ctx context.Context, e *chat.Event, limit int) ([]chat.Event, error)
	// Direct reports whether the channel is a conversation of one person with the app.
	Direct(ctx context.Context, e *chat.Event) (bool, error)
}

// Spaces keeps which channels the app is in.
type Spaces interface {
	Joined(ctx context.Context, routeID string, at time.Time) error
	Left(ctx context.Context, routeID string, at time.Time) error
}

// Judge asks a small model whether to speak.
type Judge interface {
	Ask(ctx context.Context, model string, q judge.Question) (judge.Answer, error)
}

// Censor judges texts by a route's rules.
type Censor interface {
	Check(ctx context.Context, rules config.Censor, d censor.Direction, text string, readings ...string) (censor.Result, error)
}

// Deps is what the pipeline works with. Nothing may be nil.
type Deps struct {
	Events        Events
	Conversations Conversations
	Config        Configuration
	Bus           Publisher
	Media         Media
	Channels      Channels
	Spaces        Spaces
	Judge         Judge
	Censor        Censor
	Hooks         *hooks.Hooks
	Clock         clock.Clock
	NewID         func() string
	Log           *slog.Logger
	// Going ends when the instance is asked to go: whoever waits gives its wake-up back.
	Going context.Context
}
