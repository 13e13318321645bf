package googlechat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	chatapi "google.golang.org/api/chat/v1"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/platform/googlechat/internal/fault"
	"kesoku.dev/shared/platform/googlechat/internal/names"
	"kesoku.dev/shared/platform/googlechat/webhook"
)

const (
	directMessage = "DIRECT_MESSAGE"
	// pageSize is what both lists give at most in one answer.
	pageSize = 1000
	// maxHistory bounds what History returns, maxPages how many answers it asks for: pages may come short, even empty.
	maxHistory, maxPages = 1000, 10
	// maxSpaces is where Channels stops asking for more.
	maxSpaces = 10_000
)

// Direct tells whether a channel is a conversation of one person with the app, which events of a subscription do not say. A channel that is
// not there is an errs.ErrNotFound.
func (a *Adapter) Direct(ctx context.Context, channelID string) (bool, error) {
	if !names.IsSpace(channelID) {
		return false, errs.Permanentf("look up space %.100q: bad name", channelID)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	s, err := a.service.Spaces.Get(channelID).Context(ctx).Do()
	if err != nil {
		return false, fmt.Errorf("look up space %s: %w", channelID, fault.Of(err))
	}
	return s.SpaceType == directMessage || s.SingleUserBotDm, nil
}

// Channels lists the channels of several people that the app is in, some 10,000 of them at most.
func (a *Adapter) Channels(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var found []string
	err := a.service.Spaces.List().PageSize(pageSize).Pages(ctx, func(page *chatapi.ListSpacesResponse) error {
		for _, s := range page.Spaces {
			if names.IsSpace(s.Name) && s.SpaceType != directMessage && !s.SingleUserBotDm {
				found = append(found, s.Name)
			}
		}
		if len(found) >= maxSpaces {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("list spaces: %w", fault.Of(err))
	}
	return found, nil
}

// History reads the last messages of a channel that were written before a time, at most limit of them and 1,000, the oldest first: text,
// sender and what else an event tells. Messages without text or files, such as cards, are left out. It needs the scope
// chat.app.messages.readonly, which an administrator has to approve: until then its error is permanent.
func (a *Adapter) History(ctx context.Context, channelID string, before time.Time, limit int) ([]chat.Event, error) {
	op := fmt.Sprintf("history of %.100s", channelID)
	if !names.IsSpace(channelID) {
		return nil, errs.Permanentf("%s: bad name", op)
	}
	if limit = min(limit, maxHistory); limit <= 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	call := a.reader.Spaces.Messages.List(channelID).OrderBy("createTime desc").PageSize(int64(limit)).
		Filter(fmt.Sprintf("createTime < %q", before.UTC().Format(time.RFC3339Nano)))
	var found []chat.Event
	pages := 0
	err := call.Pages(ctx, func(page *chatapi.ListMessagesResponse) error {
		for _, m := range page.Messages {
			if e, ok := a.said(m); ok && len(found) < limit {
				found = append(found, e)
			}
		}
		if pages++; len(found) == limit || pages == maxPages {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("%s: %w", op, fault.Of(err))
	}
	slices.Reverse(found)
	return found, nil
}

var errEnough = errors.New("enough")

// said reads a message as the webhook would. One that it would not take is none of the history.
func (a *Adapter) said(m *chatapi.Message) (chat.Event, bool) {
	if m.Text == "" && len(m.Attachment) == 0 {
		return chat.Event{}, false
	}
	body, err := json.Marshal(m)
	if err != nil {
		return chat.Event{}, false
	}
	e, err := webhook.Decoder{AppUser: a.config.AppUser}.Message(body)
	return e, err == nil
}
