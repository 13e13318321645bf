package world

import (
	"net/http"
	"slices"
	"strings"

	"google.golang.org/api/chat/v1"

	"kesoku.dev/emulators/googlechat/media"
	"kesoku.dev/emulators/googlechat/wire"
)

// Post is what a person writes.
type Post struct {
	Space  string
	User   string
	Text   string
	Thread string // resource name; empty starts a thread
	Quote  string // resource name of the message quoted
	Files  []media.Upload
}

// Post writes a message for a person or another bot. The app is told of it when it is mentioned or in a direct message, and by a space
// event where the space has those.
func (w *World) Post(p Post) (*wire.Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sp, person, err := w.memberOf(p.Space, p.User)
	if err != nil {
		return nil, err
	}
	m, err := w.draft(sp, person, p)
	if err != nil {
		return nil, err
	}
	sp.add(m, p.Thread, "")
	w.attach(m, p.Files)
	w.feed.publish(Change{Space: p.Space, Message: m})
	if sp.appIn && !person.Bot && (sp.direct() || m.Mentions(w.opts.App.Name)) {
		w.interact(sp, &wire.Interaction{Kind: wire.KindMessage, At: m.CreateTime, User: person.user(), Locale: person.Locale, Message: m})
	}
	w.announce(sp, wire.EventCreated, m)
	return m, nil
}

// draft makes the message of p, not yet stored.
func (w *World) draft(sp *space, person *Person, p Post) (*wire.Message, error) {
	if p.Thread != "" && sp.threads[p.Thread] == 0 {
		return nil, wire.Errorf(http.StatusNotFound, "Thread %q cannot be found.", p.Thread)
	}
	if err := wire.CheckText(p.Text, len(p.Files) > 0); err != nil {
		return nil, err
	}
	if err := media.Check(p.Files); err != nil {
		return nil, wire.Errorf(http.StatusBadRequest, "%v", err)
	}
	m := &wire.Message{Sender: person.user(), CreateTime: w.stamp()}
	m.SetText(p.Text, w.users(sp), w.opts.App.Name)
	if p.Quote == "" {
		return m, nil
	}
	quoted, err := sp.find(p.Quote)
	if err != nil {
		return nil, err
	}
	m.QuotedMessageMetadata = &chat.QuotedMessageMetadata{
		Name: quoted.Name, LastUpdateTime: max(quoted.CreateTime, quoted.LastUpdateTime), QuoteType: "REPLY",
		QuotedMessageSnapshot: &chat.QuotedMessageSnapshot{Sender: quoted.Sender.Name, Text: quoted.Text, FormattedText: quoted.FormattedText},
	}
	return m, nil
}

// Edit changes the text of a person's own message. Only a space event tells of it.
func (w *World) Edit(user, message, text string) (*wire.Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sp, old, err := w.ownMessage(user, message)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckText(text, len(old.Attachment) > 0); err != nil {
		return nil, err
	}
	m := *old
	m.SetText(text, w.users(sp), w.opts.App.Name)
	m.LastUpdateTime = w.stamp()
	w.change(sp, &m)
	return &m, nil
}

// Delete takes back a person's own message. Only a space event tells of it.
func (w *World) Delete(user, message string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	sp, old, err := w.ownMessage(user, message)
	if err != nil {
		return err
	}
	w.remove(sp, old, "CREATOR")
	return nil
}

// Click is a button of one of the app's cards, pressed.
type Click struct {
	User       string
	Message    string
	Function   string
	Parameters map[string]string
}

// Click presses a button.
func (w *World) Click(c Click) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	sp, person, err := w.memberOf(spaceOf(c.Message), c.User)
	if err != nil {
		return err
	}
	m, err := sp.find(c.Message)
	if err != nil {
		return err
	}
	if m.Sender.Name != w.opts.App.Name || len(m.CardsV2) == 0 {
		return wire.Errorf(http.StatusBadRequest, "message %q has no card of the app's", c.Message)
	}
	if c.Function == "" || person.Bot {
		return wire.Errorf(http.StatusBadRequest, "only a person can press a button, and it must have a function")
	}
	w.interact(sp, &wire.Interaction{Kind: wire.KindClicked, At: w.stamp(), User: person.user(), Locale: person.Locale, Message: m,
		Function: c.Function, Parameters: c.Parameters})
	return nil
}

// Command is an app command, used.
type Command struct {
	Space string
	User  string
	ID    int64
	// Name is a slash command's ("/help"); a quick command, which leaves no message, has none.
	Name   string
	Text   string // what follows the name
	Thread string
}

// Command uses an app command. The message of a slash command is returned; a quick command has none.
func (w *World) Command(c Command) (*wire.Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sp, person, err := w.memberOf(c.Space, c.User)
	if err != nil {
		return nil, err
	}
	if !sp.appIn || person.Bot {
		return nil, wire.Errorf(http.StatusBadRequest, "a command needs a person, and the app in %s", c.Space)
	}
	meta := &chat.AppCommandMetadata{AppCommandId: c.ID, AppCommandType: "QUICK_COMMAND"}
	event := &wire.Interaction{Kind: wire.KindCommand, User: person.user(), Locale: person.Locale, Command: meta}
	if c.Name != "" {
		meta.AppCommandType = "SLASH_COMMAND"
		m, err := w.draft(sp, person, Post{Text: strings.TrimSpace(c.Name + " " + c.Text), Thread: c.Thread})
		if err != nil {
			return nil, err
		}
		m.ArgumentText = " " + c.Text
		m.SlashCommand = &chat.SlashCommand{CommandId: c.ID}
		m.Annotations = append(m.Annotations, w.slashAnnotation(c))
		sp.add(m, c.Thread, "")
		w.feed.publish(Change{Space: c.Space, Message: m})
		w.announce(sp, wire.EventCreated, m)
		event.Message = m
	}
	event.At = w.stamp()
	w.interact(sp, event)
	return event.Message, nil
}

func (w *World) slashAnnotation(c Command) *chat.Annotation {
	return &chat.Annotation{
		Type: "SLASH_COMMAND", Length: int64(len(c.Name)), ForceSendFields: []string{"StartIndex"},
		SlashCommand: &chat.SlashCommandMetadata{Bot: w.people[w.opts.App.Name].user(), CommandId: c.ID, CommandName: c.Name, Type: "INVOKE"},
	}
}

// SetApp adds the app to a space or removes it.
func (w *World) SetApp(space, user string, in bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	sp, person, err := w.memberOf(space, user)
	if err != nil || sp.appIn == in {
		return err
	}
	sp.appIn = in
	kind := map[bool]wire.Kind{true: wire.KindAdded, false: wire.KindRemoved}[in]
	w.feed.publish(Change{Space: space})
	w.interact(sp, &wire.Interaction{Kind: kind, At: w.stamp(), User: person.user(), Locale: person.Locale})
	return nil
}

// memberOf finds a space and one of its members.
func (w *World) memberOf(space, user string) (*space, *Person, error) {
	sp, err := w.space(space)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(sp.members, user) {
		return nil, nil, wire.Errorf(http.StatusForbidden, "%q is not a member of %s.", user, space)
	}
	return sp, w.people[user], nil
}

// ownMessage finds a message that the user wrote.
func (w *World) ownMessage(user, message string) (*space, *wire.Message, error) {
	sp, err := w.space(spaceOf(message))
	if err != nil {
		return nil, nil, err
	}
	m, err := sp.find(message)
	if err != nil {
		return nil, nil, err
	}
	if m.Sender.Name != user {
		return nil, nil, wire.Errorf(http.StatusForbidden, "The caller does not have permission: %s wrote the message.", m.Sender.Name)
	}
	return sp, m, nil
}

// change stores a changed copy and tells of it.
func (w *World) change(sp *space, m *wire.Message) {
	sp.replace(m)
	w.feed.publish(Change{Space: sp.info.Name, Message: m})
	w.announce(sp, wire.EventUpdated, m)
}

// remove leaves of a message what Google leaves: that it was there.
func (w *World) remove(sp *space, old *wire.Message, by string) {
	m := &wire.Message{
		Name: old.Name, Sender: old.Sender, CreateTime: old.CreateTime, Thread: old.Thread, ThreadReply: old.ThreadReply, Space: old.Space,
		ClientAssignedMessageID: old.ClientAssignedMessageID, DeleteTime: w.stamp(), DeletionMetadata: &chat.DeletionMetadata{DeletionType: by},
	}
	sp.replace(m)
	w.feed.publish(Change{Space: sp.info.Name, Message: m})
	w.announce(sp, wire.EventDeleted, m)
}

// attach keeps the files of a message that has its name already and is not shared yet.
func (w *World) attach(m *wire.Message, files []media.Upload) {
	for _, f := range files {
		resource, kept := w.media.Put(m.Space.Name, f)
		m.Attachment = append(m.Attachment, &chat.Attachment{
			Name: m.Name + "/attachments/" + randomID(16), ContentName: kept.Name, ContentType: kept.Type, Source: "UPLOADED_CONTENT",
			AttachmentDataRef: &chat.AttachmentDataRef{ResourceName: resource},
		})
	}
}

// spaceOf is the space of a message's resource name.
func spaceOf(message string) string {
	space, _, _ := strings.Cut(message, "/messages/")
	return space
}
