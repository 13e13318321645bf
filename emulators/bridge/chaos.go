package bridge

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Chaos makes the bridge use the freedom that Pub/Sub's at-least-once delivery has. What befalls a delivery depends on the seed, the message
// and the attempt alone, so that a run can be repeated. The zero value does nothing.
type Chaos struct {
	Seed      uint64
	Duplicate float64       // probability that a delivery is made twice at the same time
	Redeliver float64       // probability that an acknowledgement is lost and the message comes again
	MaxDelay  time.Duration // each delivery waits a part of this, which reorders them
}

func (c Chaos) validate() error {
	if c.Duplicate < 0 || c.Duplicate > 1 || c.Redeliver < 0 || c.Redeliver >= 1 || c.MaxDelay < 0 {
		return fmt.Errorf("chaos %+v: want 0 ≤ duplicate ≤ 1, 0 ≤ redeliver < 1 (else nothing would ever end), no negative delay", c)
	}
	return nil
}

// fate is what befalls one delivery.
type fate struct {
	duplicate, redeliver bool
	delay, delayOfCopy   time.Duration
}

func (c Chaos) fate(message string, attempt int) fate {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d", message, attempt) // A hash never fails.
	r := rand.New(rand.NewPCG(c.Seed, h.Sum64()))    //nolint:gosec // Repeatable on purpose; nothing secret hangs on it.
	part := func() time.Duration { return time.Duration(r.Float64() * float64(c.MaxDelay)) }
	return fate{duplicate: r.Float64() < c.Duplicate, redeliver: r.Float64() < c.Redeliver, delay: part(), delayOfCopy: part()}
}
