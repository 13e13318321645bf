package message

import (
	"fmt"
	"slices"
)

// Status says how far a message has come. Who leaves each status, and what a crash in it means, stands with the constant.
type Status string

const (
	// StatusPendingAgent: accepted input that waits for a turn. The turn function leaves it by Claim. A crash here loses nothing: the
	// session's inbox names the message and the sweep wakes the session.
	StatusPendingAgent Status = "pending_agent"
	// StatusProcessing: input of the live turn. The holder of the turn lease leaves it. A crash here is resumed by the next holder.
	StatusProcessing Status = "processing"
	// StatusProcessed: input whose turn ended with a reply. Final.
	StatusProcessed Status = "processed"
	// StatusInterrupted: input or tool message whose turn was pre-empted or stopped. Final.
	StatusInterrupted Status = "interrupted"
	// StatusError: input whose turn failed for good, or output that can never be delivered. Final.
	StatusError Status = "error"
	// StatusPending: output that waits for delivery. The deliver function leaves it. A crash here is sent again under the same key.
	StatusPending Status = "pending"
	// StatusDelivered: output or step that stands on the platform. Final for output.
	StatusDelivered Status = "delivered"
	// StatusResponded: step that is stored and needs no delivery; a platform with a live view moves it on to delivered.
	StatusResponded Status = "responded"
)

// Flow says which edges a message may take.
type Flow string

const (
	// FlowInput is what a turn answers: M5.1, M5.2, M5.3, M5.9.
	FlowInput Flow = "input"
	// FlowOutput is what a person is sent: M5.5, M5.11, M5.12.
	FlowOutput Flow = "output"
	// FlowStep is what happens within a turn: M5.4, M5.6, M5.7.
	FlowStep Flow = "step"
	// FlowNote is what only the model reads: M5.8, M5.10. It has no edge.
	FlowNote Flow = "note"
)

// Transition is one named edge, or a few that mean the same, of the status diagram.
type Transition struct {
	Name string
	Flow Flow
	From []Status
	To   Status
	// ToolOnly limits the edge to messages of RoleTool.
	ToolOnly bool
}

// The transitions. There is no other way to change a status.
var (
	Claim         = Transition{Name: "claim", Flow: FlowInput, From: []Status{StatusPendingAgent}, To: StatusProcessing}
	Finish        = Transition{Name: "finish", Flow: FlowInput, From: []Status{StatusProcessing}, To: StatusProcessed}
	Interrupt     = Transition{Name: "interrupt", Flow: FlowInput, From: []Status{StatusProcessing}, To: StatusInterrupted}
	Withdraw      = Transition{Name: "withdraw", Flow: FlowInput, From: []Status{StatusPendingAgent}, To: StatusInterrupted}
	Fail          = Transition{Name: "fail", Flow: FlowInput, From: []Status{StatusProcessing}, To: StatusError}
	Requeue       = Transition{Name: "requeue", Flow: FlowInput, From: []Status{StatusProcessing}, To: StatusPendingAgent}
	Deliver       = Transition{Name: "deliver", Flow: FlowOutput, From: []Status{StatusPending}, To: StatusDelivered}
	Undeliverable = Transition{Name: "undeliverable", Flow: FlowOutput, From: []Status{StatusPending}, To: StatusError}
	Show          = Transition{Name: "show", Flow: FlowStep, From: []Status{StatusResponded}, To: StatusDelivered}
	Preempt       = Transition{Name: "preempt", Flow: FlowStep, From: []Status{StatusResponded, StatusDelivered}, To: StatusInterrupted, ToolOnly: true}
)

// Transitions lists every transition, in the order of the diagram.
func Transitions() []Transition {
	return []Transition{Claim, Finish, Interrupt, Withdraw, Fail, Requeue, Deliver, Undeliverable, Show, Preempt}
}

// IllegalTransitionError says that a message may not take an edge.
type IllegalTransitionError struct {
	ID         string
	Transition string
	Flow       Flow
	From       Status
}

func (e *IllegalTransitionError) Error() string {
	return fmt.Sprintf("message %s: %s is not allowed for %s in status %q", e.ID, e.Transition, e.Flow, e.From)
}

// Apply moves m along t, or returns an *IllegalTransitionError and leaves m as it was.
func (m *Message) Apply(t Transition) error {
	flow := m.Class().Flow()
	if flow != t.Flow || !slices.Contains(t.From, m.Status) || (t.ToolOnly && m.Role != RoleTool) {
		return &IllegalTransitionError{ID: m.ID, Transition: t.Name, Flow: flow, From: m.Status}
	}
	m.Status = t.To
	return nil
}
