// Package hooks is where code of a deployment's own takes part in conversations: functions that listen to what happens, called one after the
// other in the order in which wiring code registered them. There is no global registry: each function makes its Hooks, adds listeners and hands
// it to what it wires. The zero Hooks has none and costs nothing.
//
// Two hooks decide, before something happens: BeforeReceive and BeforeSend. Their first error ends the work it is about without a result, and the
// work is tried again, unless the error is marked permanent: a veto that cannot be computed neither lets a message through nor loses it. All others
// tell, after it happened: every listener is called, and what goes wrong is returned together, for the caller to log; it undoes nothing. After a
// crash or a redelivery a listener may be called again for the same thing. A panic is an error. Nobody waits for a listener but the conversation:
// one that takes long should hand its work on.
//
// The package knows no store and no bus; Lifecycle is what other systems are told, and how it is published is its Announcer's business.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"kesoku.dev/shared/chat"
)

// Hooks are the listeners. They are registered before the first call and not changed after it; calls are safe for concurrent use as far as the
// listeners are.
type Hooks struct {
	OnBeforeReceive []func(ctx context.Context, e chat.Event) (Verdict, error)
	OnReceive       []func(ctx context.Context, r Received) error
	OnDeciders      []func(ctx context.Context, inUse []string) error
	OnBeforeSend    []func(ctx context.Context, f Fragment) (text string, err error)
	OnRulesChange   []func(ctx context.Context, revision int64) error
	OnAgentStatus   []func(ctx context.Context, s AgentStatus) error
	OnEngineAction  []func(ctx context.Context, a EngineAction) error
}

// Verdict is what a BeforeReceive listener makes of an event. The zero Verdict passes it on.
type Verdict struct {
	drop    bool
	replace bool
	text    string
}

// Pass lets the event go on as it is.
func Pass() Verdict { return Verdict{} }

// Drop ends the event: nobody decides on it, nothing of it is kept for the model.
func Drop() Verdict { return Verdict{drop: true} }

// Replace lets the event go on with another text, which may be empty.
func Replace(text string) Verdict { return Verdict{replace: true, text: text} }

// Received is an event that was decided on.
type Received struct {
	Event     chat.Event
	SessionID string // empty if it reached no session
	Decision  chat.Decision
}

// Kind says what is to be sent.
type Kind string

// The kinds. Fixed notices of ours, such as that a turn failed, pass no hook.
const (
	KindReply        Kind = "reply"        // the end of a turn
	KindNotification Kind = "notification" // a note beside turns, or the answer of a command
)

// Fragment is a text that is to be sent.
type Fragment struct {
	Kind      Kind
	MessageID string
	SessionID string
	Platform  string
	ChannelID string
	ThreadID  string // empty for the channel's top level
	Direct    bool
	Text      string // Markdown, with elements such as <at id="users/1"/>
}

// Status is how a turn stands.
type Status string

// The statuses.
const (
	StatusStarted   Status = "started"
	StatusPaused    Status = "paused"    // let go for a while, to be gone on with
	StatusFinished  Status = "finished"  // with a reply
	StatusFailed    Status = "failed"    // for good
	StatusStopped   Status = "stopped"   // by a person
	StatusPreempted Status = "preempted" // by a newer prompt
)

// AgentStatus says that a turn stands otherwise than before.
type AgentStatus struct {
	RouteID   string
	SessionID string
	Turn      int
	Status    Status
}

// EngineAction says that people were offered an action: a card with its button stands on the platform.
type EngineAction struct {
	RouteID   string
	SessionID string
	Turn      int
	Action    string // its name, e.g. "stop"
	Params    map[string]string
}

// BeforeReceive asks the listeners about an event before anything is decided on it. Each sees the text that the one before left; the first that
// drops the event is the last asked. It returns the event as it goes on, and whether it does.
func (h *Hooks) BeforeReceive(ctx context.Context, e chat.Event) (after chat.Event, pass bool, err error) {
	for i, listen := range h.OnBeforeReceive {
		var v Verdict
		err := call("before-receive", i, func() (err error) {
			v, err = listen(ctx, e)
			return err
		})
		switch {
		case err != nil:
			return chat.Event{}, false, err
		case v.drop:
			return e, false, nil
		case v.replace:
			e.Text = v.text
		}
	}
	return e, true, nil
}

// BeforeSend lets the listeners rewrite a text, each what the one before left. It is called again whenever sending is tried again, also when part
// of the text stands already, so a listener should give the same answer to the same fragment.
func (h *Hooks) BeforeSend(ctx context.Context, f Fragment) (Fragment, error) {
	for i, listen := range h.OnBeforeSend {
		err := call("before-send", i, func() (err error) {
			f.Text, err = listen(ctx, f)
			return err
		})
		if err != nil {
			return Fragment{}, err
		}
	}
	return f, nil
}

// Receive tells of an event that was decided on and, where it was accepted, handed to its session.
func (h *Hooks) Receive(ctx context.Context, r Received) error {
	return tell(ctx, "receive", h.OnReceive, r)
}

// Deciders tells which deciders this instance has. It is called once, when they are wired.
func (h *Hooks) Deciders(ctx context.Context, inUse []string) error {
	return tell(ctx, "deciders", h.OnDeciders, inUse)
}

// RulesChange tells that another revision of the configuration is followed. Every instance tells for itself.
func (h *Hooks) RulesChange(ctx context.Context, revision int64) error {
	return tell(ctx, "rules-change", h.OnRulesChange, revision)
}

// AgentStatus tells that a turn stands otherwise than before.
func (h *Hooks) AgentStatus(ctx context.Context, s AgentStatus) error {
	return tell(ctx, "agent-status", h.OnAgentStatus, s)
}

// EngineAction tells that people were offered an action.
func (h *Hooks) EngineAction(ctx context.Context, a EngineAction) error {
	return tell(ctx, "engine-action", h.OnEngineAction, a)
}

func tell[T any](ctx context.Context, hook string, listeners []func(context.Context, T) error, what T) error {
	var problems []error
	for i, listen := range listeners {
		problems = append(problems, call(hook, i, func() error { return listen(ctx, what) }))
	}
	return errors.Join(problems...)
}

// maxStack bounds how much of a panic's stack an error carries, in bytes.
const maxStack = 4 << 10

// call makes an error of a panic, and says whose an error is. The error keeps its mark.
func call(hook string, i int, listen func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			err = fmt.Errorf("hook %s, listener %d: panic: %v\n%s", hook, i, p, stack[:min(len(stack), maxStack)])
		}
	}()
	if err := listen(); err != nil {
		return fmt.Errorf("hook %s, listener %d: %w", hook, i, err)
	}
	return nil
}
