// Package session is the one document that a conversation's work hangs on: the inbox of prompts that wait, the live turn, the outbox's
// cursor, and a lease for each of the two that drain them. It is pure: every change is a method that takes the time and returns what to
// do next; whoever calls it writes the result as one compare-and-swap. Inbox, outbox and leases share the document so that "is there
// more?" and "I let go" are one swap, and no wake-up can fall between them.
package session

import (
	"hash/fnv"
	"slices"
	"time"
)

// Limits of the document.
const (
	// MaxInbox is how many prompts may wait (maxPendingPerRoute's default), and how many quiet messages beside them. It also bounds the
	// document's size.
	MaxInbox = 64
	// WakeShards spreads wake_at over that many ranges, since an index on a rising time alone takes 500 writes a second.
	WakeShards = 16
	// LeaseFor is how long a lease lasts without renewal.
	LeaseFor = 60 * time.Second
	// wakeGrace is how long after the moment work should have moved the sweep comes to look.
	wakeGrace = 60 * time.Second
	// maxEarlier is how many swaps are remembered: far more than rivals fit in between a commit and the question what became of it.
	maxEarlier = 64
	// MaxRecoveries is how many takeovers without a new stored step end a turn as failed.
	MaxRecoveries = 3
)

// Session is the state of one conversation between two /clear commands.
type Session struct {
	ID              string `json:"id" firestore:"id"`
	ConversationKey string `json:"conversation_key" firestore:"conversation_key"`
	RouteID         string `json:"route_id" firestore:"route_id"`
	ChatbotID       string `json:"chatbot_id" firestore:"chatbot_id"`
	ChannelID       string `json:"channel_id" firestore:"channel_id"`
	Direct          bool   `json:"direct" firestore:"direct"`

	// Settings are the route's, as they stood when the last prompt was accepted.
	Settings Settings `json:"settings" firestore:"settings"`

	Seq   int64 `json:"seq" firestore:"seq"`     // of the last stored message
	Turns int   `json:"turns" firestore:"turns"` // turns begun

	Inbox     []Ref `json:"inbox" firestore:"inbox"`
	Turn      *Turn `json:"turn" firestore:"turn"`
	TurnLease Lease `json:"turn_lease" firestore:"turn_lease"`

	Outbox    Outbox `json:"outbox" firestore:"outbox"`
	SendLease Lease  `json:"send_lease" firestore:"send_lease"`

	// Told remembers what people were told once, by reason.
	Told []string `json:"told" firestore:"told"`

	// WakeAt exists only while something is outstanding: when the sweep should look.
	WakeAt    *time.Time `json:"wake_at,omitempty" firestore:"wake_at,omitempty"`
	WakeShard int        `json:"wake_shard" firestore:"wake_shard"`

	// Swap is a new random value in every write: it makes each swap change a field. Earlier holds those of the writes before, the newest
	// last, so that a writer who does not know what became of its commit can tell even when others have written since.
	Swap      string    `json:"swap" firestore:"swap"`
	Earlier   []string  `json:"earlier" firestore:"earlier"`
	CreatedAt time.Time `json:"created_at" firestore:"created_at"`
	UpdatedAt time.Time `json:"updated_at" firestore:"updated_at"`
}

// Settings are what a turn must know of its route.
type Settings struct {
	Model     string   `json:"model" firestore:"model"` // provider:model
	Role      string   `json:"role" firestore:"role"`
	Tools     []string `json:"tools" firestore:"tools"`         // names; empty means all
	Interrupt bool     `json:"interrupt" firestore:"interrupt"` // a new prompt cancels a running inference
	Thinking  bool     `json:"thinking" firestore:"thinking"`   // ask the model for its thoughts
	Locale    string   `json:"locale" firestore:"locale"`       // zh or en
}

// New returns an empty session.
func New(id, conversationKey, routeID, chatbotID, channelID string, direct bool, now time.Time) Session {
	h := fnv.New32a()
	h.Write([]byte(id))
	return Session{
		ID: id, ConversationKey: conversationKey, RouteID: routeID, ChatbotID: chatbotID, ChannelID: channelID, Direct: direct,
		WakeShard: int(h.Sum32() % WakeShards), CreatedAt: now, UpdatedAt: now,
	}
}

// Clone returns a copy that shares nothing with s.
func (s *Session) Clone() Session {
	c := *s
	c.Inbox = append([]Ref(nil), s.Inbox...)
	c.Told = append([]string(nil), s.Told...)
	c.Earlier = append([]string(nil), s.Earlier...)
	c.Settings.Tools = append([]string(nil), s.Settings.Tools...)
	if s.Turn != nil {
		t := *s.Turn
		t.Prompts = append([]int64(nil), s.Turn.Prompts...)
		c.Turn = &t
	}
	if s.WakeAt != nil {
		w := *s.WakeAt
		c.WakeAt = &w
	}
	return c
}

// Seal is the last thing before a swap: it stamps the write and sets or clears the sweep's wake-up. A lease alone is no reason to be woken:
// its end needs nobody, and a session that is due without work would stay due for ever, since no claim on it is granted.
func (s *Session) Seal(swap string, now time.Time) {
	if s.Swap != "" {
		s.Earlier = append(s.Earlier, s.Swap)
		s.Earlier = s.Earlier[max(0, len(s.Earlier)-maxEarlier):]
	}
	s.Swap, s.UpdatedAt = swap, now
	s.WakeAt = nil
	if s.TurnWork() {
		s.wakeBy(latest(now, s.TurnLease.Until, s.notBefore()))
	}
	if s.SendWork() {
		s.wakeBy(latest(now, s.SendLease.Until, s.Outbox.NotBefore))
	}
}

// Wrote reports whether the swap is among the last ones that were written.
func (s *Session) Wrote(swap string) bool { return s.Swap == swap || slices.Contains(s.Earlier, swap) }

// Remembers reports whether everything since the swap is remembered; an empty swap stands for the time before the first.
func (s *Session) Remembers(swap string) bool {
	if swap == "" {
		return len(s.Earlier) < maxEarlier
	}
	return s.Wrote(swap)
}

func (s *Session) wakeBy(due time.Time) {
	due = due.Add(wakeGrace)
	if s.WakeAt == nil || due.Before(*s.WakeAt) {
		s.WakeAt = &due
	}
}

func (s *Session) notBefore() time.Time {
	if s.Turn == nil {
		return time.Time{}
	}
	return s.Turn.NotBefore
}

func latest(times ...time.Time) time.Time {
	var t time.Time
	for _, x := range times {
		if x.After(t) {
			t = x
		}
	}
	return t
}

// TellOnce reports whether people have not yet been told reason, and notes that they are now. The list keeps the last 16.
func (s *Session) TellOnce(reason string) bool {
	for _, r := range s.Told {
		if r == reason {
			return false
		}
	}
	s.Told = append(s.Told, reason)
	if len(s.Told) > 16 {
		s.Told = s.Told[1:]
	}
	return true
}
