// Package published stores the configuration in force: config/active.
package published

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/store/internal/cas"
)

// activeConfig is config/active: the files as the operator wrote them, so that one parser serves everybody.
type activeConfig struct {
	Revision    int64             `firestore:"revision"`
	Files       map[string]string `firestore:"files"`
	PublishedAt time.Time         `firestore:"published_at"`
}

// Published is the configuration of one project.
type Published struct {
	client *firestore.Client
	clock  clock.Clock
}

// New returns the configuration of a project.
func New(client *firestore.Client, c clock.Clock) *Published {
	return &Published{client: client, clock: c}
}

func (p *Published) ref() *firestore.DocumentRef {
	return p.client.Collection("config").Doc("active")
}

// Config reads the published configuration files by name, and their revision. Before the first publication there are none, at revision 0.
func (p *Published) Config(ctx context.Context) (files map[string]string, revision int64, err error) {
	c, _, err := p.config(ctx)
	return c.Files, c.Revision, err
}

func (p *Published) config(ctx context.Context) (c activeConfig, read time.Time, err error) {
	snap, err := p.ref().Get(ctx)
	if status.Code(err) == codes.NotFound {
		return c, read, nil
	}
	if err != nil {
		return c, read, cas.ReadError("configuration", err)
	}
	if err := snap.DataTo(&c); err != nil {
		return c, read, errs.Permanentf("configuration is not readable: %w", err)
	}
	return c, snap.UpdateTime, nil
}

// PublishConfig replaces the published configuration if it still has revision base, and returns the new revision. A base that is not the
// current one is errs.ErrConflict: somebody published since.
func (p *Published) PublishConfig(ctx context.Context, files map[string]string, base int64) (int64, error) {
	c, read, err := p.config(ctx)
	if err != nil {
		return 0, err
	}
	if c.Revision != base {
		return 0, fmt.Errorf("publish configuration over revision %d: the current one is %d: %w", base, c.Revision, errs.ErrConflict)
	}
	next := activeConfig{Revision: base + 1, Files: files, PublishedAt: p.clock.Now()}
	ref := p.ref()
	_, err = cas.Commit(ctx, p.client, func(tx *firestore.Transaction) error {
		if read.IsZero() {
			return tx.Create(ref, next)
		}
		return tx.Update(ref, cas.Fields(next), firestore.LastUpdateTime(read))
	})
	if err != nil && !errors.Is(err, errs.ErrConflict) {
		return 0, fmt.Errorf("publish configuration: %w", err)
	}
	return next.Revision, err
}
