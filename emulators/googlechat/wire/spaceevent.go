package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/api/chat/v1"
)

// The kinds of space event about messages.
const (
	EventCreated = "google.workspace.chat.message.v1.created"
	EventUpdated = "google.workspace.chat.message.v1.updated"
	EventDeleted = "google.workspace.chat.message.v1.deleted"
)

// What full resource names of Chat and of the Workspace Events API begin with.
const (
	ChatResource   = "//chat.googleapis.com/"
	EventsResource = "//workspaceevents.googleapis.com/"
)

// SpaceEvent is what the Workspace Events API publishes about a message, whoever wrote it, to a subscription on its space.
type SpaceEvent struct {
	Type         string
	ID           string // unique per event
	At           string // in TimeFormat
	Space        string // resource name
	Message      *Message
	Source       string // full resource name of the subscription to events; default one named after the space
	NameOnly     bool   // the subscription leaves the message out
	Subscription string // Pub/Sub subscription that pushes: "projects/…/subscriptions/…"
	PubsubID     string // Pub/Sub's own message id
}

// Published is a message for a topic: an event in the Pub/Sub binding of CloudEvents.
type Published struct {
	Attributes  map[string]string
	Data        []byte
	OrderingKey string
}

// Published writes the event for its topic.
func (e *SpaceEvent) Published() (*Published, error) {
	data, err := json.Marshal(map[string]*Message{"message": e.resource()})
	if err != nil {
		return nil, fmt.Errorf("write %s of %s: %w", e.Type, e.Message.Name, err)
	}
	source := e.Source
	if source == "" {
		source = EventsResource + "subscriptions/chat-spaces-" + base64.RawURLEncoding.EncodeToString([]byte(e.Space))
	}
	return &Published{Data: data, OrderingKey: source, Attributes: map[string]string{
		"ce-type": e.Type, "ce-id": e.Space + "/spaceEvents/" + e.ID, "ce-source": source, "ce-subject": ChatResource + e.Space,
		"ce-time": e.At, "ce-specversion": "1.0", "ce-datacontenttype": "application/json",
	}}, nil
}

// LifecycleEvent is what the API publishes about a subscription itself.
type LifecycleEvent struct {
	Type         string
	ID           string
	At           string // in TimeFormat
	Subscription string // resource name
	Reason       string // of a suspension
}

// Published writes the event for its topic. The names are in snake case, as Google's own example has them.
func (e *LifecycleEvent) Published() (*Published, error) {
	sub := map[string]string{"name": e.Subscription}
	if e.Reason != "" {
		sub["suspension_reason"] = e.Reason
	}
	data, err := json.Marshal(map[string]any{"subscription": sub})
	if err != nil {
		return nil, fmt.Errorf("write %s of %s: %w", e.Type, e.Subscription, err)
	}
	source := EventsResource + e.Subscription
	return &Published{Data: data, OrderingKey: source, Attributes: map[string]string{
		"ce-type": e.Type, "ce-id": e.ID, "ce-source": source, "ce-subject": source, "ce-time": e.At, "ce-specversion": "1.0",
		"ce-datacontenttype": "application/json",
	}}, nil
}

// pubsubMessage has both spellings of two fields, as real pushes do.
type pubsubMessage struct {
	Attributes   map[string]string `json:"attributes"`
	Data         string            `json:"data"`
	MessageID    string            `json:"messageId"`
	MessageID2   string            `json:"message_id"`
	OrderingKey  string            `json:"orderingKey"`
	PublishTime  string            `json:"publishTime"`
	PublishTime2 string            `json:"publish_time"`
}

// Push writes the body of the Pub/Sub push.
func (e *SpaceEvent) Push() ([]byte, error) {
	p, err := e.Published()
	if err != nil {
		return nil, err
	}
	m := pubsubMessage{
		Attributes: p.Attributes, Data: base64.StdEncoding.EncodeToString(p.Data),
		MessageID: e.PubsubID, MessageID2: e.PubsubID, OrderingKey: p.OrderingKey, PublishTime: e.At, PublishTime2: e.At,
	}
	body, err := json.Marshal(map[string]any{"message": m, "subscription": e.Subscription})
	if err != nil {
		return nil, fmt.Errorf("write the push of %s: %w", e.Type, err)
	}
	return body, nil
}

// resource is the message as such events show it: people and spaces by name alone, a deleted one without its content.
func (e *SpaceEvent) resource() *Message {
	if e.NameOnly {
		return &Message{Name: e.Message.Name}
	}
	m := *e.Message
	m.Space = &chat.Space{Name: e.Space}
	if m.Sender != nil {
		m.Sender = &chat.User{Name: m.Sender.Name, Type: m.Sender.Type}
	}
	if strings.HasSuffix(e.Type, ".deleted") {
		return &Message{Name: m.Name, CreateTime: m.CreateTime, DeleteTime: m.DeleteTime, DeletionMetadata: m.DeletionMetadata}
	}
	return &m
}
