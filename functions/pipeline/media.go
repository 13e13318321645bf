package pipeline

import (
	"context"
	"fmt"
	"io"

	"kesoku.dev/shared/blob"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
)

// maxAttachment is the largest file that is copied, in bytes; a model takes no larger one.
const maxAttachment = 20 << 20

// fetcher opens a platform's file.
type fetcher interface {
	Download(ctx context.Context, source string, limit int64) (io.ReadCloser, error)
}

// media copies attachments from their platform into the staging area.
type media struct {
	fetch map[string]fetcher
	stage *blob.Store
}

// Stage implements pipeline.Media.
func (m media) Stage(ctx context.Context, e *chat.Event, sessionID string, a message.Attachment) (message.Attachment, error) {
	from, ok := m.fetch[e.Platform]
	if !ok || a.Source == "" {
		return a, errs.Permanentf("attachment %q of %s: no way to fetch it", a.Name, e.Platform)
	}
	body, err := from.Download(ctx, a.Source, maxAttachment)
	if err != nil {
		return a, err
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(body)
	if err != nil {
		return a, fmt.Errorf("read attachment %q: %w", a.Name, err)
	}
	// Several attachments of one message may share a name, but not a source.
	name, err := blob.Name(sessionID, "attachments", chat.Hash(e.Key(), a.Source)[:24], a.Name)
	if err != nil {
		return a, err
	}
	a.StagedAs, err = m.stage.Put(ctx, name, data, a.MIMEType)
	a.Size = int64(len(data))
	return a, err
}
