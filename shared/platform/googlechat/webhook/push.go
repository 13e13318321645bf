package webhook

import (
	"encoding/json"
	"errors"
	"strings"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/platform/googlechat/internal/names"
)

// messageEvents is what the types of Workspace events on messages start with.
const messageEvents = "google.workspace.chat.message.v1."

// push reads a Workspace event. A batch that has one bad message still gives the others.
func (d Decoder) push(body []byte) ([]chat.Event, error) {
	var p push
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, malformed("push: %v", err)
	}
	typ := p.Message.Attributes["ce-type"]
	var read func(*wireMessage, string) (chat.Event, error)
	switch strings.TrimPrefix(typ, messageEvents) {
	case "created", "batchCreated":
		read = d.created
	case "updated", "batchUpdated":
		read = d.updated
	case "deleted", "batchDeleted":
		read = d.deleted
	default:
		return nil, ignored("type %.100q", typ)
	}
	var data changes
	if err := json.Unmarshal(p.Message.Data, &data); err != nil {
		return nil, malformed("data of %s: %v", typ, err)
	}
	at := p.Message.Attributes["ce-time"]
	if at == "" {
		at = p.Message.PublishTime
	}
	var messages []*wireMessage
	if data.Message != nil || len(data.Messages) == 0 {
		messages = append(messages, data.Message)
	}
	for _, m := range data.Messages {
		messages = append(messages, m.Message)
	}
	var events []chat.Event
	var failures []error
	for _, m := range messages {
		e, err := read(m, at)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		events = append(events, e)
	}
	return events, errors.Join(failures...)
}

// created is a new message. One that an interaction event brings too has the same identity there. A slash command is left to that
// event: if it is ours we get one, and if not it is none of our business.
func (d Decoder) created(m *wireMessage, at string) (chat.Event, error) {
	e, err := d.message(m, nil, origin{at: at})
	switch {
	case err != nil:
		return chat.Event{}, err
	case m.Sender == nil:
		return chat.Event{}, ignored("a message without a sender: the subscription must include the resource")
	case m.SlashCommand != nil || m.annotated("SLASH_COMMAND"):
		return chat.Event{}, ignored("a slash command comes as an interaction")
	case d.AppUser == "" && m.mentionsApp():
		// Stored as it is, it would stand in the way of the interaction event that knows better.
		return chat.Event{}, ignored("it mentions an app, and if that is us it comes as an interaction")
	default:
		return e, nil
	}
}

// updated is an edit by the author. When Chat adds the preview of a link, the time of the last edit stays what it was: absent, and the
// event is none; or that of an edit before, whose event then has this one's identity.
func (d Decoder) updated(m *wireMessage, at string) (chat.Event, error) {
	e, err := d.created(m, at)
	if err != nil {
		return chat.Event{}, err
	}
	if e.Sender.Self { // a card of ours changes with every step
		return chat.Event{}, ignored("an edit of our own")
	}
	edited, err := when(m.LastUpdateTime)
	if err != nil {
		return chat.Event{}, err
	}
	created, err := when(m.CreateTime)
	if err != nil {
		return chat.Event{}, err
	}
	if edited.IsZero() || edited.Equal(created) {
		return chat.Event{}, ignored("an update that is no edit")
	}
	e.Kind, e.At, e.EventID = chat.KindEdited, edited, stamp(edited)
	return e, nil
}

// deleted is a message taken back: only its name is sure to be there.
func (d Decoder) deleted(m *wireMessage, at string) (chat.Event, error) {
	e, err := d.message(m, nil, origin{at: at})
	if err != nil {
		return chat.Event{}, err
	}
	gone, err := when(at)
	if err != nil {
		return chat.Event{}, err
	}
	return chat.Event{
		Platform: names.Platform, Kind: chat.KindDeleted, MessageID: e.MessageID, ChannelID: e.ChannelID, ThreadID: e.ThreadID,
		Direct: e.Direct, DirectUnknown: e.DirectUnknown, Sender: e.Sender, At: gone,
	}, nil
}
