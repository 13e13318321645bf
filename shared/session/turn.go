package session

import (
	"time"

	"kesoku.dev/shared/message"
)

// Turn is the live turn: enough for another holder to go on from the last stored step.
type Turn struct {
	Number   int     `json:"number" firestore:"number"`       // from 1, within the session
	FirstSeq int64   `json:"first_seq" firestore:"first_seq"` // the lowest seq of its prompts
	Prompts  []int64 `json:"prompts" firestore:"prompts"`     // their seqs, in the order they are merged
	ThreadID string  `json:"thread_id" firestore:"thread_id"` // where its reply belongs
	Locale   string  `json:"locale" firestore:"locale"`       // of whoever it answers, where their platform tells it
	// Step is the last step that is stored; its calls may still lack results.
	Step   int  `json:"step" firestore:"step"`
	Nudged bool `json:"nudged" firestore:"nudged"`
	// Announced asks for a card although no step is stored yet, because the model takes long.
	Announced bool   `json:"announced" firestore:"announced"`
	Stopped   bool   `json:"stopped" firestore:"stopped"`       // somebody pressed Stop
	StoppedBy string `json:"stopped_by" firestore:"stopped_by"` // their name
	// Recoveries counts takeovers since the last stored step.
	Recoveries int `json:"recoveries" firestore:"recoveries"`
	// Retries counts returns to the queue because the provider asked to wait; NotBefore is when to go on.
	Retries   int       `json:"retries" firestore:"retries"`
	NotBefore time.Time `json:"not_before" firestore:"not_before"`
	StartedAt time.Time `json:"started_at" firestore:"started_at"`

	ToolCalls     int `json:"tool_calls" firestore:"tool_calls"`
	Tokens        int `json:"tokens" firestore:"tokens"`
	ContextTokens int `json:"context_tokens" firestore:"context_tokens"`
}

// TurnWork reports whether the turn side has something to do: a live turn, or a prompt that may start one.
func (s *Session) TurnWork() bool { return s.Turn != nil || s.wakes() }

// ClaimTurn asks for the turn lease. A granted claim on a session whose last holder let its lease expire counts as a recovery; one on a
// turn that was released on purpose does not.
func (s *Session) ClaimTurn(c Claimant, now time.Time) Verdict {
	if !s.TurnWork() && !s.TurnLease.Live(now) {
		return VerdictIdle
	}
	abandoned := s.TurnLease.Held() && s.TurnLease.Holder != c.Holder
	v := s.TurnLease.claim(c, now)
	if v == VerdictClaimed && abandoned && s.Turn != nil {
		s.Turn.Recoveries++
	}
	return v
}

// OrphanAge is how old a prompt must be before the sweep takes it from a turn whose lease has expired.
const OrphanAge = 300 * time.Second

// Orphan takes an expired lease from its holder, so that whatever it still tries is fenced. It counts as a recovery; the live turn stays, to be
// taken up by the next claim.
func (s *Session) Orphan() {
	s.TurnLease.release()
	s.TurnLease.Epoch++
	s.Turn.Recoveries++
}

// RenewTurn moves the end of the turn lease.
func (s *Session) RenewTurn(now time.Time) { s.TurnLease.renew(now) }

// Begin starts the next turn with all that waits. The caller moves the messages of the returned refs to processing in the same swap.
func (s *Session) Begin(now time.Time) []Ref {
	refs := s.drain(true)
	s.Turns++
	s.Turn = &Turn{Number: s.Turns, StartedAt: now}
	s.take(refs)
	return refs
}

// Join takes what may join a running turn at a step boundary.
func (s *Session) Join() []Ref {
	refs := s.drain(false)
	s.take(refs)
	return refs
}

func (s *Session) take(refs []Ref) {
	for _, r := range refs {
		s.Turn.Prompts = append(s.Turn.Prompts, r.Seq)
		if s.Turn.FirstSeq == 0 || r.Seq < s.Turn.FirstSeq {
			s.Turn.FirstSeq = r.Seq
		}
		if r.When != WhenQuiet || s.Turn.ThreadID == "" {
			s.Turn.ThreadID = r.ThreadID
		}
	}
}

// Interrupted reports whether the running turn must give way: somebody pressed Stop, or the route lets a new prompt interrupt.
func (s *Session) Interrupted() bool {
	return s.Turn != nil && (s.Turn.Stopped || (s.Settings.Interrupt && s.wakes()))
}

// StopTurn asks the live turn with that number to stop. It reports whether there was one to ask.
func (s *Session) StopTurn(number int, by string) bool {
	if s.Turn == nil || s.Turn.Number != number || s.Turn.Stopped {
		return false
	}
	s.Turn.Stopped, s.Turn.StoppedBy = true, by
	s.Turn.NotBefore = time.Time{}
	return true
}

// Stored notes that a step is stored: the turn has moved, so its recoveries and retries start anew.
func (s *Session) Stored(step, calls int) {
	s.Turn.Step = step
	s.Turn.ToolCalls += calls
	s.Turn.Recoveries, s.Turn.Retries, s.Turn.NotBefore = 0, 0, time.Time{}
}

// Spent adds the tokens of one model call.
func (s *Session) Spent(context, total int) {
	s.Turn.ContextTokens = context
	s.Turn.Tokens += total
}

// Metrics is what the live turn has cost at now.
func (s *Session) Metrics(now time.Time) message.TurnMetrics {
	return message.TurnMetrics{
		SessionTurns: s.Turns, ContextTokens: s.Turn.ContextTokens, TurnToolCalls: s.Turn.ToolCalls, TurnTokens: s.Turn.Tokens,
		TurnTime: now.Sub(s.Turn.StartedAt).Round(10 * time.Millisecond).Seconds(),
	}
}

// End closes the live turn and, if nothing else may start one, lets go of the lease in the same swap. It reports whether the holder goes on.
func (s *Session) End(now time.Time) (more bool) {
	s.Turn = nil
	if s.wakes() {
		s.TurnLease.renew(now)
		return true
	}
	s.TurnLease.release()
	return false
}

// Rest lets go of the lease of a session that has no turn and nothing to begin one with.
func (s *Session) Rest() { s.TurnLease.release() }

// Pause lets go of the lease with the live turn stored, to be gone on with no sooner than notBefore.
func (s *Session) Pause(notBefore time.Time) {
	s.Turn.NotBefore = notBefore
	s.TurnLease.release()
}
