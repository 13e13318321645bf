package session_test

import (
	"strconv"

	"kesoku.dev/shared/session"
)

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
	if w.s.Turn.Recoveries >= session.MaxRecoveries && !w.patient {
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
