// Package webhook reads what Google Chat sends: interaction events, classic and of add-ons, and Workspace events that come by Pub/Sub.
// It knows chat events; it must not know stores, sessions or what becomes of an event, and links no SDK. Ids are Google's resource
// names in full ("spaces/a", "spaces/a/messages/b", "users/1"), slashes included.
package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/platform/googlechat/internal/names"
	"kesoku.dev/shared/platform/googlechat/token"
)

var (
	// ErrIgnored says that a body is well formed and of no concern to us: answer 200, for repeated errors make Google stop sending.
	ErrIgnored = errors.New("event ignored")
	// ErrMalformed says that a body is none that Google sends: answer 400.
	ErrMalformed = errors.New("event malformed")
)

// Decoder reads events.
type Decoder struct {
	// AppUser is the app's own user, "users/<number>". Empty where it is not known: then a mention in an interaction event counts as
	// ours, since Chat brings a space's message to an app for its mention alone; and a subscription's event that mentions an app is left to
	// that interaction.
	AppUser string
	// Commands names the app's commands by their ids in the Chat configuration, without the slash. A slash command tells its own name,
	// a quick command does not; a command without any name keeps its id for one.
	Commands map[string]string
}

// Decode reads a body of at most 1 MiB that the caller sent: an interaction event, classic or of an add-on, from Chat, and a push of a
// Workspace Events subscription from Pub/Sub. Most bodies hold one event. A batch holds many, and an app that is added by a message
// that mentions it gets both, joined first. An error wraps ErrIgnored or ErrMalformed and says why; of a batch the good events come
// back beside the errors of the others.
func (d Decoder) Decode(from token.Caller, body []byte) ([]chat.Event, error) {
	var shape struct {
		Type    *string         `json:"type"`
		Chat    json.RawMessage `json:"chat"`
		Message struct {
			Attributes map[string]string `json:"attributes"`
		} `json:"message"`
	}
	if err := json.Unmarshal(body, &shape); err != nil {
		return nil, malformed("body: %v", err)
	}
	switch {
	case from == token.Push && shape.Message.Attributes["ce-type"] != "":
		return d.push(body)
	case from == token.Chat && shape.Chat != nil:
		return d.addOn(body)
	case from == token.Chat && shape.Type != nil:
		return d.classic(body)
	default:
		return nil, malformed("body is not of a form that %s sends", from)
	}
}

// Message reads one message as the Chat API gives it, of at most 1 MiB. An error wraps ErrMalformed.
func (d Decoder) Message(body []byte) (chat.Event, error) {
	var m wireMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return chat.Event{}, malformed("message: %v", err)
	}
	return d.message(&m, nil, origin{})
}

// interaction is what both forms of interaction event say.
type interaction struct {
	user    *user
	space   *space
	thread  *thread
	message *wireMessage
	command *appCommand
	method  string
	params  map[string]string
	locale  string
	time    string
}

func (d Decoder) classic(body []byte) ([]chat.Event, error) {
	var e classic
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, malformed("classic event: %v", err)
	}
	in := interaction{
		user: e.User, space: e.Space, thread: e.Thread, message: e.Message, command: e.AppCommandMetadata,
		method: e.Common.InvokedFunction, params: e.Common.Parameters, locale: e.Common.UserLocale, time: e.EventTime,
	}
	if e.Action != nil {
		in.method, in.params = e.Action.ActionMethodName, map[string]string{}
		for _, p := range e.Action.Parameters {
			in.params[p.Key] = p.Value
		}
	}
	switch e.Type {
	case "MESSAGE":
		return one(d.said(in))
	case "ADDED_TO_SPACE":
		return d.joined(in)
	case "REMOVED_FROM_SPACE":
		return one(d.moved(chat.KindLeft, in))
	case "CARD_CLICKED":
		return one(d.clicked(in))
	case "APP_COMMAND":
		return one(d.commanded(in))
	default:
		return nil, ignored("type %.40q", e.Type)
	}
}

func (d Decoder) addOn(body []byte) ([]chat.Event, error) {
	var e addOn
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, malformed("add-on event: %v", err)
	}
	with := func(p *payload) interaction {
		return interaction{
			user: e.Chat.User, space: p.Space, thread: p.Thread, message: p.Message, command: p.AppCommandMetadata,
			method: e.Common.InvokedFunction, params: e.Common.Parameters, locale: e.Common.UserLocale, time: e.Chat.EventTime,
		}
	}
	switch c := e.Chat; {
	case c.Message != nil:
		return one(d.said(with(c.Message)))
	case c.AddedToSpace != nil:
		return d.joined(with(c.AddedToSpace))
	case c.RemovedFromSpace != nil:
		return one(d.moved(chat.KindLeft, with(c.RemovedFromSpace)))
	case c.ButtonClicked != nil:
		return one(d.clicked(with(c.ButtonClicked)))
	case c.AppCommand != nil:
		return one(d.commanded(with(c.AppCommand)))
	default:
		return nil, ignored("add-on event without a payload that is known")
	}
}

// joined is the app's coming into a space, and the message it came by, if there is one. An add-on gets that message by itself.
func (d Decoder) joined(in interaction) ([]chat.Event, error) {
	joined, err := d.moved(chat.KindJoined, in)
	if err != nil || in.message == nil {
		return one(joined, err)
	}
	said, err := d.said(in)
	if err != nil {
		return []chat.Event{joined}, err
	}
	return []chat.Event{joined, said}, nil
}

// moved is the app's coming or going. Such an event has no id of its own: the space and the time are it.
func (d Decoder) moved(kind chat.Kind, in interaction) (chat.Event, error) {
	e := chat.Event{Platform: names.Platform, Kind: kind, Sender: d.sender(in.user), Locale: locale(in.locale)}
	var err error
	if e.At, err = when(in.time); err != nil {
		return chat.Event{}, err
	}
	if in.space == nil || !names.IsSpace(in.space.Name) {
		return chat.Event{}, malformed("%s without a space", kind)
	}
	e.ChannelID, e.Direct = in.space.Name, direct(in.space)
	e.EventID = in.space.Name + "@" + stamp(e.At)
	return e, nil
}

// said is a message, or the slash command that it is.
func (d Decoder) said(in interaction) (chat.Event, error) {
	e, err := d.message(in.message, in.space, origin{interactive: true, at: in.time})
	if err != nil {
		return chat.Event{}, err
	}
	e.Locale = locale(in.locale)
	if e.Sender.ID == "" {
		e.Sender = d.sender(in.user)
	}
	if s := in.message.SlashCommand; s != nil {
		return d.command(e, in.message, string(s.CommandID), "SLASH_COMMAND"), nil
	}
	return e, nil
}

// commanded is a command by Chat's own interface. Only a slash command has a message.
func (d Decoder) commanded(in interaction) (chat.Event, error) {
	if in.command == nil {
		return chat.Event{}, malformed("command without metadata")
	}
	id, kind := string(in.command.ID), in.command.Type
	if !identifier.MatchString(id) || !identifier.MatchString(kind) {
		return chat.Event{}, malformed("command id %.40q of type %.40q", id, kind)
	}
	if in.message != nil && kind == "SLASH_COMMAND" {
		e, err := d.said(in)
		if err != nil || e.Kind == chat.KindCommand {
			return e, err
		}
		return d.command(e, in.message, id, kind), nil
	}
	e, err := d.moved(chat.KindCommand, in)
	if err != nil {
		return chat.Event{}, err
	}
	if e.Sender.ID == "" {
		return chat.Event{}, malformed("command without a user")
	}
	e.EventID = strings.Join([]string{e.EventID, e.Sender.ID, id}, " ")
	if in.thread != nil && !e.Direct && names.IsThreadOf(e.ChannelID, in.thread.Name) {
		e.ThreadID = in.thread.Name
	}
	return d.command(e, nil, id, kind), nil
}

// command turns an event into the command it is: its text is "/name arguments", as if the platform had not known it.
func (d Decoder) command(e chat.Event, m *wireMessage, id, kind string) chat.Event {
	name := d.Commands[id]
	if m != nil {
		for _, a := range m.Annotations {
			if s := strings.TrimPrefix(a.SlashCommand.Name, "/"); name == "" && identifier.MatchString(s) {
				name = s
			}
		}
		if m.ArgumentText != nil {
			e.Text = clean(*m.ArgumentText)
		}
	}
	if name == "" {
		name = id
	}
	e.Kind, e.AtMe = chat.KindCommand, false
	e.Action = chat.Action{Name: name, Params: map[string]string{"id": id, "type": kind}}
	e.Text = strings.TrimSpace("/" + name + " " + strings.TrimPrefix(e.Text, "/"+name))
	return e
}

// clicked is a button of one of our cards. The same button may be pressed twice: who and when tell presses apart.
func (d Decoder) clicked(in interaction) (chat.Event, error) {
	if in.message == nil {
		return chat.Event{}, ignored("click in a dialog, of which we open none")
	}
	e, err := d.message(in.message, in.space, origin{interactive: true, at: in.time})
	if err != nil {
		return chat.Event{}, err
	}
	action, err := pressed(in.method, in.params)
	if err != nil {
		return chat.Event{}, err
	}
	click := chat.Event{
		Platform: names.Platform, Kind: chat.KindAction, MessageID: e.MessageID, ChannelID: e.ChannelID, ThreadID: e.ThreadID,
		Direct: e.Direct, DirectUnknown: e.DirectUnknown, Sender: d.sender(in.user), Action: action, Locale: locale(in.locale),
	}
	if click.Sender.ID == "" {
		return chat.Event{}, malformed("click without a user")
	}
	if click.At, err = when(in.time); err != nil {
		return chat.Event{}, err
	}
	click.EventID = strings.Join([]string{stamp(click.At), click.Sender.ID, action.Name}, " ")
	return click, nil
}

// pressed reads the action of a button that card made. Its name travels as a parameter, for what Chat calls the function is
// a URL to an add-on; Chat's own ways to tell it come after.
func pressed(method string, params map[string]string) (chat.Action, error) {
	name := params[names.ActionParameter]
	for _, other := range []string{params["__action_method_name__"], method} {
		if name == "" {
			name = other
		}
	}
	if !identifier.MatchString(name) {
		return chat.Action{}, ignored("click on a button that is not ours")
	}
	a := chat.Action{Name: name, Params: map[string]string{}}
	for k, v := range params {
		if k == names.ActionParameter || k == "__action_method_name__" {
			continue
		}
		if len(a.Params) == maxParams || !identifier.MatchString(k) || len(v) > maxParam {
			return chat.Action{}, malformed("parameters of action %q", name)
		}
		a.Params[k] = clean(v)
	}
	return a, nil
}

func one(e chat.Event, err error) ([]chat.Event, error) {
	if err != nil {
		return nil, err
	}
	return []chat.Event{e}, nil
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

func ignored(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrIgnored, fmt.Sprintf(format, args...))
}

// when reads a timestamp; an absent one is the zero time, which captured events do have.
func when(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, malformed("time %.40q", s)
	}
	return t.UTC().Truncate(time.Microsecond), nil // what stores keep
}

// stamp is a time as part of an id, the same however the platform writes it.
func stamp(t time.Time) string { return t.Format(time.RFC3339Nano) }
