// Package settings says what can be set for a route, what holds where nothing is written, and which values are allowed. It is pure: where values
// come from and which rule gives them is not its business.
package settings

import (
	"cmp"
	"slices"
	"time"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/session"
)

// Millis is a time in milliseconds, as the chat pipeline's settings are written.
type Millis int64

// Duration is the same as Go counts.
func (m Millis) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Route is the effective settings of a channel: the namespace chat. The names are the chat pipeline's own.
type Route struct {
	Engine     string     `yaml:"engine"`   // agent, or off
	Model      string     `yaml:"model"`    // provider:model
	Thinking   bool       `yaml:"thinking"` // ask the model for its thoughts; a model that has none refuses
	Role       string     `yaml:"role"`
	Tools      []string   `yaml:"tools"`  // empty means all
	Locale     string     `yaml:"locale"` // zh or en, where the platform does not tell a person's own
	Session    Session    `yaml:"session"`
	Activation Activation `yaml:"activation"`
	Observe    Observe    `yaml:"observe"`
	Merge      Merge      `yaml:"merge"`
	// MaxPendingPerRoute is how many prompts may wait, 1 to 64.
	MaxPendingPerRoute int `yaml:"maxPendingPerRoute"`
}

// Session ties messages to conversations.
type Session struct {
	Ownership chat.Ownership `yaml:"ownership"`
	Lane      string         `yaml:"lane"`
	CustomKey string         `yaml:"customKey"`
}

// Activation says when to answer.
type Activation struct {
	Use                       []string `yaml:"use"` // of rule, activity, judge
	IgnoreSelf                bool     `yaml:"ignoreSelf"`
	AllowPrivate              bool     `yaml:"allowPrivate"`
	PrivateChatWithoutCommand bool     `yaml:"privateChatWithoutCommand"`
	AllowAtReply              bool     `yaml:"allowAtReply"`
	AllowQuoteReply           bool     `yaml:"allowQuoteReply"`
	Nicknames                 []string `yaml:"nicknames"`
	IsNickNameWithContent     bool     `yaml:"isNickNameWithContent"`
	RandomReplyFrequency      float64  `yaml:"randomReplyFrequency"` // probability, 0 to 1
	// MsgCooldown is how many seconds after a wake another one by the rule decider is only observed; 0 means none.
	MsgCooldown int      `yaml:"msgCooldown"`
	Activity    Activity `yaml:"activity"`
	Judge       Judge    `yaml:"judge"`
}

// Activity tunes the activity decider.
type Activity struct {
	// Frequency scales how often an urge above the threshold is really followed: the probability of the draw, 0 to 1.
	Frequency float64 `yaml:"frequency"`
	// Threshold is the urge from which the bot may speak, before it has spoken, 0 to 1.
	Threshold float64 `yaml:"threshold"`
	// Interests are words that make a message a cue.
	Interests []string `yaml:"interests"`
}

// Judge tunes the judge decider: a small model that is asked whether to speak.
type Judge struct {
	Model       string  `yaml:"model"` // provider:model, or @decide, which the roles of models resolve
	MinUrge     float64 `yaml:"minUrge"`
	MinInterval Millis  `yaml:"minInterval"` // between two questions
	Window      int     `yaml:"window"`      // how many messages it is shown
	DailyBudget int     `yaml:"dailyBudget"` // questions a day of UTC and route
	Concurrency int     `yaml:"concurrency"` // questions at a time
}

// Observe says what becomes of messages that wake nobody.
type Observe struct {
	Mode     string    `yaml:"mode"` // off or quiet
	Self     bool      `yaml:"self"` // the bot's own messages too
	Backfill Backfill  `yaml:"backfill"`
	MidTurn  chat.Busy `yaml:"midTurn"` // step or turn
	Store    string    `yaml:"store"`   // message: the unit that is stored
	Media    Media     `yaml:"media"`
}

// Backfill says how much of what was said before is fetched when a conversation begins.
type Backfill struct {
	Limit int `yaml:"limit"` // messages; 0 means none
}

// Media bounds attachments of observed messages.
type Media struct {
	PerMessage int `yaml:"perMessage"` // kept of one message
	Attach     int `yaml:"attach"`     // copied for the model of one observed message; 0 means none
}

// Ways to merge.
const (
	MergeImmediate = "immediate" // the first message that wakes does so at once
	MergeSettle    = "settle"    // a burst is waited for, and decided on as one
)

// Merge says how messages that follow each other closely become one prompt, and how a new one meets a running turn.
type Merge struct {
	Mode       string `yaml:"mode"`       // immediate or settle
	DirectMode string `yaml:"directMode"` // mode in direct chats; empty means Mode
	Quiet      Millis `yaml:"quiet"`      // silence that ends a burst
	Max        Millis `yaml:"max"`        // from its first message to its end at the latest
	Interrupt  bool   `yaml:"interrupt"`  // a new prompt cancels a running inference
}

// ModeFor is the mode in a channel of that kind.
func (m Merge) ModeFor(direct bool) string {
	if direct {
		return cmp.Or(m.DirectMode, m.Mode)
	}
	return m.Mode
}

// SessionSettings are what a turn must know of the route, in the language of the person who wrote last.
func (r *Route) SessionSettings(locale string) session.Settings {
	return session.Settings{
		Model: r.Model, Thinking: r.Thinking, Role: r.Role, Tools: slices.Clone(r.Tools), Interrupt: r.Merge.Interrupt,
		Locale: cmp.Or(locale, r.Locale),
	}
}

// Binding ties the route's messages to conversations.
func (r *Route) Binding() chat.Binding {
	return chat.Binding{Ownership: r.Session.Ownership, Lane: r.Session.Lane, CustomKey: r.Session.CustomKey}
}

// DefaultRole is the role of a route that names none.
const DefaultRole = "default"

// DefaultRoute is what a route has where nothing is written.
func DefaultRoute() Route {
	return Route{
		Engine: "agent", Model: "openai:gpt-4o-mini", Thinking: true, Role: DefaultRole, Locale: "zh",
		Session: Session{Ownership: chat.OwnershipShared, Lane: chat.DefaultLane},
		Activation: Activation{
			Use: []string{"rule"}, IgnoreSelf: true, AllowPrivate: true, PrivateChatWithoutCommand: true, AllowAtReply: true,
			AllowQuoteReply: true,
			Activity:        Activity{Frequency: 1, Threshold: 0.45},
			Judge:           Judge{Model: "@decide", MinUrge: 0.55, MinInterval: 60_000, Window: 12, DailyBudget: 200, Concurrency: 2},
		},
		Observe: Observe{
			Mode: "off", Self: true, Backfill: Backfill{Limit: 30}, MidTurn: chat.BusyStep, Store: "message", Media: Media{PerMessage: 9, Attach: 4},
		},
		Merge:              Merge{Mode: MergeImmediate, Quiet: 2500, Max: 15_000},
		MaxPendingPerRoute: 64,
	}
}

// Listens tells whether a route needs messages that do not mention the app: it observes, may speak unasked, or answers to a nickname. Some
// platforms have to be asked for those.
func (r *Route) Listens() bool {
	a := &r.Activation
	unasked := slices.Contains(a.Use, "activity") || slices.Contains(a.Use, "judge") || a.RandomReplyFrequency > 0 || len(a.Nicknames) > 0
	return r.Engine != "off" && (unasked || r.Observe.Mode != "off")
}
