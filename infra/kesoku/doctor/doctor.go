// Package doctor examines a deployment step by step and says of each step whether it is well, and if not, what is wrong and what to do. It
// changes nothing that lasts: its probes are removed or always the same. A step that another one's failure makes pointless is skipped.
package doctor

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"kesoku.dev/infra/kesoku/screen"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/bus/topology"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/session"
)

// State is how a step went.
type State string

// The states.
const (
	Well    State = "ok"
	Ill     State = "failed"
	Skipped State = "skipped"
)

// Finding is what one step found.
type Finding struct {
	Step  string `json:"step"`
	State State  `json:"state"`
	Says  string `json:"says"`         // what is so
	Do    string `json:"do,omitempty"` // what to do about it
}

// Database is what is examined of Firestore through package records.
type Database interface {
	Probe(ctx context.Context) error
	Overdue(ctx context.Context) (due time.Time, document string, err error)
	Swept(ctx context.Context) (time.Time, error)
}

// Queries are those of the functions' own that need a composite index.
type Queries interface {
	DueSessions(ctx context.Context, now time.Time, limit int) ([]session.Session, error)
	SessionsOf(ctx context.Context, channelID string, limit int) ([]session.Session, error)
	DueEvents(ctx context.Context, now time.Time, limit int) ([]chat.Stored, error)
	PendingEvents(ctx context.Context, routeID string, limit int) ([]chat.Stored, error)
	RecentEvents(ctx context.Context, routeID string, before time.Time, limit int) ([]chat.Stored, error)
}

// Store is what the functions themselves ask of Firestore.
type Store interface {
	Queries
	Config(ctx context.Context) (files map[string]string, revision int64, err error)
}

// Topics is what is examined of Pub/Sub.
type Topics interface {
	Topic(ctx context.Context, name string) (bool, error)
	Subscriptions(ctx context.Context, topic bus.Topic) ([]topology.Subscription, error)
}

// Staging is what is examined of Cloud Storage.
type Staging interface {
	Put(ctx context.Context, name string, data []byte, contentType string) (stagedAs string, err error)
	Get(ctx context.Context, name string) (data []byte, contentType string, err error)
}

// Parts are the clients, made by Config.Open once there are credentials.
type Parts struct {
	Database Database
	Store    Store
	Topics   Topics
	Staging  Staging // nil without a bucket
}

// Config says what to examine.
type Config struct {
	Project string
	Bucket  string
	// Local says that Firestore and Pub/Sub are emulators: there are no APIs to enable, and pushing and retrying are the local stack's.
	Local   bool
	Webhook string   // URL; empty for that of the deployed function, and where there is none to be found it is skipped
	Secrets []string // ids in Secret Manager
	// Endpoints of Google's APIs; empty for Google's own.
	ChatEndpoint, ServicesEndpoint, SecretsEndpoint, FunctionsEndpoint string

	Open  func(ctx context.Context) (*Parts, error)
	Clock clock.Clock
}

// stepTime bounds one step.
const stepTime = 30 * time.Second

// examination is one run.
type examination struct {
	Config
	named  bool // the project's id can be one
	parts  *Parts
	authed *http.Client // nil without credentials
	plain  *http.Client
}

// step is one thing to examine.
type step struct {
	name  string
	needs string // "project", or beside it "credentials" or "clients": without them there is nothing to ask
	run   func(context.Context) Finding
}

func (e *examination) steps() []step {
	return []step{
		{"project", "", e.project},
		{"credentials", "", e.credentials},
		{"APIs", "credentials", e.apis},
		{"clients", "project", e.clients},
		{"Firestore", "clients", e.database},
		{"indexes", "clients", e.indexes},
		{"configuration", "clients", e.configuration},
		{"topics", "clients", e.topics},
		{"subscriptions", "clients", e.subscriptions},
		{"staging bucket", "clients", e.staging},
		{"secrets", "credentials", e.secrets},
		{"functions", "credentials", e.functions},
		{"webhook", "", e.webhook},
		{"clock", "", e.skew},
		{"Chat API", "credentials", e.chat},
		{"sweeps", "clients", e.sweeps},
	}
}

// Examine runs all steps. began is called before each, with its name, and found after it.
func Examine(ctx context.Context, c Config, began func(step string), found func(Finding)) {
	e := &examination{Config: c, plain: &http.Client{
		Timeout:       stepTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a redirect is an answer to report
	}}
	for _, s := range e.steps() {
		began(s.name)
		f := e.one(ctx, s)
		f.Step, f.Says, f.Do = s.name, screen.OneLine(f.Says), screen.OneLine(f.Do)
		found(f)
	}
}

func (e *examination) one(ctx context.Context, s step) Finding {
	switch {
	case ctx.Err() != nil:
		return skip("interrupted")
	case s.needs != "" && !e.named:
		return skip("not examined without a project")
	case s.needs == "credentials" && e.authed == nil:
		return skip("not examined without credentials")
	case s.needs == "clients" && e.parts == nil:
		return skip("not examined without the clients")
	}
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	return s.run(ctx)
}

func well(format string, args ...any) Finding {
	return Finding{State: Well, Says: fmt.Sprintf(format, args...)}
}

func skip(format string, args ...any) Finding {
	return Finding{State: Skipped, Says: fmt.Sprintf(format, args...)}
}

// ill takes what is wrong and what to do.
func ill(says, do string) Finding { return Finding{State: Ill, Says: says, Do: do} }
