// Package message is the record that everything else passes around: who said what, of which kind, and how far it has come.
// It is pure: no clock, no id generator, no store of its own. What it fixes: the four roles, four types and eight statuses, the twelve
// classes of message with one constructor each (Author), and the only edges between statuses (Transition).
package message

import (
	"encoding/json"
	"fmt"
	"time"
)

// Role says which kind of party made a message.
type Role string

// The four roles.
const (
	RoleUser      Role = "user"      // a person, or a cron job that speaks for one
	RoleAssistant Role = "assistant" // Kesoku itself
	RoleTool      Role = "tool"      // a tool call or its result
	RoleSystem    Role = "system"    // the framework, towards the model
)

// Type says how the content of a message is to be read.
type Type string

// The four types.
const (
	TypeText       Type = "text"
	TypeThought    Type = "thought"
	TypeToolCall   Type = "tool_call"
	TypeToolResult Type = "tool_result"
)

// Names that Kesoku writes into Message.Sender.
const (
	SenderKesoku       = "Kesoku"
	SenderCron         = "Cronjob"
	SenderSystem       = "System"
	SenderNotification = "Notification"
)

// Message is one record of a session. The first twelve fields are the model's; the rest are its place in the session's order.
type Message struct {
	ID        string    `json:"id" firestore:"id"`
	SessionID string    `json:"session_id" firestore:"session_id"`
	ParentID  string    `json:"parent_id" firestore:"parent_id"` // the prompt or call this answers; empty for a prompt
	ChatbotID string    `json:"chatbot_id" firestore:"chatbot_id"`
	ChannelID string    `json:"channel_id" firestore:"channel_id"`
	Sender    string    `json:"sender" firestore:"sender"`
	Role      Role      `json:"role" firestore:"role"`
	Type      Type      `json:"type" firestore:"type"`
	Content   string    `json:"content" firestore:"content"`
	Status    Status    `json:"status" firestore:"status"`
	Metadata  Metadata  `json:"metadata" firestore:"metadata"`
	Timestamp time.Time `json:"timestamp" firestore:"timestamp"`

	// Turn is the turn this message belongs to, from 1; 0 while a prompt still waits for one.
	Turn int `json:"turn" firestore:"turn"`
	// Step is the model call within the turn, from 1; 0 for the prompts of the turn.
	Step int `json:"step" firestore:"step"`
	// Phase orders the messages of one step.
	Phase Phase `json:"phase" firestore:"phase"`
	// Ordinal orders parallel calls of one step, and their results likewise.
	Ordinal int `json:"ordinal" firestore:"ordinal"`
	// Seq counts all messages of a session in the order they were stored, from 1.
	Seq int64 `json:"seq" firestore:"seq"`
}

// Phase is the place of a message within its step.
type Phase int

// The phases, in their order. A prompt stands before all steps of its turn, so its phase is never compared with theirs.
const (
	PhaseThought    Phase = 0
	PhaseToolCall   Phase = 1
	PhaseToolResult Phase = 2
	PhaseText       Phase = 3
)

// Metadata is what only some classes carry. Absent fields are absent in JSON and in Firestore.
type Metadata struct {
	PlatformMessageID string       `json:"platform_message_id,omitempty" firestore:"platform_message_id,omitempty"`
	SenderID          string       `json:"sender_id,omitempty" firestore:"sender_id,omitempty"`
	ThreadID          string       `json:"thread_id,omitempty" firestore:"thread_id,omitempty"`
	Locale            string       `json:"locale,omitempty" firestore:"locale,omitempty"`
	Attachments       []Attachment `json:"attachments,omitempty" firestore:"attachments,omitempty"`
	Observed          bool         `json:"observed,omitempty" firestore:"observed,omitempty"` // only listened to: context for whoever is answered
	IsCronjob         bool         `json:"is_cronjob,omitempty" firestore:"is_cronjob,omitempty"`
	IsCompaction      bool         `json:"is_compaction,omitempty" firestore:"is_compaction,omitempty"`
	ToolName          string       `json:"tool_name,omitempty" firestore:"tool_name,omitempty"`
	ToolArguments     Arguments    `json:"tool_arguments,omitempty" firestore:"tool_arguments,omitempty"`
	ToolResult        string       `json:"tool_result,omitempty" firestore:"tool_result,omitempty"` // one line for people
	ToolFailed        bool         `json:"tool_failed,omitempty" firestore:"tool_failed,omitempty"`
	CallID            string       `json:"call_id,omitempty" firestore:"call_id,omitempty"`     // pairs a result with its call
	Signature         []byte       `json:"signature,omitempty" firestore:"signature,omitempty"` // the provider's, opaque
	StagedAs          string       `json:"staged_as,omitempty" firestore:"staged_as,omitempty"` // whole content in the staging area
	TurnMetrics       *TurnMetrics `json:"turn_metrics,omitempty" firestore:"turn_metrics,omitempty"`
	DeliveryError     string       `json:"delivery_error,omitempty" firestore:"delivery_error,omitempty"`
}

// Arguments is a JSON object as text. Firestore keeps the text, since it can hold neither nested arrays nor every field name;
// JSON shows the object itself.
type Arguments string

// MarshalJSON writes the object, not a string.
func (a Arguments) MarshalJSON() ([]byte, error) {
	if a == "" {
		return []byte("{}"), nil
	}
	return json.RawMessage(a).MarshalJSON()
}

// UnmarshalJSON keeps the text of the object as it stands. It takes null for no arguments and refuses what is no object.
func (a *Arguments) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if len(b) == 0 || b[0] != '{' {
		return fmt.Errorf("arguments %.40q are no JSON object", b)
	}
	*a = Arguments(b)
	return nil
}

// Attachment is a file that came with a prompt, copied to the session's staging area when it was accepted.
type Attachment struct {
	Name     string `json:"name" firestore:"name"`
	MIMEType string `json:"mime_type,omitempty" firestore:"mime_type,omitempty"`
	Size     int64  `json:"size,omitempty" firestore:"size,omitempty"` // bytes
	StagedAs string `json:"staged_as,omitempty" firestore:"staged_as,omitempty"`
	// Source is the platform's own handle, used once to copy the file.
	Source string `json:"source,omitempty" firestore:"source,omitempty"`
}

// TurnMetrics is what a turn cost, shown with its reply.
type TurnMetrics struct {
	SessionTurns  int     `json:"session_turns" firestore:"session_turns"`     // finished turns of the session, this one included
	ContextTokens int     `json:"context_tokens" firestore:"context_tokens"`   // tokens of the last request
	TurnToolCalls int     `json:"turn_tool_calls" firestore:"turn_tool_calls"` // calls made in the turn
	TurnTokens    int     `json:"turn_tokens" firestore:"turn_tokens"`         // prompt and output tokens of all requests of the turn
	TurnTime      float64 `json:"turn_time" firestore:"turn_time"`             // seconds from claim to reply
}
