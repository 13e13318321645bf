package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/api/chat/v1"
)

// Form is one of the two forms in which Google sends interactions.
type Form string

// The forms.
const (
	FormClassic Form = "classic" // the Chat API's own event: {type, space, user, message, …}
	FormAddOn   Form = "addon"   // the Workspace add-on envelope: {commonEventObject, chat: {…Payload}}
)

// Kind is the classic name of what happened.
type Kind string

// The kinds.
const (
	KindMessage Kind = "MESSAGE"
	KindAdded   Kind = "ADDED_TO_SPACE"
	KindRemoved Kind = "REMOVED_FROM_SPACE"
	KindClicked Kind = "CARD_CLICKED"
	KindCommand Kind = "APP_COMMAND"
)

// methodParameter carries the name of a card's function in the add-on form when it is a plain name, as for cards made before an app was
// converted. commonEventObject.invokedFunction is not filled there; what a button means travels in its parameters.
const methodParameter = "__action_method_name__"

// Interaction is something a person did that an app is told of at once.
type Interaction struct {
	Kind    Kind
	At      string // in TimeFormat
	User    *chat.User
	Locale  string // BCP 47
	Space   *chat.Space
	Message *Message // nil for KindAdded and KindRemoved
	// Function and Parameters are the button's, for KindClicked.
	Function   string
	Parameters map[string]string
	Command    *chat.AppCommandMetadata // for KindCommand
}

// Body writes the interaction in a form.
func (i *Interaction) Body(form Form) ([]byte, error) {
	var event any
	switch form {
	case FormClassic:
		event = i.classic()
	case FormAddOn:
		event = i.addOn()
	default:
		return nil, fmt.Errorf("write %s: unknown form %q", i.Kind, form)
	}
	body, err := json.Marshal(event)
	if err != nil {
		return nil, fmt.Errorf("write %s as %s: %w", i.Kind, form, err)
	}
	return body, nil
}

// classicEvent is chat.DeprecatedEvent with our Message.
type classicEvent struct {
	Type               Kind                     `json:"type"`
	EventTime          string                   `json:"eventTime"`
	Space              *chat.Space              `json:"space"`
	User               *chat.User               `json:"user"`
	Message            *Message                 `json:"message,omitempty"`
	Thread             *chat.Thread             `json:"thread,omitempty"`
	Action             *chat.FormAction         `json:"action,omitempty"`
	AppCommandMetadata *chat.AppCommandMetadata `json:"appCommandMetadata,omitempty"`
	Common             *chat.CommonEventObject  `json:"common"`
}

func (i *Interaction) classic() classicEvent {
	e := classicEvent{
		Type: i.Kind, EventTime: i.At, Space: i.Space, User: i.User, Message: i.Message, AppCommandMetadata: i.Command, Common: i.common(),
	}
	if i.Message != nil {
		e.Thread = i.Message.Thread
	}
	if i.Command != nil && i.Message != nil { // a slash command is a message that has one
		e.Type = KindMessage
	}
	if i.Kind == KindClicked {
		e.Action = &chat.FormAction{ActionMethodName: i.Function}
		for _, key := range slices.Sorted(maps.Keys(i.Parameters)) {
			e.Action.Parameters = append(e.Action.Parameters, &chat.ActionParameter{Key: key, Value: i.Parameters[key]})
		}
		e.Common.InvokedFunction, e.Common.Parameters = i.Function, i.Parameters
	}
	return e
}

// addOnPayload is the one member of chat that says what happened.
type addOnPayload struct {
	Space              *chat.Space              `json:"space"`
	Message            *Message                 `json:"message,omitempty"`
	AppCommandMetadata *chat.AppCommandMetadata `json:"appCommandMetadata,omitempty"`
}

type addOnChat struct {
	User           *chat.User    `json:"user"`
	EventTime      string        `json:"eventTime"`
	MessagePayload *addOnPayload `json:"messagePayload,omitempty"`
	AddedPayload   *addOnPayload `json:"addedToSpacePayload,omitempty"`
	RemovedPayload *addOnPayload `json:"removedFromSpacePayload,omitempty"`
	ClickedPayload *addOnPayload `json:"buttonClickedPayload,omitempty"`
	CommandPayload *addOnPayload `json:"appCommandPayload,omitempty"`
}

type addOnEvent struct {
	CommonEventObject *chat.CommonEventObject `json:"commonEventObject"`
	Chat              addOnChat               `json:"chat"`
}

func (i *Interaction) addOn() addOnEvent {
	e := addOnEvent{CommonEventObject: i.common(), Chat: addOnChat{User: i.User, EventTime: i.At}}
	payload := &addOnPayload{Space: i.Space, Message: i.Message, AppCommandMetadata: i.Command}
	switch i.Kind {
	case KindMessage:
		e.Chat.MessagePayload = payload
	case KindAdded:
		e.Chat.AddedPayload = payload
	case KindRemoved:
		e.Chat.RemovedPayload = payload
	case KindCommand:
		e.Chat.CommandPayload = payload
	case KindClicked:
		payload.Message = i.Message.reference()
		e.Chat.ClickedPayload = payload
		e.CommonEventObject.Parameters = i.addOnParameters()
	}
	return e
}

func (i *Interaction) addOnParameters() map[string]string {
	params := maps.Clone(i.Parameters)
	if i.Function != "" && !strings.Contains(i.Function, "/") { // a URL or a topic is where to send, not what to do
		if params == nil {
			params = map[string]string{}
		}
		params[methodParameter] = i.Function
	}
	return params
}

func (i *Interaction) common() *chat.CommonEventObject {
	return &chat.CommonEventObject{UserLocale: i.Locale, HostApp: "CHAT", Platform: "WEB"}
}

// reference is what the add-on form tells of the message whose button was clicked: no text, no cards.
func (m *Message) reference() *Message {
	return &Message{Name: m.Name, Sender: m.Sender, CreateTime: m.CreateTime, Thread: m.Thread, Space: &chat.Space{Name: m.Space.Name}}
}
