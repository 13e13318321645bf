package drive

import (
	"slices"
	"testing"
	"time"
)

// at is a moment, in milliseconds.
func at(ms int) time.Time { return time.UnixMilli(int64(ms)) }

// done is an answered message.
func done(space string, posted, acked, place int) *sample {
	s := &sample{space: space, posted: at(posted), acked: at(acked), place: place, answered: make(chan struct{})}
	close(s.answered)
	return s
}

func TestReordered(t *testing.T) {
	t.Parallel()
	open := &sample{space: "x", posted: at(0), acked: at(1), answered: make(chan struct{})}
	for name, c := range map[string]struct {
		all  []*sample
		want int
	}{
		"none":                                   {nil, 0},
		"in order":                               {[]*sample{done("x", 0, 1, 0), done("x", 2, 3, 1)}, 0},
		"the other way round":                    {[]*sample{done("x", 0, 1, 1), done("x", 2, 3, 0)}, 1},
		"at the same time, so any order is good": {[]*sample{done("x", 0, 3, 1), done("x", 2, 4, 0)}, 0},
		"of different spaces":                    {[]*sample{done("x", 0, 1, 1), done("y", 2, 3, 0)}, 0},
		"one passes two":                         {[]*sample{done("x", 0, 1, 1), done("x", 2, 3, 2), done("x", 4, 5, 0)}, 2},
		"the last of many":                       {[]*sample{done("x", 0, 1, 0), done("x", 2, 3, 3), done("x", 4, 5, 1), done("x", 6, 7, 2)}, 1},
		"not answered is another count":          {[]*sample{open, done("x", 2, 3, 0)}, 0},
		"not acknowledged promises nothing":      {[]*sample{{space: "x", answered: done("x", 0, 0, 0).answered, place: 1}, done("x", 2, 3, 0)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := reordered(c.all); got != c.want {
				t.Errorf("reordered = %d, want %d", got, c.want)
			}
		})
	}
}

func TestReply(t *testing.T) {
	t.Parallel()
	l := newLedger()
	one, first := l.add("x")
	two, second := l.add("x")
	_, third := l.add("x")
	if err := l.reply("x", "You said "+two+" "+one, at(7)); err != nil {
		t.Fatal(err)
	}
	if err := l.reply("x", "once more: "+one, at(9)); err != nil { // a repetition answers nothing
		t.Fatal(err)
	}
	if !first.isAnswered() || !second.isAnswered() || third.isAnswered() {
		t.Errorf("answered: %v %v %v, want the first two", first.isAnswered(), second.isAnswered(), third.isAnswered())
	}
	if second.place != 0 || first.place != 1 || !first.replied.Equal(at(7)) {
		t.Errorf("places %d and %d at %v, want 1 and 0 at 7 ms", first.place, second.place, first.replied)
	}
	if n := l.answeredTurns(); n != 1 {
		t.Errorf("%d replies, want 1", n)
	}
	name, _ := l.add("x")
	if l.reply("y", name, at(10)) == nil {
		t.Error("a reply in another space was taken")
	}
}

// What was lost or refused is counted.
func TestOutcome(t *testing.T) {
	t.Parallel()
	fast, slow := done("x", 0, 1, 0), done("x", 2, 3, 1)
	fast.sent, fast.acked, fast.replied = at(0), at(10), at(100)
	slow.sent, slow.acked, slow.replied = at(500), at(530), at(1000)
	lost := &sample{space: "x", sent: at(600), acked: at(610), answered: make(chan struct{})}
	refused := &sample{space: "x", sent: at(600), answered: make(chan struct{})}
	o := outcomeOf([]*sample{fast, slow, lost, refused}, 2)
	if o.Messages != 4 || o.Turns != 2 || o.Unanswered != 2 || o.Refused != 1 || o.Reordered != 0 || o.Took != time.Second {
		t.Errorf("outcome %+v", o)
	}
	ms := time.Millisecond
	if !slices.Equal(o.Acks, []time.Duration{10 * ms, 30 * ms, 10 * ms}) || !slices.Equal(o.Replies, []time.Duration{100 * ms, 500 * ms}) {
		t.Errorf("times %v and %v", o.Acks, o.Replies)
	}
	if o := outcomeOf([]*sample{lost}, 0); o.Took != 0 || o.Unanswered != 1 {
		t.Errorf("outcome without a reply: %+v", o)
	}
}
