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

// The protocol of the send lease, searched completely: a reply, a prompt and another reply are stored at any moment, two handlers
// drain the outbox, and again everything crashes, expires and comes twice. A platform that is sent a message twice under one key shows
// it once, so what must hold is: in order, nothing left out, nothing stranded.

// stored is what the session gets, by seq less one: true is to be sent.
var stored = [3]bool{true, false, true}

const (
	sendIdle op = iota
	sendClaim
	sendOut
	sendMark
	sendRelease
	sendAck
	sendNack
)

var sendNames = [...]string{"idle", "claims", "sends", "marks", "releases", "acks", "nacks"}

// sender is one run of the deliver function.
type sender struct {
	op     op
	event  int
	holder string
	epoch  int64
	cursor int64 // seq of the last message dealt with, as it knows
}

type outward struct {
	s       session.Session
	stored  int
	told    [3]bool
	wakes   [3]wake
	workers [2]sender
	sent    [3]bool // stands on the platform
	runs    int
	extra   int
	broken  error
}

func (w *outward) fail(format string, args ...any) {
	w.broken = errors.Join(w.broken, fmt.Errorf(format, args...))
}

func (w outward) moves(duplicates int) []move[outward] {
	var out []move[outward]
	add := func(fault bool, who int, name string, change func(*outward)) {
		next := w
		next.s = w.s.Clone()
		change(&next)
		out = append(out, move[outward]{who: who, name: name, to: next, fault: fault})
	}
	if w.stored < len(stored) {
		add(false, w.stored, "is stored", func(w *outward) { w.store() })
	}
	for i := range w.stored {
		if !w.told[i] {
			add(false, i, "is told about", func(w *outward) { w.told[i], w.wakes[i] = true, wake{published: true} })
		}
	}
	if w.s.SendLease.Live(now) {
		add(false, 0, "the lease ends", func(w *outward) { w.s.SendLease.Until = now })
	}
	started := false
	for i, h := range w.workers {
		switch {
		case h.op != sendIdle:
			add(true, i, "crashes", func(w *outward) { w.workers[i] = sender{} })
			add(false, i, sendNames[h.op], func(w *outward) { w.work(i) })
		case !started:
			started = true
			for e, k := range w.wakes {
				extra := k.acked || slices.ContainsFunc(w.workers[:], func(h sender) bool { return h.op != sendIdle && h.event == e })
				if !k.published || extra && w.extra >= duplicates {
					continue
				}
				add(extra, i, "gets wake-up "+strconv.Itoa(e), func(w *outward) {
					w.runs++
					if extra {
						w.extra++
					}
					w.workers[i] = sender{op: sendClaim, event: e, holder: strconv.Itoa(w.runs)}
				})
			}
		}
	}
	return out
}

func (w *outward) store() {
	if stored[w.stored] {
		w.s.NextSeq()
	} else {
		w.s.Receive(session.Ref{Key: strconv.Itoa(w.stored), When: session.WhenQuiet}, 0)
		w.told[w.stored] = true
	}
	w.stored++
	w.s.Seal("x", now)
}

func (w *outward) work(i int) {
	h := &w.workers[i]
	mine := w.s.SendLease.Holds(h.holder, h.epoch)
	switch h.op {
	case sendClaim:
		w.claim(h)
	case sendOut: // needs no lease: it is on its way to the platform
		if h.cursor > 0 && stored[h.cursor-1] && !w.sent[h.cursor-1] {
			w.fail("message %d is sent before message %d", h.cursor, h.cursor-1)
		}
		w.sent[h.cursor] = w.sent[h.cursor] || stored[h.cursor]
		h.op = sendMark
	case sendMark, sendRelease:
		switch {
		case !mine:
			h.op = sendAck
		case h.op == sendMark:
			if w.s.Outbox.Cursor != h.cursor {
				w.fail("%s marks message %d, but the cursor stands at %d", h.holder, h.cursor, w.s.Outbox.Cursor)
			}
			w.s.Outbox.Cursor++
			w.next(h)
		case w.s.ReleaseSend():
			h.op = sendAck
		default:
			w.next(h)
		}
		w.s.Seal("x", now)
	case sendAck, sendNack:
		w.wakes[h.event].acked = w.wakes[h.event].acked || h.op == sendAck
		*h = sender{}
	}
}

func (w *outward) claim(h *sender) {
	c := w.s.Clone()
	switch c.ClaimSend(session.Claimant{Holder: h.holder, EventID: strconv.Itoa(h.event)}, now) {
	case session.VerdictIdle, session.VerdictBusy:
		h.op = sendAck
	case session.VerdictComeBack:
		h.op = sendNack
	case session.VerdictClaimed:
		if c.SendLease.Epoch == w.s.SendLease.Epoch {
			w.fail("%s claims under epoch %d again", h.holder, c.SendLease.Epoch)
		}
		w.s, h.epoch = c, c.SendLease.Epoch
		w.s.Seal("x", now)
		w.next(h)
	}
}

// next is what a holder sees that looks at the outbox.
func (w *outward) next(h *sender) {
	h.op, h.cursor = sendRelease, w.s.Outbox.Cursor
	if h.cursor < w.s.Seq {
		h.op = sendOut
	}
}

func (w outward) check(duplicates int) error {
	for i := range w.s.Outbox.Cursor {
		if stored[i] && !w.sent[i] {
			w.fail("message %d is dealt with and was never sent", i)
		}
	}
	if (w.s.WakeAt != nil) != w.s.SendWork() {
		w.fail("the sweep comes at %v, though work = %v", w.s.WakeAt, w.s.SendWork())
	}
	if w.quiet() && w.s.SendWork() && duplicates == 0 {
		w.fail("stranded: there is something to send, and nobody comes")
	}
	return w.broken
}

func (w outward) quiet() bool {
	for i := range w.stored {
		if !w.told[i] || w.wakes[i].published && !w.wakes[i].acked {
			return false
		}
	}
	return w.workers == [2]sender{}
}

func (w outward) done() bool { return w.stored == len(stored) && w.quiet() }

type outwardKey struct {
	owner, event string
	live         bool
	stored       int
	cursor       int64
	told, sent   [3]bool
	wakes        [3]wake
	workers      [2]sender
	extra        int
}

func (w outward) key() outwardKey {
	l := w.s.SendLease
	k := outwardKey{event: l.EventID, live: l.Live(now), stored: w.stored, cursor: w.s.Outbox.Cursor, told: w.told, sent: w.sent,
		wakes: w.wakes, extra: w.extra}
	if l.Holder != "" {
		k.owner = "gone"
	}
	for i, h := range w.workers {
		if h.op != sendIdle {
			if h.holder == l.Holder {
				k.owner = "here"
			}
			h.holder = strconv.FormatBool(l.Holds(h.holder, h.epoch))
			h.epoch = 0
		}
		k.workers[i] = h
	}
	slices.SortFunc(k.workers[:], func(a, b sender) int {
		return cmp.Or(cmp.Compare(a.op, b.op), cmp.Compare(a.event, b.event), cmp.Compare(a.holder, b.holder), cmp.Compare(a.cursor, b.cursor))
	})
	return k
}

// L2, P18; cases B31, B32, B33, B42: what is stored is sent in order and never left behind, whatever happens to who sends it.
func TestSendProtocol(t *testing.T) {
	t.Parallel()
	for _, duplicates := range []int{0, 1} {
		t.Run(strconv.Itoa(duplicates), func(t *testing.T) {
			t.Parallel()
			machine[outward, outwardKey]{
				key: outward.key, done: outward.done,
				moves: func(w outward) []move[outward] { return w.moves(duplicates) },
				check: func(w outward) error { return w.check(duplicates) },
			}.explore(t, outward{s: session.New("s1", "k", "r", "p", "c", false, now)})
		})
	}
}
