// Package urge says how much a room invites the bot to speak up unasked: a number from 0 to 1 made of how fast people talk, how many
// take part, whether a message points at the bot, whether the talk gathers speed, and how much the bot itself has said lately. It keeps
// what it must remember of a room in a small document and knows only times, names and numbers: no events, no settings, no dice. It is
// pure; the formula and its reasons are in docs/activity.md.
package urge

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// Room is what is remembered of a room: below 8 KB as JSON, whatever happens. The zero Room is one where nothing was ever said.
//
// Its time is the platform's and never runs backwards: what arrives late, by up to ten minutes, is taken in at its place and judged at
// the newest time seen. What is older than that is no disorder: the newest time was wrong, and the room begins anew at the older one, as
// if the bot had just spoken, so that a clock's mistake mutes nobody for long and makes nobody talk.
type Room struct {
	// Messages are other people's of the last 90 seconds, oldest first, at most 90.
	Messages []Entry `json:"messages,omitempty" firestore:"messages,omitempty"`
	// Own are the ends of the bot's own utterances of the last ten minutes, oldest first, at most 10.
	Own []time.Time `json:"own,omitempty" firestore:"own,omitempty"`
	// Now is the newest time seen.
	Now time.Time `json:"now" firestore:"now"`
	// Smoothed is the smoothed urge as of ScoredAt.
	Smoothed float64   `json:"smoothed" firestore:"smoothed"`
	ScoredAt time.Time `json:"scored_at" firestore:"scored_at"`
	// ClaimedAt is when the bot last spoke up unasked, or drew a lot to do so and lost.
	ClaimedAt time.Time `json:"claimed_at" firestore:"claimed_at"`
	// Lift is how far the threshold was raised from its base towards 1 by LiftedAt, 0 to 0.5.
	Lift     float64   `json:"lift" firestore:"lift"`
	LiftedAt time.Time `json:"lifted_at" firestore:"lifted_at"`
}

// Entry is one message: when, and 8 hex digits that tell its sender from the others without being the id.
type Entry struct {
	At  time.Time `json:"at" firestore:"at"`
	Who string    `json:"who" firestore:"who"`
}

// Reading is an urge with all that it was made of; everything but the counts is from 0 to 1.
type Reading struct {
	N90       int     `json:"n90"` // messages in the last 90 s
	N30       int     `json:"n30"`
	N20       int     `json:"n20"`
	Senders   int     `json:"senders"` // in the last 90 s
	Frequency float64 `json:"frequency"`
	Entropy   float64 `json:"entropy"`
	Cue       float64 `json:"cue"`
	Momentum  float64 `json:"momentum"`
	Fatigue   float64 `json:"fatigue"`
	Raw       float64 `json:"raw"`       // before smoothing
	Urge      float64 `json:"urge"`      // smoothed
	Threshold float64 `json:"threshold"` // as it stands now, from the base upwards
}

// Reached reports whether the urge is one to follow. None at all never is, whatever the threshold.
func (r Reading) Reached() bool { return r.Urge > 0 && r.Urge >= r.Threshold }

// Heard takes in a message of somebody else. The sender is the platform's id; only a hash is kept.
func (r *Room) Heard(at time.Time, sender string) {
	at = r.advance(at)
	sum := sha256.Sum256([]byte(sender))
	i, _ := slices.BinarySearchFunc(r.Messages, at, func(e Entry, at time.Time) int {
		return cmp.Or(e.At.Compare(at), -1) // after those of the same time
	})
	r.Messages = slices.Insert(r.Messages, i, Entry{At: at, Who: hex.EncodeToString(sum[:4])})
	r.forget()
}

// Spoke takes in a message of the bot's, asked for or not: it tires, raises the threshold and satisfies the urge. Messages within five
// seconds of one another are one utterance: an answer in parts, or the echo of one that was reported already.
func (r *Room) Spoke(at time.Time) {
	at = r.advance(at)
	i := slices.IndexFunc(r.Own, func(t time.Time) bool { return t.Sub(at).Abs() <= utterance })
	if i >= 0 {
		if at.After(r.Own[i]) {
			r.Own[i] = at
		}
	} else {
		r.Own = append(r.Own, at)
		r.Lift, r.LiftedAt = min(maxLift, relaxed(r.Lift, r.Now.Sub(r.LiftedAt))+liftStep), r.Now
		r.Smoothed, r.ScoredAt = 0, r.Now
	}
	slices.SortFunc(r.Own, time.Time.Compare)
	r.forget()
}

// Score weighs the room as it is at that time, with a cue from 0 to 1 and the threshold's base, and remembers the smoothed urge. Fewer
// than six messages in the window without a cue make no urge at all.
func (r *Room) Score(at time.Time, cue, base float64) Reading {
	r.advance(at)
	r.forget()
	counts := r.senders()
	s := Reading{
		N90: len(r.Messages), N30: r.within(momentumSpan), N20: r.within(instantSpan), Senders: len(counts), Cue: clamp(cue),
		Threshold: raise(base, relaxed(r.Lift, r.Now.Sub(r.LiftedAt))),
	}
	s.Frequency, s.Momentum, s.Entropy = frequency(s.N90, s.N20), momentum(s.N90, s.N30), entropy(counts)
	if n := len(r.Own); n > 0 {
		s.Fatigue = fatigue(n, r.Now.Sub(r.Own[n-1]))
	}
	if s.N90 >= minMessages || s.Cue > 0 {
		s.Raw = combine(s.Frequency, s.Entropy, s.Cue, s.Momentum, s.Fatigue)
		s.Urge = smooth(r.Smoothed, s.Raw, r.Now.Sub(r.ScoredAt))
	}
	r.Smoothed, r.ScoredAt = s.Urge, r.Now
	return s
}

// Claim spends the right to speak up unasked and reports whether there was one: not within 30 seconds of the last claim, whatever came of
// that, nor of the bot's last message, which may have come long after its claim.
func (r *Room) Claim(at time.Time) bool {
	r.advance(at)
	r.forget()
	if r.Now.Sub(r.ClaimedAt) < gap {
		return false
	}
	if n := len(r.Own); n > 0 && r.Now.Sub(r.Own[n-1]) < gap {
		return false
	}
	r.ClaimedAt = r.Now
	return true
}

// Clone returns a copy that shares nothing.
func (r *Room) Clone() *Room {
	c := *r
	c.Messages, c.Own = slices.Clone(r.Messages), slices.Clone(r.Own)
	return &c
}

// advance moves the room's time and returns at as it is stored: in UTC and in the microseconds that Firestore keeps, so that a room that was
// stored decides as one that was not.
func (r *Room) advance(at time.Time) time.Time {
	at = at.UTC().Truncate(time.Microsecond)
	if r.Now.Sub(at) > memory {
		*r = Room{Now: at, Own: []time.Time{at}, ClaimedAt: at}
	}
	if at.After(r.Now) {
		r.Now = at
	}
	return at
}

// forget drops what is too old to count, and of what is too much the oldest.
func (r *Room) forget() {
	r.Messages = slices.DeleteFunc(r.Messages, func(e Entry) bool { return r.Now.Sub(e.At) >= window })
	r.Messages = slices.Delete(r.Messages, 0, max(0, len(r.Messages)-maxEntries))
	r.Own = slices.DeleteFunc(r.Own, func(t time.Time) bool { return r.Now.Sub(t) > memory })
	r.Own = slices.Delete(r.Own, 0, max(0, len(r.Own)-maxOwn))
}

// within counts the messages younger than span. One just as old is out, so that an even talk counts as fast as it is.
func (r *Room) within(span time.Duration) int {
	n := 0
	for _, e := range r.Messages {
		if r.Now.Sub(e.At) < span {
			n++
		}
	}
	return n
}

// senders counts the messages of each sender, in the order of their first.
func (r *Room) senders() []int {
	var counts []int
	index := map[string]int{}
	for _, e := range r.Messages {
		i, known := index[e.Who]
		if !known {
			i = len(counts)
			index[e.Who], counts = i, append(counts, 0)
		}
		counts[i]++
	}
	return counts
}
