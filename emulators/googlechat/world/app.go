package world

import (
	"net/http"
	"regexp"
	"strings"

	"google.golang.org/api/chat/v1"

	"kesoku.dev/emulators/googlechat/media"
	"kesoku.dev/emulators/googlechat/query"
	"kesoku.dev/emulators/googlechat/wire"
)

// clientID is what an app may call its messages.
var clientID = regexp.MustCompile(`^client-[a-z0-9-]{1,56}$`)

// Creation is how a message of the app's is to be created: the parameters of the call.
type Creation struct {
	RequestID   string
	MessageID   string
	ThreadKey   string
	ReplyOption string
}

// Spend takes one write of the app's budget in a space.
func (w *World) Spend(space string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if sp := w.spaces[space]; sp != nil && !sp.limiter.AllowN(w.clock.Now(), 1) {
		return wire.Exhausted(0)
	}
	return nil
}

// CreateAsApp stores a new message of the app's, or returns the one that the request id made before.
func (w *World) CreateAsApp(space string, m *wire.Message, c Creation) (*wire.Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sp, err := w.joined(space)
	if err != nil {
		return nil, err
	}
	return w.create(sp, m, c)
}

func (w *World) create(sp *space, m *wire.Message, c Creation) (*wire.Message, error) {
	if name, ok := sp.byRequest[c.RequestID]; ok {
		return sp.byName[name], nil
	}
	switch {
	case c.MessageID != "" && !clientID.MatchString(c.MessageID):
		return nil, wire.Errorf(http.StatusBadRequest, "Invalid value at 'message_id': %.80q", c.MessageID)
	case c.MessageID != "" && sp.byClient[c.MessageID] != "":
		return nil, wire.Errorf(http.StatusConflict, "A message with the id %q already exists.", c.MessageID)
	case m.Empty():
		return nil, wire.Errorf(http.StatusBadRequest, "Message cannot be empty. Discarding message create request.")
	}
	if c.ThreadKey != "" && (m.Thread == nil || m.Thread.ThreadKey == "") {
		m.Thread = &chat.Thread{ThreadKey: c.ThreadKey}
	}
	thread, key, err := sp.landing(m.Thread, c.ReplyOption)
	if err != nil {
		return nil, err
	}
	made := &wire.Message{
		Sender: w.people[w.opts.App.Name].user(), CreateTime: w.stamp(), ClientAssignedMessageID: c.MessageID,
		CardsV2: m.CardsV2, AccessoryWidgets: m.AccessoryWidgets, FallbackText: m.FallbackText,
	}
	made.SetAppText(m.Text, w.users(sp))
	sp.add(made, thread, c.RequestID)
	if key != "" {
		sp.keys[key] = made.Thread.Name
	}
	w.feed.publish(Change{Space: sp.info.Name, Message: made})
	w.announce(sp, wire.EventCreated, made)
	return made, nil
}

// PatchAsApp changes the fields of the app's own message that the mask names. With allowMissing a message that is not there is created.
func (w *World) PatchAsApp(name string, change *wire.Message, mask string, allowMissing bool) (*wire.Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sp, err := w.joined(spaceOf(name))
	if err != nil {
		return nil, err
	}
	old, err := sp.find(name)
	switch {
	case err != nil && allowMissing:
		return w.create(sp, change, Creation{MessageID: name[strings.LastIndex(name, "/")+1:]})
	case err != nil:
		return nil, err
	case old.Sender.Name != w.opts.App.Name:
		return nil, wire.Errorf(http.StatusForbidden, "The caller does not have permission: apps can only update messages they created.")
	}
	m := *old
	if err := w.apply(sp, &m, change, mask); err != nil {
		return nil, err
	}
	m.LastUpdateTime = w.stamp()
	w.change(sp, &m)
	return &m, nil
}

// apply copies the fields that the mask names.
func (w *World) apply(sp *space, m, change *wire.Message, mask string) error {
	if mask == "" {
		return wire.Errorf(http.StatusBadRequest, "Invalid or unspecified field paths in update_mask.")
	}
	if mask == "*" {
		mask = "text,cardsV2,accessoryWidgets,fallbackText"
	}
	for path := range strings.SplitSeq(mask, ",") {
		switch strings.TrimSpace(path) {
		case "text":
			m.SetAppText(change.Text, w.users(sp))
		case "cardsV2", "cards_v2":
			m.CardsV2 = change.CardsV2
		case "accessoryWidgets", "accessory_widgets":
			m.AccessoryWidgets = change.AccessoryWidgets
		case "fallbackText", "fallback_text":
			m.FallbackText = change.FallbackText
		case "quotedMessageMetadata", "quoted_message_metadata":
			m.QuotedMessageMetadata = nil
		case "attachment", "cards":
		default:
			return wire.Errorf(http.StatusBadRequest, "Invalid or unspecified field paths in update_mask: %.80q", path)
		}
	}
	if m.Empty() {
		return wire.Errorf(http.StatusBadRequest, "Message cannot be empty. Discarding message update request.")
	}
	return nil
}

// DeleteAsApp takes back the app's own message.
func (w *World) DeleteAsApp(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	sp, err := w.joined(spaceOf(name))
	if err != nil {
		return err
	}
	m, err := sp.find(name)
	switch {
	case err != nil:
		return err
	case m.Sender.Name != w.opts.App.Name:
		return wire.Errorf(http.StatusForbidden, "The caller does not have permission: apps can only delete messages they created.")
	}
	w.remove(sp, m, "CREATOR_VIA_APP")
	return nil
}

// GetAsApp returns a message, named by its own id or the app's.
func (w *World) GetAsApp(name string) (*wire.Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sp, err := w.joined(spaceOf(name))
	if err != nil {
		return nil, err
	}
	return sp.find(name)
}

// ListAsApp returns one page of a space's messages.
func (w *World) ListAsApp(space string, q query.Query) (*query.Page, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sp, err := w.joined(space)
	if err != nil {
		return nil, err
	}
	return q.Run(sp.messages)
}

// SpaceAsApp returns a space that the app is in, and its members.
func (w *World) SpaceAsApp(name string) (*chat.Space, []*chat.User, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sp, err := w.joined(name)
	if err != nil {
		return nil, nil, err
	}
	return sp.info, w.users(sp), nil
}

// joined finds a space that the app is in. The caller holds mu.
func (w *World) joined(name string) (*space, error) {
	sp, err := w.space(name)
	if err == nil && !sp.appIn {
		err = wire.Errorf(http.StatusForbidden, "This Chat app is not a member of this space.")
	}
	return sp, err
}

// Media returns an uploaded file, as far as the app may see it.
func (w *World) Media(resource string) (media.File, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f, ok := w.media.Get(resource); ok && w.spaces[f.Space].appIn {
		return f, nil
	}
	return media.File{}, wire.Errorf(http.StatusNotFound, "Media %.80q not found.", resource)
}
