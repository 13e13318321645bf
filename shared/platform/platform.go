// Package platform is the contract between delivery and the chat platforms. An adapter turns a rendered post into API calls and an
// API's failures into the errors of package errs; it keeps no state.
package platform

import (
	"context"
	"time"

	"kesoku.dev/shared/render"
)

// Features is what a platform can do.
type Features struct {
	Edit     bool          // a post can be edited in place
	Threads  bool          // a post can name the thread it belongs to
	Steps    bool          // steps are shown live in a card; without it they are marked delivered and never sent
	MaxBytes int           // of one text
	Every    time.Duration // the shortest time between two writes to one channel; 0 means no limit
}

// Address is where to post.
type Address struct {
	ChannelID string
	ThreadID  string // empty for the channel's top level
}

// Post is one message to create. Key makes it idempotent: the same key never makes two messages. ID, where the platform lets the client
// choose it, names the message for later edits.
type Post struct {
	To   Address
	Key  string
	ID   string
	Text string       // in the platform's own markup, within MaxBytes
	Card *render.Card // nil for none
}

// Posted is what the platform says of a created message.
type Posted struct {
	MessageID string
	ThreadID  string // where it really landed
}

// Adapter posts to one platform. A transient failure is an errs.Retryable error, with the platform's delay where it names one; a
// permanent one (no such channel, no permission) an errs.Permanent error; a text that is too long after all is ErrTooLong.
type Adapter interface {
	Features() Features
	// Dialect renders Markdown in the platform's own markup.
	Dialect() render.Dialect
	Create(ctx context.Context, p Post) (Posted, error)
	// Edit replaces the card of the message that Create made under id. A message that is gone is an errs.ErrNotFound.
	Edit(ctx context.Context, channelID, id string, card *render.Card) error
}
