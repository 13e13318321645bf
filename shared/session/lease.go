package session

import "time"

// Lease is the right to drain one side of a session. Its epoch only grows; a write made under an older epoch must not happen.
type Lease struct {
	Holder  string    `json:"holder" firestore:"holder"` // empty when free
	Epoch   int64     `json:"epoch" firestore:"epoch"`
	Until   time.Time `json:"until" firestore:"until"`
	EventID string    `json:"event_id" firestore:"event_id"` // the wake-up that the holder handles
}

// Claimant is who asks for a lease: Holder is unique to one run of a handler, EventID stays the same when its wake-up is delivered again.
type Claimant struct {
	Holder  string
	EventID string
}

// Verdict is the answer to a claim.
type Verdict string

// The verdicts, and what the handler does with its wake-up.
const (
	VerdictClaimed Verdict = "claimed" // work, then ack
	VerdictIdle    Verdict = "idle"    // nothing to do: ack
	// VerdictBusy: another wake-up's handler holds the lease and will see what we came for: ack.
	VerdictBusy Verdict = "busy"
	// VerdictComeBack: the holder handles this very wake-up, so it died or timed out: nack, and come back after its lease.
	VerdictComeBack Verdict = "come_back"
)

// Held reports whether somebody has the lease, though it may have expired.
func (l *Lease) Held() bool { return l.Holder != "" }

// Live reports whether somebody holds the lease at now.
func (l *Lease) Live(now time.Time) bool { return l.Held() && now.Before(l.Until) }

// claim decides a claim at now and, if it is granted, moves the lease to c under the next epoch. A holder that asks again (it could
// not know whether its swap went through) keeps its epoch.
func (l *Lease) claim(c Claimant, now time.Time) Verdict {
	if l.Live(now) {
		switch {
		case l.Holder == c.Holder:
			return VerdictClaimed
		case l.EventID == c.EventID:
			return VerdictComeBack
		default:
			return VerdictBusy
		}
	}
	l.Holder, l.EventID = c.Holder, c.EventID
	l.Epoch++
	l.Until = now.Add(LeaseFor)
	return VerdictClaimed
}

// Holds reports whether the lease is still holder's own, under epoch. An expired lease that nobody took over still is.
func (l *Lease) Holds(holder string, epoch int64) bool { return l.Holder == holder && l.Epoch == epoch }

func (l *Lease) renew(now time.Time) { l.Until = now.Add(LeaseFor) }

func (l *Lease) release() { l.Holder, l.EventID, l.Until = "", "", time.Time{} }
