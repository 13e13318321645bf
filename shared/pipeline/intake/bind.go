package intake

import (
	"context"

	"kesoku.dev/shared/pipeline/flow"
)

// Bind ties the burst to its conversation's session (P14).
func Bind(_ context.Context, b *flow.Burst) error {
	b.Open(b.First())
	return nil
}
