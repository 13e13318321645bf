// Package chat is what happens in a conversation, in words that belong to no platform: events with their senders, the route they
// came by, the decision taken on them and the key of the conversation they belong to. It is pure.
package chat

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"kesoku.dev/shared/message"
)

// Kind says what happened.
type Kind string

// The kinds of event.
const (
	KindMessage Kind = "message" // somebody wrote
	KindEdited  Kind = "edited"  // somebody changed what they wrote
	KindDeleted Kind = "deleted" // somebody took back what they wrote
	KindJoined  Kind = "joined"  // the app was added to a channel
	KindLeft    Kind = "left"    // the app was removed from a channel
	KindAction  Kind = "action"  // somebody pressed a button on one of our cards
	KindCommand Kind = "command" // somebody used a command the platform knows as such
)

// SenderType says what a sender is. What a platform does not tell is SenderUnknown, which is treated as not human.
type SenderType string

// The sender types.
const (
	SenderHuman   SenderType = "human"
	SenderBot     SenderType = "bot"
	SenderUnknown SenderType = "unknown"
)

// Sender is who did it. ID is the platform's stable id; Name is for people and never for decisions.
type Sender struct {
	ID   string     `json:"id" firestore:"id"`
	Name string     `json:"name" firestore:"name"`
	Type SenderType `json:"type" firestore:"type"`
	// Self is true for the app's own messages.
	Self bool `json:"self,omitempty" firestore:"self,omitempty"`
}

// Event is one thing that happened on a platform.
type Event struct {
	Platform string `json:"platform" firestore:"platform"` // also the chatbot_id of messages, e.g. "googlechat"
	Kind     Kind   `json:"kind" firestore:"kind"`
	// MessageID is the platform's id of the message written, edited, deleted or pressed on.
	MessageID string `json:"message_id" firestore:"message_id"`
	// EventID tells two events about one message apart (an edit, a press); empty for KindMessage, whose message is its identity.
	EventID   string `json:"event_id,omitempty" firestore:"event_id,omitempty"`
	ChannelID string `json:"channel_id" firestore:"channel_id"`
	ThreadID  string `json:"thread_id,omitempty" firestore:"thread_id,omitempty"`
	// Direct is true in a conversation of one person with the app.
	Direct bool `json:"direct,omitempty" firestore:"direct,omitempty"`
	// DirectUnknown is true where the platform's form of event does not tell whether the channel is direct.
	DirectUnknown bool                 `json:"direct_unknown,omitempty" firestore:"direct_unknown,omitempty"`
	Sender        Sender               `json:"sender" firestore:"sender"`
	Text          string               `json:"text" firestore:"text"` // without the mention of the app, trimmed
	AtMe          bool                 `json:"at_me,omitempty" firestore:"at_me,omitempty"`
	QuoteID       string               `json:"quote_id,omitempty" firestore:"quote_id,omitempty"` // message quoted
	QuoteMe       bool                 `json:"quote_me,omitempty" firestore:"quote_me,omitempty"`
	Attachments   []message.Attachment `json:"attachments,omitempty" firestore:"attachments,omitempty"`
	Action        Action               `json:"action,omitzero" firestore:"action,omitempty"`
	Locale        string               `json:"locale,omitempty" firestore:"locale,omitempty"` // BCP 47, as the platform tells it
	At            time.Time            `json:"at" firestore:"at"`                             // by the platform's clock
}

// Action is the button or command of an event.
type Action struct {
	Name   string            `json:"name,omitempty" firestore:"name,omitempty"`
	Params map[string]string `json:"params,omitempty" firestore:"params,omitempty"`
}

// RouteID names the channel across platforms: "<platform>:<channel id>".
func (e *Event) RouteID() string { return e.Platform + ":" + e.ChannelID }

// Key is the identity against duplicates, safe as a document id: sha256 of platform, kind and the platform's id. Two platforms'
// ids never collide, nor do a message and its edit. Without any id of the platform's it falls back to sha256 of route and text.
func (e *Event) Key() string {
	if e.MessageID == "" && e.EventID == "" {
		return plainHash(e.RouteID() + e.Text)
	}
	return Hash(e.Platform, string(e.Kind), e.MessageID, e.EventID)
}

// Hash is the hex sha256 of the parts, each headed by its length, so that no two lists of parts meet whatever bytes they hold.
func Hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// plainHash is the hex sha256 of text, nothing added.
func plainHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
