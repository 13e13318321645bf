package chat

import (
	"hash/fnv"
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

	// What became of it.
	Decision  Decision `json:"decision" firestore:"decision"`
	SessionID string   `json:"session_id" firestore:"session_id"`
	// Outcome is one word for operators: accepted, ignored, full, unknown_model, duplicate, stopped, too_late, …
	Outcome string `json:"outcome" firestore:"outcome"`
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
	r.Pending, r.WakeAt = false, nil
	r.Decision, r.Outcome, r.SessionID = d, outcome, sessionID
}
