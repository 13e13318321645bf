package intake

import (
	"context"
	"fmt"
	"slices"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/pipeline/flow"
)

// Media copies attachments into the session's staging area (L1), since a platform's links expire (case B76). One that cannot be had stays named
// without a copy: the model can say so.
func Media(ctx context.Context, b *flow.Burst) error {
	for _, m := range b.Messages {
		if !m.Live() || len(m.Event.Attachments) == 0 {
			continue
		}
		if err := b.Load(ctx); err != nil {
			return err
		}
		staged := slices.Clone(m.Event.Attachments)
		for i, a := range staged {
			if a.Source == "" {
				continue
			}
			copied, err := b.Media.Stage(ctx, &m.Event.Event, b.Session, a)
			switch {
			case errs.KindOf(err) == errs.KindPermanent:
				m.Log.WarnContext(ctx, "attachment cannot be had", "name", a.Name, "error", err)
			case err != nil:
				return fmt.Errorf("attachment %q: %w", a.Name, err)
			default:
				staged[i] = copied
			}
		}
		m.Event.Attachments, b.Staged = staged, true
	}
	return nil
}
