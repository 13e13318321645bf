package session_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"kesoku.dev/shared/session"
)

// The protocol of the turn lease, searched completely: two prompts, two handlers that read, decide and swap, and at any moment a crash, a
// lease that ends early, a wake-up that is delivered again (also while its first handler runs, also after it was acknowledged), a prompt
// that is recalled, a checkpoint. The methods are Session's own; only Firestore and Pub/Sub are imagined, by what they promise.

// Wake-ups by their event ids.
const (
	sweepEvent      = 2 // 0 and 1 are the prompts'
	checkpointEvent = 3
	events          = 4
)

// phase is how far a prompt has come.
type phase byte

const (
	unsent phase = iota
	waiting
	running
	answered
	interrupted
	failed
)

// op is what a handler does next.
type op byte

const (
	opNone op = iota
	opClaim
	opStep
	opEnd
	opBegin
	opPreempt
	opFail
	opPublish
	opAck
	opNack
)

var getNames = [events]string{"gets wake-up 0", "gets wake-up 1", "gets the sweep's wake-up", "gets the checkpoint's wake-up"}

var opNames = [...]string{"none", "claim", "step", "end", "begin", "preempt", "fail", "publish", "ack", "nack"}

// handler is one run of the turn function.
type handler struct {
	op     op
	event  int
	holder string
	epoch  int64
	read   bool // it has a picture of the session …
	stale  bool // … that somebody's swap has outdated, so its own swap will be refused
}

type prompt struct {
	phase     phase
	seq       int64
	replies   int
	published bool
}

type wake struct{ published, acked bool }

type world struct {
	s       session.Session
	prompts [2]prompt
	wakes   [events]wake
	workers [2]handler
	runs    int  // names the next run
	extra   int  // duplicates so far
	once    bool // what happens once in a search has happened: its wake-up has a single id here
	patient bool
	broken  error
}

// rules are what may happen in one search.
type rules struct {
	when      [2]session.When
	interrupt bool
	// duplicates is how often a wake-up may be delivered although it is in hand or acknowledged. Then the sweep may be needed; without
	// duplicates it must not be.
	duplicates int
	recall     bool
	checkpoint bool // one handler runs out of time
	orphans    bool // the sweep takes an expired lease from its holder
	single     bool // there is no second prompt
	patient    bool // a turn is taken over as often as need be, which makes a search a third of its size
	// races parts the read of a compare-and-swap from its write, so that rivals come between. Without it the two are one move, which is
	// the same protocol, since a swap on an outdated read writes nothing and is repeated; it only leaves more room for the other rules.
	races bool
}

// swapped is what a successful compare-and-swap does to everybody's picture.
func (w *world) swapped() {
	w.s.Seal("x", now)
	w.s.Outbox.Cursor = w.s.Seq // the other side of the session is searched elsewhere
	w.s.Seal("x", now)
	for i := range w.workers {
		w.workers[i].stale = true
	}
}

func (w *world) fail(format string, args ...any) {
	w.broken = errors.Join(w.broken, fmt.Errorf(format, args...))
}

// set moves the prompts of refs or seqs from one phase to another, as the messages' own transitions demand it.
func (w *world) set(seqs []int64, from, to phase) {
	for _, seq := range seqs {
		for i := range w.prompts {
			p := &w.prompts[i]
			if p.phase == unsent || p.seq != seq {
				continue
			}
			if p.phase != from {
				w.fail("prompt %d goes from %d to %d, but stands in %d", i, from, to, p.phase)
			}
			p.phase = to
			if to == answered {
				p.replies++
			}
		}
	}
}

func seqsOf(refs []session.Ref) []int64 {
	var out []int64
	for _, r := range refs {
		out = append(out, r.Seq)
	}
	return out
}

func (r rules) moves(w world) []move[world] {
	var out []move[world]
	add := func(fault bool, who int, name string, change func(*world)) {
		next := w
		next.s = w.s.Clone()
		change(&next)
		out = append(out, move[world]{who: who, name: name, to: next, fault: fault})
	}
	r.outside(&w, add)
	started := false
	for i := range w.workers {
		h := &w.workers[i]
		switch {
		case h.op == opNone && !started: // an idle handler is like any other
			started = true
			r.deliveries(&w, i, add)
		case h.op != opNone:
			add(true, i, "crashes", func(w *world) { w.workers[i] = handler{} })
			r.work(&w, i, add)
		}
	}
	return out
}

type adder func(fault bool, who int, name string, change func(*world))

// outside is all that happens without a handler.
func (r rules) outside(w *world, add adder) {
	for i, p := range w.prompts {
		switch {
		case p.phase == unsent:
			add(false, i, "is a prompt that comes", func(w *world) {
				if got := w.s.Receive(session.Ref{Key: fmt.Sprint(i), When: r.when[i]}, 0); got != session.ReceiptAccepted {
					w.fail("prompt %d: %s", i, got)
				}
				w.prompts[i].phase, w.prompts[i].seq = waiting, w.s.Seq
				w.prompts[i].published = r.when[i] == session.WhenQuiet // a quiet message is not told about
				w.swapped()
			})
		case !p.published:
			add(false, i, "is a prompt that is told about", func(w *world) {
				w.prompts[i].published = true
				w.wakes[i] = wake{published: true}
			})
		case p.phase == waiting && r.recall:
			add(true, i, "is a prompt that is recalled", func(w *world) {
				var left []session.Ref
				for _, ref := range w.s.Inbox {
					if ref.Seq != p.seq {
						left = append(left, ref)
					}
				}
				w.s.Inbox = left
				w.prompts[i].phase = interrupted
				w.swapped()
			})
		}
	}
	if w.s.TurnLease.Live(now) {
		add(false, 0, "the lease ends", func(w *world) { w.s.TurnLease.Until = now })
	}
	if r.orphans && w.s.Turn != nil && w.s.TurnLease.Held() && !w.s.TurnLease.Live(now) && !w.once {
		add(false, 0, "the sweep takes the lease away", func(w *world) {
			w.s.Orphan()
			w.once = true
			w.swapped()
			w.wakes[sweepEvent] = wake{published: true}
		})
	}
	if r.duplicates > 0 && w.quiet() && w.s.WakeAt != nil && !w.s.TurnLease.Live(now) { // earlier, it is a wake-up like the others
		add(false, 0, "the sweep comes", func(w *world) { w.wakes[sweepEvent] = wake{published: true} })
	}
}

func (r rules) deliveries(w *world, i int, add adder) {
	for e, k := range w.wakes {
		extra := k.acked
		for _, h := range w.workers {
			extra = extra || h.op != opNone && h.event == e
		}
		if !k.published || extra && w.extra >= r.duplicates {
			continue
		}
		add(extra, i, getNames[e], func(w *world) {
			if extra {
				w.extra++
			}
			w.runs++
			w.workers[i] = handler{op: opClaim, event: e, holder: "run" + strconv.Itoa(w.runs)}
		})
	}
}

// check holds at any moment.
func (r rules) check(w world) error {
	if w.broken != nil {
		return w.broken
	}
	for i, p := range w.prompts {
		inbox, turn := 0, 0
		for _, ref := range w.s.Inbox {
			if ref.Seq == p.seq {
				inbox++
			}
		}
		if w.s.Turn != nil {
			for _, seq := range w.s.Turn.Prompts {
				if seq == p.seq {
					turn++
				}
			}
		}
		switch {
		case p.phase == waiting && (inbox != 1 || turn != 0), p.phase == running && (inbox != 0 || turn != 1),
			p.phase > running && inbox+turn != 0:
			return fmt.Errorf("prompt %d in phase %d stands %d times in the inbox and %d times in the turn", i, p.phase, inbox, turn)
		case p.replies > 1, (p.phase == answered) != (p.replies == 1):
			return fmt.Errorf("prompt %d in phase %d has %d replies", i, p.phase, p.replies)
		}
	}
	if (w.s.WakeAt != nil) != w.s.TurnWork() {
		return fmt.Errorf("the sweep comes at %v, though work = %v", w.s.WakeAt, w.s.TurnWork())
	}
	if w.quiet() && w.s.TurnWork() && (r.duplicates == 0 || w.s.WakeAt == nil) {
		return errors.New("stranded: there is work, and nobody comes")
	}
	return nil
}

// quiet reports that nothing is under way any more: no handler, no wake-up, nobody who has yet to tell.
func (w world) quiet() bool {
	for _, h := range w.workers {
		if h.op != opNone {
			return false
		}
	}
	for _, k := range w.wakes {
		if k.published && !k.acked {
			return false
		}
	}
	for _, p := range w.prompts {
		if p.phase != unsent && !p.published {
			return false
		}
	}
	return true
}

// done is the end that every prompt deserves.
func (w world) done() bool {
	for _, p := range w.prompts {
		if p.phase == unsent {
			return false
		}
	}
	return w.quiet() && !w.s.TurnWork() && w.s.Turn == nil
}

// fingerprint is a world without what no behaviour depends on: absolute epochs and seqs, names of runs that are over, which handler is which.
type fingerprint struct {
	owner, event string
	live, turn   bool
	prompts      [2]prompt
	inbox        [2]int
	merged       [2]int
	step, lost   int
	wakes        [events]wake
	workers      [2]handler
	extra        int
	once         bool
}

func (w world) key() fingerprint {
	l := w.s.TurnLease
	f := fingerprint{event: l.EventID, live: l.Live(now), prompts: w.prompts, wakes: w.wakes, extra: w.extra, once: w.once}
	if l.Holder != "" {
		f.owner = "gone"
	}
	for i, h := range w.workers {
		if h.op == opNone {
			continue
		}
		mine := h.holder == l.Holder
		h.stale, h.holder = h.read && h.stale, ""
		if mine {
			h.holder, f.owner = "mine", "here"
		}
		h.epoch -= l.Epoch
		if h.epoch != 0 || h.op == opClaim {
			h.epoch = -1
		}
		f.workers[i] = h
	}
	slices.SortFunc(f.workers[:], func(a, b handler) int {
		return cmp.Or(cmp.Compare(a.op, b.op), cmp.Compare(a.event, b.event), cmp.Compare(a.holder, b.holder), cmp.Compare(a.epoch, b.epoch),
			flag(a.read)-flag(b.read), flag(a.stale)-flag(b.stale))
	})
	for i := range f.prompts {
		f.inbox[i] = 1 + slices.IndexFunc(w.s.Inbox, func(r session.Ref) bool { return r.Seq == w.prompts[i].seq })
		f.prompts[i].seq = 0
		if t := w.s.Turn; t != nil {
			f.turn, f.step = true, t.Step
			if !w.patient {
				f.lost = min(t.Recoveries, session.MaxRecoveries)
			}
			f.merged[i] = 1 + slices.Index(t.Prompts, w.prompts[i].seq)
		}
	}
	return f
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A1, A2, A7, A8, A12, L1, P16; cases B2, B31, B32, B33, B34, B42, B44: every prompt ends once, whatever happens.
func TestTurnProtocol(t *testing.T) {
	t.Parallel()
	next, at, quiet := session.WhenNext, session.WhenNow, session.WhenQuiet
	tests := map[string]rules{
		"two prompts, racing":      {when: [2]session.When{next, next}, races: true},
		"second joins":             {when: [2]session.When{next, at}, races: true},
		"out of time":              {when: [2]session.When{next, next}, checkpoint: true, patient: true},
		"second is quiet":          {when: [2]session.When{next, quiet}, races: true},
		"second interrupts":        {when: [2]session.When{next, next}, interrupt: true},
		"recalled":                 {when: [2]session.When{next, next}, recall: true},
		"orphaned":                 {when: [2]session.When{next, next}, orphans: true, single: true},
		"redelivered, joins":       {when: [2]session.When{next, at}, duplicates: 1, patient: true},
		"redelivered, interrupted": {when: [2]session.When{next, next}, duplicates: 1, interrupt: true, patient: true},
	}
	for name, r := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := world{s: session.New("s1", "k", "r", "p", "c", false, now), patient: r.patient}
			start.s.Settings.Interrupt = r.interrupt
			if r.single {
				start.prompts[1] = prompt{phase: interrupted, published: true}
			}
			machine[world, fingerprint]{key: world.key, moves: r.moves, check: r.check, done: world.done}.explore(t, start)
		})
	}
}
