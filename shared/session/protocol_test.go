package session_test

import (
	"errors"
	"fmt"
	"strings"
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
	runs    int    // names the next run
	last    string // who committed last, and under which epoch
	lastAt  int64
	broken  error
}

// rules are what may happen in one search.
type rules struct {
	when      [2]session.When
	interrupt bool
	// duplicates lets a wake-up be delivered twice at once and again after its ack. Then the sweep is needed, else it must not be.
	duplicates bool
	recall     bool
	checkpoint bool
}

func (w world) clone() world {
	w.s = w.s.Clone()
	return w
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
	add := func(fault bool, name string, change func(*world)) {
		next := w.clone()
		change(&next)
		out = append(out, move[world]{name: name, to: next, fault: fault})
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
			add(true, fmt.Sprintf("%d crashes", i), func(w *world) { w.workers[i] = handler{} })
			r.work(&w, i, add)
		}
	}
	return out
}

type adder func(fault bool, name string, change func(*world))

// outside is all that happens without a handler.
func (r rules) outside(w *world, add adder) {
	for i, p := range w.prompts {
		switch {
		case p.phase == unsent:
			add(false, fmt.Sprintf("prompt %d comes", i), func(w *world) {
				if got := w.s.Receive(session.Ref{Key: fmt.Sprint(i), When: r.when[i]}, 0); got != session.ReceiptAccepted {
					w.fail("prompt %d: %s", i, got)
				}
				w.prompts[i].phase, w.prompts[i].seq = waiting, w.s.Seq
				w.prompts[i].published = r.when[i] == session.WhenQuiet // a quiet message is not told about
				w.swapped()
			})
		case !p.published:
			add(false, fmt.Sprintf("prompt %d is told about", i), func(w *world) {
				w.prompts[i].published = true
				w.wakes[i] = wake{published: true}
			})
		case p.phase == waiting && r.recall:
			add(true, fmt.Sprintf("prompt %d is recalled", i), func(w *world) {
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
		add(false, "the lease ends", func(w *world) { w.s.TurnLease.Until = now })
	}
	if r.duplicates && w.s.WakeAt != nil && !w.s.TurnLease.Live(now) {
		add(false, "the sweep comes", func(w *world) { w.wakes[sweepEvent] = wake{published: true} })
	}
}

func (r rules) deliveries(w *world, i int, add adder) {
	for e, k := range w.wakes {
		inHand := false
		for _, h := range w.workers {
			inHand = inHand || h.op != opNone && h.event == e
		}
		if !k.published || !r.duplicates && (k.acked || inHand) {
			continue
		}
		add(k.acked || inHand, fmt.Sprintf("%d gets wake-up %d", i, e), func(w *world) {
			w.runs++
			w.workers[i] = handler{op: opClaim, event: e, holder: fmt.Sprint("run", w.runs)}
		})
	}
}

// work is the next thing that a handler does: it reads, or it swaps what it decided on its picture, or it talks to Pub/Sub.
func (r rules) work(w *world, i int, add adder) {
	h := w.workers[i]
	name := fmt.Sprintf("%d %s", i, opNames[h.op])
	switch {
	case h.op == opAck:
		add(false, name, func(w *world) { w.wakes[h.event].acked = true; w.workers[i] = handler{} })
	case h.op == opNack:
		add(false, name, func(w *world) { w.workers[i] = handler{} })
	case h.op == opPublish:
		add(false, name, func(w *world) { w.wakes[checkpointEvent] = wake{published: true}; w.workers[i].op = opAck })
	case !h.read:
		add(false, name+": reads", func(w *world) { w.look(i) })
	case h.stale:
		add(false, name+": loses the race", func(w *world) { w.workers[i].read = false })
	default:
		add(false, name+": swaps", func(w *world) { w.commit(i) })
		if r.checkpoint && h.op == opStep {
			add(true, name+": lets go for a while", func(w *world) {
				w.committed(&w.workers[i])
				w.s.Pause(now)
				w.swapped()
				w.workers[i].op, w.workers[i].read = opPublish, false
			})
		}
	}
}

// look reads the session. What is decided without a swap is decided here, on what stands there at this moment.
func (w *world) look(i int) {
	h := &w.workers[i]
	h.read, h.stale = true, false
	if h.op != opClaim {
		if !w.s.TurnLease.Holds(h.holder, h.epoch) {
			h.op = opAck // fenced: stop and write nothing
		}
		return
	}
	s := w.s.Clone()
	switch s.ClaimTurn(session.Claimant{Holder: h.holder, EventID: fmt.Sprint(h.event)}, now) {
	case session.VerdictIdle, session.VerdictBusy:
		h.op = opAck
	case session.VerdictComeBack:
		h.op = opNack
	case session.VerdictClaimed:
	}
}

// committed notes who commits. A run may commit until another has, and never again.
func (w *world) committed(h *handler) {
	if w.last != h.holder && h.epoch <= w.lastAt {
		w.fail("%s commits under epoch %d after %s did under %d", h.holder, h.epoch, w.last, w.lastAt)
	}
	w.last, w.lastAt = h.holder, h.epoch
}

// commit is a swap on a picture that is still true.
func (w *world) commit(i int) {
	h := &w.workers[i]
	if h.op == opClaim {
		w.s.ClaimTurn(session.Claimant{Holder: h.holder, EventID: fmt.Sprint(h.event)}, now)
		h.epoch = w.s.TurnLease.Epoch
	}
	w.committed(h)
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
	if w.quiet() && w.s.TurnWork() && (!r.duplicates || w.s.WakeAt == nil) {
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

// key leaves out what no behaviour depends on: absolute epochs, seqs and names of runs that are over.
func (w world) key() string {
	var b strings.Builder
	name := func(holder string) string {
		for i, h := range w.workers {
			if h.op != opNone && h.holder == holder {
				return fmt.Sprint(i)
			}
		}
		if holder == "" {
			return "-"
		}
		return "x"
	}
	l := w.s.TurnLease
	fmt.Fprintf(&b, "%s%s%v|", name(l.Holder), l.EventID, l.Live(now))
	for _, p := range w.prompts {
		fmt.Fprintf(&b, "%d%d%v", p.phase, p.replies, p.published)
	}
	for _, ref := range w.s.Inbox {
		b.WriteString(ref.Key)
	}
	if t := w.s.Turn; t != nil {
		fmt.Fprintf(&b, "|%d.%d", t.Step, t.Recoveries)
		for _, seq := range t.Prompts {
			for i, p := range w.prompts {
				if p.seq == seq {
					fmt.Fprintf(&b, ",%d", i)
				}
			}
		}
	}
	fmt.Fprintf(&b, "|%v|%s%v", w.wakes, name(w.last), w.lastAt == l.Epoch)
	for _, h := range w.workers {
		fmt.Fprintf(&b, "|%d.%d.%v.%v.%v", h.op, h.event, h.read, h.stale, h.epoch == l.Epoch)
	}
	return b.String()
}

// A1, A2, A7, A8, A12, L1, P16; cases B2, B31, B32, B33, B34, B42, B44: every prompt ends once, whatever happens.
func TestTurnProtocol(t *testing.T) {
	t.Parallel()
	next, at, quiet := session.WhenNext, session.WhenNow, session.WhenQuiet
	tests := map[string]rules{
		"two prompts":              {when: [2]session.When{next, next}},
		"second joins":             {when: [2]session.When{next, at}, checkpoint: true},
		"second is quiet":          {when: [2]session.When{next, quiet}},
		"second interrupts":        {when: [2]session.When{next, next}, interrupt: true},
		"recalled":                 {when: [2]session.When{next, next}, recall: true},
		"redelivered":              {when: [2]session.When{next, next}, duplicates: true},
		"redelivered, joins":       {when: [2]session.When{next, at}, duplicates: true},
		"redelivered, interrupted": {when: [2]session.When{next, next}, duplicates: true, interrupt: true},
	}
	for name, r := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := world{s: session.New("s1", "k", "r", "p", "c", false, now)}
			start.s.Settings.Interrupt = r.interrupt
			machine[world]{key: world.key, moves: r.moves, check: r.check, done: world.done}.explore(t, start)
		})
	}
}
