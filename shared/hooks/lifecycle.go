package hooks

import (
	"context"
	"time"

	"kesoku.dev/shared/chat"
)

// Type names a lifecycle event.
type Type string

// The types.
const (
	TypeReceive      Type = "receive"
	TypeAgentStatus  Type = "agent-status"
	TypeRulesChange  Type = "rules-change"
	TypeEngineAction Type = "engine-action"
)

// Lifecycle is what other systems are told of a conversation, as JSON: docs/events.md. It holds no word of anybody's, no name and no user's id.
type Lifecycle struct {
	Type    Type      `json:"type"`
	At      time.Time `json:"at"`                // when it was told, by the instance's clock
	Route   string    `json:"route,omitempty"`   // "<platform>:<channel id>"
	Session string    `json:"session,omitempty"` // empty where no session is concerned

	// Of receive: the event's key, which is the same whenever the event is told again; what kind it is; what was decided.
	Event  string      `json:"event,omitempty"`
	Kind   chat.Kind   `json:"kind,omitempty"`
	Effect chat.Effect `json:"effect,omitempty"`
	Reason string      `json:"reason,omitempty"`
	By     string      `json:"by,omitempty"`

	Turn     int    `json:"turn,omitempty"`     // of agent-status and engine-action
	Status   Status `json:"status,omitempty"`   // of agent-status
	Action   string `json:"action,omitempty"`   // of engine-action
	Revision int64  `json:"revision,omitempty"` // of rules-change
}

// Announcer publishes lifecycle events.
type Announcer interface {
	Announce(ctx context.Context, l Lifecycle) error
}

// AnnounceTo has the announcer told of all that happens from here on.
func (h *Hooks) AnnounceTo(a Announcer, now func() time.Time) {
	h.OnReceive = append(h.OnReceive, func(ctx context.Context, r Received) error {
		return a.Announce(ctx, Lifecycle{
			Type: TypeReceive, At: now(), Route: r.Event.RouteID(), Session: r.SessionID, Event: r.Event.Key(), Kind: r.Event.Kind,
			Effect: r.Decision.Effect, Reason: r.Decision.Reason, By: r.Decision.By,
		})
	})
	h.OnRulesChange = append(h.OnRulesChange, func(ctx context.Context, revision int64) error {
		return a.Announce(ctx, Lifecycle{Type: TypeRulesChange, At: now(), Revision: revision})
	})
	h.OnAgentStatus = append(h.OnAgentStatus, func(ctx context.Context, s AgentStatus) error {
		return a.Announce(ctx, Lifecycle{Type: TypeAgentStatus, At: now(), Route: s.RouteID, Session: s.SessionID, Turn: s.Turn, Status: s.Status})
	})
	h.OnEngineAction = append(h.OnEngineAction, func(ctx context.Context, e EngineAction) error {
		return a.Announce(ctx, Lifecycle{Type: TypeEngineAction, At: now(), Route: e.RouteID, Session: e.SessionID, Turn: e.Turn, Action: e.Action})
	})
}
