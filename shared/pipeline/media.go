package pipeline

import (
	"context"
	"fmt"
	"slices"

	"kesoku.dev/shared/errs"
)

// media copies the event's attachments into the session's staging area (L1), since a platform's links expire. One that cannot be had stays
// named without a copy: the model can say so.
func (f *flow) media(ctx context.Context) error {
	if len(f.event.Attachments) == 0 {
		return nil
	}
	s, err := f.ledger.Load(ctx)
	if err != nil {
		return err
	}
	f.session = s.ID
	staged := slices.Clone(f.event.Attachments)
	for i, a := range staged {
		copied, err := f.Media.Stage(ctx, &f.event.Event, s.ID, a)
		switch {
		case errs.KindOf(err) == errs.KindPermanent:
			f.log.WarnContext(ctx, "attachment cannot be had", "name", a.Name, "error", err)
		case err != nil:
			return fmt.Errorf("attachment %q: %w", a.Name, err)
		default:
			staged[i] = copied
		}
	}
	f.event.Attachments = staged
	return nil
}
