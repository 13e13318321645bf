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

// SpaceEvent is what the Workspace Events API publishes about a message, whoever wrote it, to a subscription on its space.
type SpaceEvent struct {
	Type         string
	ID           string // unique per event
	At           string // in TimeFormat
	Space        string // resource name
	Message      *Message
	Subscription string // Pub/Sub subscription that pushes: "projects/…/subscriptions/…"
	PubsubID     string // Pub/Sub's own message id
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
	data, err := json.Marshal(map[string]*Message{"message": e.resource()})
	if err != nil {
		return nil, fmt.Errorf("write %s of %s: %w", e.Type, e.Message.Name, err)
	}
	source := "//workspaceevents.googleapis.com/subscriptions/chat-spaces-" + base64.RawURLEncoding.EncodeToString([]byte(e.Space))
	m := pubsubMessage{
		Attributes: map[string]string{
			"ce-type": e.Type, "ce-id": e.Space + "/spaceEvents/" + e.ID, "ce-source": source, "ce-subject": "//chat.googleapis.com/" + e.Space,
			"ce-time": e.At, "ce-specversion": "1.0", "ce-datacontenttype": "application/json",
		},
		Data:      base64.StdEncoding.EncodeToString(data),
		MessageID: e.PubsubID, MessageID2: e.PubsubID, OrderingKey: source, PublishTime: e.At, PublishTime2: e.At,
	}
	body, err := json.Marshal(map[string]any{"message": m, "subscription": e.Subscription})
	if err != nil {
		return nil, fmt.Errorf("write the push of %s: %w", e.Type, err)
	}
	return body, nil
}

// resource is the message as such events show it: people and spaces by name alone, a deleted one without its content.
func (e *SpaceEvent) resource() *Message {
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
