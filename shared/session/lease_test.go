package session_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kesoku.dev/shared/session"
)

var now = time.Date(2026, 5, 27, 12, 0, 0, 0, time.UTC)

var (
	mine   = session.Claimant{Holder: "me", EventID: "e1"}
	rerun  = session.Claimant{Holder: "me again", EventID: "e1"} // the same wake-up, delivered again
	theirs = session.Claimant{Holder: "they", EventID: "e2"}
)

func empty() session.Session {
	return session.New("s1", "discord:c", "discord:c", "discord", "c", false, now)
}

// with returns a session with prompts waiting.
func with(whens ...session.When) session.Session {
	s := empty()
	for i, w := range whens {
		s.Receive(session.Ref{Key: string(rune('a' + i)), When: w, ThreadID: string(rune('A' + i)), At: now}, 0)
	}
	return s
}

// side lets one table serve both leases.
type side struct {
	work   func() session.Session
	claim  func(*session.Session, session.Claimant, time.Time) session.Verdict
	lease  func(*session.Session) *session.Lease
	finish func(*session.Session)
}

var sides = map[string]side{
	"turn": {
		work:   func() session.Session { return with(session.WhenNext) },
		claim:  (*session.Session).ClaimTurn,
		lease:  func(s *session.Session) *session.Lease { return &s.TurnLease },
		finish: func(s *session.Session) { s.Inbox = nil },
	},
	"send": {
		work:   func() session.Session { s := empty(); s.NextSeq(); return s },
		claim:  (*session.Session).ClaimSend,
		lease:  func(s *session.Session) *session.Lease { return &s.SendLease },
		finish: func(s *session.Session) { s.Outbox.Cursor = s.Seq },
	},
}

// A1; cases B31, B33, B42: who gets a lease, and under which epoch.
func TestClaim(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		first     *session.Claimant
		later     time.Duration
		who       session.Claimant
		want      session.Verdict
		wantEpoch int64
		holder    string
	}{
		"free":                              {nil, 0, mine, session.VerdictClaimed, 1, "me"},
		"live, mine":                        {&mine, time.Second, mine, session.VerdictClaimed, 1, "me"},
		"live, my own wake-up's":            {&mine, time.Second, rerun, session.VerdictComeBack, 1, "me"},
		"live, another's":                   {&mine, time.Second, theirs, session.VerdictBusy, 1, "me"}, // case B42
		"live to the last moment":           {&mine, session.LeaseFor - 1, theirs, session.VerdictBusy, 1, "me"},
		"expired, another's":                {&mine, session.LeaseFor, theirs, session.VerdictClaimed, 2, "they"},
		"expired, my own wake-up's":         {&mine, session.LeaseFor, rerun, session.VerdictClaimed, 2, "me again"},
		"expired, mine: a new epoch fences": {&mine, session.LeaseFor, mine, session.VerdictClaimed, 2, "me"},
	}
	for side, on := range sides {
		for name, tt := range tests {
			t.Run(side+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := on.work()
				if tt.first != nil {
					if v := on.claim(&s, *tt.first, now); v != session.VerdictClaimed {
						t.Fatalf("first claim: %s", v)
					}
				}
				at := now.Add(tt.later)
				if v := on.claim(&s, tt.who, at); v != tt.want {
					t.Errorf("verdict %s, want %s", v, tt.want)
				}
				l := on.lease(&s)
				if l.Epoch != tt.wantEpoch || l.Holder != tt.holder {
					t.Errorf("lease %+v, want holder %s under epoch %d", l, tt.holder, tt.wantEpoch)
				}
				if tt.want == session.VerdictClaimed && !l.Live(at) {
					t.Errorf("the claimed lease is not live: %+v", l)
				}
			})
		}
	}
}

// A1: without work there is nothing to claim, whatever lease was left behind; a live one still answers for its holder.
func TestClaimWithoutWork(t *testing.T) {
	t.Parallel()
	for name, on := range sides {
		s := empty()
		if v := on.claim(&s, mine, now); v != session.VerdictIdle || on.lease(&s).Holder != "" {
			t.Errorf("%s: nothing to do: %s, lease %+v", name, v, on.lease(&s))
		}
		s = on.work()
		on.claim(&s, mine, now)
		on.finish(&s)
		for who, want := range map[session.Claimant]session.Verdict{mine: session.VerdictClaimed, rerun: session.VerdictComeBack,
			theirs: session.VerdictBusy} {
			c := s.Clone()
			if v := on.claim(&c, who, now); v != want {
				t.Errorf("%s: live lease, nothing left, %s asks: %s, want %s", name, who.Holder, v, want)
			}
		}
		if v := on.claim(&s, theirs, now.Add(session.LeaseFor)); v != session.VerdictIdle {
			t.Errorf("%s: expired lease, nothing left: %s", name, v)
		}
	}
	s := with(session.WhenQuiet, session.WhenQuiet) // P16: quiet never wakes
	if v := s.ClaimTurn(mine, now); v != session.VerdictIdle {
		t.Errorf("quiet messages alone: %s", v)
	}
}

// case B31: a stale holder sees that its lease is another's; an expired lease that nobody took is its own still.
func TestHolds(t *testing.T) {
	t.Parallel()
	s := with(session.WhenNext)
	s.ClaimTurn(mine, now)
	epoch := s.TurnLease.Epoch
	if !s.TurnLease.Holds("me", epoch) || s.TurnLease.Holds("me", epoch+1) || s.TurnLease.Holds("they", epoch) {
		t.Error("holder and epoch must both be right")
	}
	late := now.Add(2 * session.LeaseFor)
	if s.TurnLease.Live(late) || !s.TurnLease.Holds("me", epoch) {
		t.Error("an expired lease that nobody took over is still its holder's to commit under")
	}
	s.ClaimTurn(theirs, late)
	if s.TurnLease.Holds("me", epoch) || !s.TurnLease.Holds("they", epoch+1) {
		t.Error("a takeover fences the one before")
	}
	var free session.Lease
	if free.Live(now) || free.Holds("me", 0) {
		t.Error("a free lease is nobody's")
	}
}

// case B31: renewal moves the end and nothing else.
func TestRenew(t *testing.T) {
	t.Parallel()
	for name, on := range sides {
		s := on.work()
		on.claim(&s, mine, now)
		want := *on.lease(&s)
		later := now.Add(50 * time.Second)
		want.Until = later.Add(session.LeaseFor)
		s.RenewTurn(later)
		s.RenewSend(later)
		if diff := cmp.Diff(want, *on.lease(&s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if v := on.claim(&s, theirs, now.Add(session.LeaseFor)); v != session.VerdictBusy {
			t.Errorf("%s: a renewed lease was taken: %s", name, v)
		}
	}
}

// case B34, L5: only a holder that vanished counts as a recovery; a stored step, a pause and a release do not.
func TestRecoveries(t *testing.T) {
	t.Parallel()
	begun := func() session.Session {
		s := with(session.WhenNext)
		s.ClaimTurn(mine, now)
		s.Begin(now)
		return s
	}
	later := now.Add(session.LeaseFor)
	tests := map[string]struct {
		prepare func(*session.Session)
		who     session.Claimant
		at      time.Time
		want    int
	}{
		"taken over":                  {nil, theirs, later, 1},
		"taken over by its own rerun": {nil, rerun, later, 1},
		"busy":                        {nil, theirs, now, 0},
		"the holder itself, live":     {nil, mine, now, 0},
		"the holder itself, expired":  {nil, mine, later, 0},
		"after a pause":               {func(s *session.Session) { s.Pause(now) }, theirs, later, 0},
		"after a stored step": {func(s *session.Session) {
			s.ClaimTurn(rerun, later)
			s.Stored(1, 2)
		}, rerun, later, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begun()
			if tt.prepare != nil {
				tt.prepare(&s)
			}
			s.ClaimTurn(tt.who, tt.at)
			if s.Turn.Recoveries != tt.want {
				t.Errorf("%d recoveries, want %d", s.Turn.Recoveries, tt.want)
			}
		})
	}
	s := begun()
	at := now
	for i := 1; i <= session.MaxRecoveries; i++ {
		at = at.Add(session.LeaseFor)
		s.ClaimTurn(session.Claimant{Holder: string(rune('a' + i)), EventID: "e1"}, at)
		if s.Turn.Recoveries != i {
			t.Errorf("takeover %d: %d recoveries", i, s.Turn.Recoveries)
		}
	}
	// A lease left behind between two turns is no recovery of the next one.
	s = with(session.WhenNext)
	s.ClaimTurn(mine, now)
	s.ClaimTurn(theirs, later)
	s.Begin(later)
	if s.Turn.Recoveries != 0 {
		t.Errorf("%d recoveries of a turn that nobody had begun", s.Turn.Recoveries)
	}
}

// L4, case B33: the sweep takes an expired lease away. Its holder is fenced, the turn stays and is taken up under yet another epoch, and the
// takeover is counted once.
func TestOrphan(t *testing.T) {
	t.Parallel()
	s := with(session.WhenNext)
	s.ClaimTurn(mine, now)
	s.Begin(now)
	s.Orphan()
	if s.TurnLease.Holds("me", 1) || s.TurnLease.Held() || s.Turn == nil || s.Turn.Recoveries != 1 {
		t.Errorf("orphaned: lease %+v, turn %+v", s.TurnLease, s.Turn)
	}
	if v := s.ClaimTurn(rerun, now); v != session.VerdictClaimed || s.TurnLease.Epoch <= 2 || s.Turn.Recoveries != 1 {
		t.Errorf("taken up: %s, lease %+v, %d recoveries", v, s.TurnLease, s.Turn.Recoveries)
	}
}
