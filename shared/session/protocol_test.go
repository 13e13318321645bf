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

// work is the next thing that a handler does: it reads, or it swaps what it decided on its picture, or it talks to Pub/Sub.
func (r rules) work(w *world, i int, add adder) {
	h := w.workers[i]
	switch {
	case h.op == opAck:
		add(false, i, opNames[h.op], func(w *world) { w.acked(h.event); w.workers[i] = handler{} })
	case h.op == opNack:
		add(false, i, opNames[h.op], func(w *world) { w.workers[i] = handler{} })
	case h.op == opPublish:
		add(false, i, opNames[h.op], func(w *world) { w.wakes[checkpointEvent] = wake{published: true}; w.workers[i].op = opAck })
	case r.races && !h.read:
		add(false, i, "reads", func(w *world) { w.look(i) })
	case r.races && h.stale:
		add(false, i, "loses the race", func(w *world) { w.workers[i].read = false })
	default:
		add(false, i, opNames[h.op], func(w *world) {
			if r.races || w.look(i) {
				w.commit(i)
			}
		})
		if r.checkpoint && !w.once && h.op == opStep && w.s.TurnLease.Holds(h.holder, h.epoch) {
			add(true, i, "lets go for a while", func(w *world) {
				w.owns(&w.workers[i])
				w.s.Pause(now)
				w.once = true
				w.swapped()
				w.workers[i].op, w.workers[i].read = opPublish, false
			})
		}
	}
}

// acked ends a wake-up. Those of the prompts are remembered, because they may come again.
func (w *world) acked(event int) {
	w.wakes[event].acked = true
	if event >= sweepEvent {
		w.wakes[event] = wake{}
	}
}

// look reads the session and reports whether a swap is to follow. What is decided without one is decided here, on what stands there now.
func (w *world) look(i int) bool {
	h := &w.workers[i]
	h.read, h.stale = true, false
	if h.op != opClaim {
		if !w.s.TurnLease.Holds(h.holder, h.epoch) {
			h.op = opAck // fenced: stop and write nothing
		}
		return h.op != opAck
	}
	s := w.s.Clone()
	switch s.ClaimTurn(session.Claimant{Holder: h.holder, EventID: strconv.Itoa(h.event)}, now) {
	case session.VerdictIdle, session.VerdictBusy:
		h.op = opAck
	case session.VerdictComeBack:
		h.op = opNack
	case session.VerdictClaimed:
	}
	return h.op == opClaim
}

// owns checks that who commits has the lease: no two runs ever share an epoch, so no two of them commit.
func (w *world) owns(h *handler) {
	if l := w.s.TurnLease; l.Holder != h.holder || l.Epoch != h.epoch {
		w.fail("%s commits under epoch %d, but %q has the lease under %d", h.holder, h.epoch, l.Holder, l.Epoch)
	}
}

// commit is a swap on a picture that is still true.
func (w *world) commit(i int) {
	h := &w.workers[i]
	if h.op == opClaim {
		before := w.s.TurnLease.Epoch
		w.s.ClaimTurn(session.Claimant{Holder: h.holder, EventID: strconv.Itoa(h.event)}, now)
		h.epoch = w.s.TurnLease.Epoch
		if h.epoch <= before {
			w.fail("%s claims under epoch %d again", h.holder, before)
		}
	}
	w.owns(h)
	switch h.op {
	case opClaim, opBegin:
		h.op = w.start(h.op)
	case opStep:
		switch {
		case w.s.Interrupted():
			h.op = opPreempt
			return // nothing is written
		case w.s.Turn.Step == 0:
			w.s.Stored(1, 0)
			w.set(seqsOf(w.s.Join()), waiting, running)
		default:
			w.s.RenewTurn(now)
		}
		h.op = opEnd
	case opEnd:
		h.op = w.end(answered)
	case opPreempt:
		h.op = w.end(interrupted)
	case opFail:
		h.op = w.end(failed)
	default:
		w.fail("%s is no commit", opNames[h.op])
	}
	read := h.op != opAck
	w.swapped()
	h.read, h.stale = read, false // a handler remembers what it wrote
}

// start begins a turn or takes up the one that lives.
func (w *world) start(o op) op {
	switch {
	case w.s.Turn == nil && len(w.s.Inbox) == 0: // all was recalled since
		w.s.End(now)
		return opAck
	case w.s.Turn == nil:
		w.set(seqsOf(w.s.Begin(now)), waiting, running)
	case o == opBegin:
		w.fail("a turn begins over another")
	}
	if w.s.Turn.Recoveries >= session.MaxRecoveries {
		return opFail
	}
	return opStep
}

// end closes the turn, and goes on if it may.
func (w *world) end(as phase) op {
	w.set(w.s.Turn.Prompts, running, as)
	w.s.NextSeq()
	if w.s.End(now) {
		return opBegin
	}
	return opAck
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
			f.turn, f.step, f.lost = true, t.Step, min(t.Recoveries, session.MaxRecoveries)
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
		"out of time":              {when: [2]session.When{next, next}, checkpoint: true},
		"second is quiet":          {when: [2]session.When{next, quiet}, races: true},
		"second interrupts":        {when: [2]session.When{next, next}, interrupt: true},
		"recalled":                 {when: [2]session.When{next, next}, recall: true},
		"orphaned":                 {when: [2]session.When{next, next}, orphans: true, single: true},
		"redelivered, joins":       {when: [2]session.When{next, at}, duplicates: 1},
		"redelivered, interrupted": {when: [2]session.When{next, next}, duplicates: 1, interrupt: true},
	}
	for name, r := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := world{s: session.New("s1", "k", "r", "p", "c", false, now)}
			start.s.Settings.Interrupt = r.interrupt
			if r.single {
				start.prompts[1] = prompt{phase: interrupted, published: true}
			}
			machine[world, fingerprint]{key: world.key, moves: r.moves, check: r.check, done: world.done}.explore(t, start)
		})
	}
}
