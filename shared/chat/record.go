package chat

import (
	"hash/fnv"
	"strconv"
	"time"
)

// Times of a stored event.
const (
	// DedupeFor is how long an event's key is kept against duplicates. Platforms have been seen to repeat an event after a day and more,
	// so it is longer than the 24 hours that are promised.
	DedupeFor = 7 * 24 * time.Hour
	// eventGrace is how long after its arrival the sweep looks for an event that nobody handled.
	eventGrace = 30 * time.Second
	// wakeShards is session.WakeShards; the two are swept together.
	wakeShards = 16
)

// Record is an event as it is stored: the claim against duplicates and, until it is settled, the webhook's outbox.
type Record struct {
	Event
	Key        string    `json:"key" firestore:"key"`
	RouteID    string    `json:"route_id" firestore:"route_id"`
	ReceivedAt time.Time `json:"received_at" firestore:"received_at"`
	ExpireAt   time.Time `json:"expire_at" firestore:"expire_at"`

	// Pending is true until the pipeline has decided.
	Pending   bool       `json:"pending,omitempty" firestore:"pending,omitempty"`
	WakeAt    *time.Time `json:"wake_at,omitempty" firestore:"wake_at,omitempty"`
	WakeShard int        `json:"wake_shard" firestore:"wake_shard"`

	// HeldUntil is set while a decision stands that waits: for a pause in the burst, or for its own delay. The event is pending meanwhile.
	HeldUntil *time.Time `json:"held_until,omitempty" firestore:"held_until,omitempty"`
	// Verdict is the judge's, kept so that no message is judged twice.
	Verdict *Verdict `json:"verdict,omitempty" firestore:"verdict,omitempty"`

	// What became of it.
	Decision  Decision `json:"decision" firestore:"decision"`
	SessionID string   `json:"session_id" firestore:"session_id"`
	Seq       int64    `json:"seq,omitempty" firestore:"seq,omitempty"` // of the message it became in that session; 0 if none
	// Woken is the session that was changed by the burst in which the event came to nothing itself: whoever finds the event settled wakes it.
	Woken string `json:"woken,omitempty" firestore:"woken,omitempty"`
	// Outcome is one word for operators: accepted, ignored, full, unknown_model, duplicate, stopped, too_late, …
	Outcome string `json:"outcome" firestore:"outcome"`
	// Stages says how long each stage of the pipeline took, in the order in which they ran.
	Stages []StageTime `json:"stages,omitempty" firestore:"stages,omitempty"`
}

// OutcomeRecalled is the outcome of a message that was taken back before it was answered: however it is told again, it stays so.
const OutcomeRecalled = "recalled"

// StageTime is how long one stage took.
type StageTime struct {
	Stage  string `json:"stage" firestore:"stage"`
	Micros int64  `json:"micros" firestore:"micros"`
}

// Verdict is what a judge said of one message. It is stored before the judge is asked, with Until set: whoever finds it unanswered after
// that knows that the one who asked has died, and takes it for a no.
type Verdict struct {
	Holder string    `json:"holder" firestore:"holder"` // who asks, by which it knows its own claim
	Until  time.Time `json:"until" firestore:"until"`
	Done   bool      `json:"done" firestore:"done"`
	Speak  bool      `json:"speak" firestore:"speak"`
	Urge   float64   `json:"urge" firestore:"urge"`       // 0 to 1
	WaitMS int       `json:"wait_ms" firestore:"wait_ms"` // how long to wait before speaking
	Reason string    `json:"reason" firestore:"reason"`
}

// Stored is a record as it was read, with the revision that proves it unchanged when it is settled.
type Stored struct {
	Record
	Revision time.Time
}

// NewRecord is the event as it arrives at now.
func NewRecord(e Event, now time.Time) Record {
	key := e.Key()
	h := fnv.New32a()
	h.Write([]byte(key))
	due := now.Add(eventGrace)
	return Record{
		Event: e, Key: key, RouteID: e.RouteID(), ReceivedAt: now, ExpireAt: now.Add(DedupeFor),
		Pending: true, WakeAt: &due, WakeShard: int(h.Sum32() % wakeShards),
	}
}

// Settle notes what became of the event; nothing is outstanding any more.
func (r *Record) Settle(d Decision, outcome, sessionID string) {
	r.Pending, r.WakeAt, r.HeldUntil = false, nil, nil
	r.Decision, r.Outcome, r.SessionID = d, outcome, sessionID
}

// Hold notes a decision that is followed no sooner than until. The sweep looks again after that.
func (r *Record) Hold(d Decision, until time.Time) {
	due := until.Add(eventGrace)
	r.Decision, r.HeldUntil, r.WakeAt = d, &until, &due
}

// Draw is a number in [0,1) that the event has for a purpose: the same for whoever asks, so that neither a redelivery nor a second instance
// throws the dice anew.
func (r *Record) Draw(purpose string) float64 {
	n, _ := strconv.ParseUint(Hash(r.Key, purpose)[:13], 16, 64) // 52 bits, which a float64 holds exactly
	return float64(n) / (1 << 52)
}
