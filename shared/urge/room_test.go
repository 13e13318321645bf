package urge

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// busy is a room in which four people wrote once in two seconds, until the 90th.
func busy() *Room {
	r := &Room{}
	for i := range 45 {
		r.Heard(after(float64(2*i)), fmt.Sprint("users/", i%4))
		r.Score(after(float64(2*i)), 0, 0.45)
	}
	return r
}

// P7: two people who write in turn, every two seconds: the urge is none before the sixth message, then rises by its time constant. The
// values are another program's.
func TestRoomGolden(t *testing.T) {
	t.Parallel()
	var r Room
	want := []struct{ raw, urge float64 }{
		{}, {}, {}, {}, {},
		{0.540636411, 0.119588351}, {0.546445181, 0.214008747}, {0.558391394, 0.290185919}, {0.566713772, 0.351353664},
		{0.579937325, 0.401916190}, {0.591518414, 0.443856054}, {0.606724425, 0.479882410},
	}
	for i, w := range want {
		at := after(float64(2 * i))
		r.Heard(at, string("ab"[i%2]))
		s := r.Score(at, 0, 0.45)
		if (i >= minMessages-1 && !near(s.Raw, w.raw)) || !near(s.Urge, w.urge) || s.Threshold != 0.45 || s.N90 != i+1 {
			t.Errorf("message %d: %+v, want %v", i+1, s, w)
		}
	}
}

// P7: fewer than six messages make no urge, unless one of them is a cue.
func TestFewMessages(t *testing.T) {
	t.Parallel()
	var r Room
	for i := range 5 {
		r.Heard(after(float64(i)), fmt.Sprint(i))
	}
	if s := r.Clone().Score(after(5), 0, 0); s.Urge != 0 || s.Raw != 0 || s.Frequency == 0 || s.Reached() {
		t.Errorf("without a cue: %+v", s)
	}
	if s := r.Clone().Score(after(5), 0.3, 0); s.Urge == 0 || !s.Reached() {
		t.Errorf("with a cue: %+v", s)
	}
	r.Heard(after(5), "5")
	if s := r.Score(after(5), 0, 0); s.Urge == 0 {
		t.Errorf("the sixth: %+v", s)
	}
}

// P7: messages leave the windows of 20, 30 and 90 seconds at the end of those.
func TestWindows(t *testing.T) {
	t.Parallel()
	var r Room
	r.Heard(start, "a")
	for _, tt := range []struct {
		at            float64
		n90, n30, n20 int
	}{{0, 1, 1, 1}, {19.999, 1, 1, 1}, {20, 1, 1, 0}, {29.999, 1, 1, 0}, {30, 1, 0, 0}, {89.999, 1, 0, 0}, {90, 0, 0, 0}} {
		s := r.Clone().Score(after(tt.at), 0, 0)
		if s.N90 != tt.n90 || s.N30 != tt.n30 || s.N20 != tt.n20 {
			t.Errorf("after %v s: %+v", tt.at, s)
		}
	}
}

// P7: the threshold moves up with every utterance, to half of the way to 1 at most, and is at its base again ten minutes after the last.
func TestThreshold(t *testing.T) {
	t.Parallel()
	threshold := func(r *Room, at float64) float64 { return r.Clone().Score(after(at), 0, 0.4).Threshold }
	var r Room
	if got := threshold(&r, 0); got != 0.4 {
		t.Errorf("before: %v", got)
	}
	r.Spoke(after(0))
	if got := threshold(&r, 0); !near(got, 0.46) {
		t.Errorf("after one: %v", got)
	}
	if got := threshold(&r, 300); !near(got, 0.43) {
		t.Errorf("five minutes after one: %v", got)
	}
	if got := threshold(&r, 600); got != 0.4 {
		t.Errorf("ten minutes after one: %v", got)
	}
	for i := range 40 {
		r.Spoke(after(float64(300 + 6*i)))
	}
	if got := threshold(&r, 534); !near(got, 0.7) {
		t.Errorf("after many: %v", got)
	}
	if got, base := threshold(&r, 534+600), 0.4; got != base {
		t.Errorf("ten minutes after many: %v", got)
	}
}

// P7: having spoken tires and satisfies: the urge starts at nothing and comes back slowly.
func TestSpokeTires(t *testing.T) {
	t.Parallel()
	fresh, tired := busy(), busy()
	before := fresh.Score(after(90), 0, 0.45)
	tired.Spoke(after(89))
	s := tired.Score(after(90), 0, 0.45)
	if !before.Reached() || s.Reached() || s.Urge > 0.05 || s.Fatigue < 0.75 || s.Threshold <= before.Threshold {
		t.Errorf("before %+v, after %+v", before, s)
	}
}

// P7: an answer in parts, or its echo, is one utterance; the last part is what the bot rests from.
func TestUtterance(t *testing.T) {
	t.Parallel()
	var r Room
	for _, at := range []float64{0, 3, 3, 8, 4} {
		r.Spoke(after(at))
	}
	if len(r.Own) != 1 || !r.Own[0].Equal(after(8)) || !near(r.Lift, liftStep) {
		t.Errorf("one utterance: %+v", r)
	}
	r.Spoke(after(13.001))
	if len(r.Own) != 2 {
		t.Errorf("two utterances: %+v", r)
	}
}

// P7: 30 s between claims, whatever became of them, and after the bot's last message.
func TestClaim(t *testing.T) {
	t.Parallel()
	var r Room
	for _, step := range []struct {
		at    float64
		spoke bool
		want  bool
	}{{at: 0, want: true}, {at: 0}, {at: 29.999}, {at: 10}, {at: 30, want: true}, {at: 59}, {at: 60, want: true}, {at: 70, spoke: true}, {at: 95},
		{at: 100, want: true}} {
		if step.spoke {
			r.Spoke(after(step.at))
			continue
		}
		if got := r.Claim(after(step.at)); got != step.want {
			t.Errorf("at %v: %v", step.at, got)
		}
	}
}

// A late message is counted at its place, a very late one begins the room anew, tired.
func TestDisorder(t *testing.T) {
	t.Parallel()
	ordered, shuffled := &Room{}, &Room{}
	for _, i := range []int{0, 1, 2, 3, 4, 5, 6, 7} {
		ordered.Heard(after(float64(i)), fmt.Sprint(i%3))
	}
	for _, i := range []int{3, 0, 7, 1, 2, 6, 4, 5} {
		shuffled.Heard(after(float64(i)), fmt.Sprint(i%3))
	}
	if !reflect.DeepEqual(ordered, shuffled) {
		t.Errorf("%+v\n%+v", ordered, shuffled)
	}
	r := busy()
	r.Heard(start.AddDate(1, 0, 0), "a clock that is wrong")
	r.Heard(after(100), "a")
	s := r.Score(after(100), 0, 0.45)
	if s.N90 != 1 || s.Fatigue < 0.8 || r.Claim(after(129)) || !r.Claim(after(130)) {
		t.Errorf("%+v, %+v", s, r)
	}
}

// what can happen to a room.
type happening struct {
	kind, sender int
	at           time.Time
	cue          float64
}

func happenings(t *rapid.T) []happening {
	now := start
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) happening {
		// Mostly forwards by less than three seconds, now and then far, or back.
		now = now.Add(time.Duration(rapid.OneOf(rapid.Int64Range(0, 3e9), rapid.Int64Range(0, 3e9), rapid.Int64Range(-2e12, 2e12)).Draw(t, "step")))
		return happening{
			kind: rapid.IntRange(0, 9).Draw(t, "kind"), sender: rapid.IntRange(0, 5).Draw(t, "sender"), at: now,
			cue: rapid.Float64().Draw(t, "cue"),
		}
	}), 0, 300).Draw(t, "happenings")
}

func (h happening) to(r *Room) (Reading, bool) {
	switch h.kind {
	case 0:
		r.Spoke(h.at)
		return Reading{}, false
	case 1:
		return Reading{}, r.Claim(h.at)
	default:
		r.Heard(h.at, fmt.Sprint("users/", h.sender))
		return r.Score(h.at, h.cue, 0.45), false
	}
}

// P7: whatever happens in whatever order, the state is bounded, readings are between 0 and 1, the threshold is never below its base, the
// state survives being stored, and equal rooms decide alike.
func TestRoomProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, stored := &Room{}, &Room{}
		for _, h := range happenings(t) {
			other := r.Clone()
			s, claimed := h.to(r)
			if s2, c2 := h.to(stored); s2 != s || c2 != claimed {
				t.Fatalf("stored rooms differ: %+v and %+v", s, s2)
			}
			if s2, c2 := h.to(other); s2 != s || c2 != claimed || !reflect.DeepEqual(r, other) {
				t.Fatalf("a clone differs: %+v and %+v", s, s2)
			}
			for _, v := range []float64{s.Frequency, s.Entropy, s.Cue, s.Momentum, s.Fatigue, s.Raw, s.Urge, s.Threshold, r.Smoothed, r.Lift} {
				if math.IsNaN(v) || v < 0 || v > 1 {
					t.Fatalf("out of bounds: %+v", s)
				}
			}
			if h.kind > 1 && s.Threshold < 0.45 {
				t.Fatalf("below the base: %+v", s)
			}
			doc, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Messages) > 90 || len(r.Own) > maxOwn || len(doc) > 8<<10 {
				t.Fatalf("%d messages, %d own, %d bytes", len(r.Messages), len(r.Own), len(doc))
			}
			stored = &Room{}
			if err := json.Unmarshal(doc, stored); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// P7: more than 90 messages in 90 s keep the newest 90, below 8 KB.
func TestFlood(t *testing.T) {
	t.Parallel()
	var r Room
	for i := range 1000 {
		r.Heard(after(float64(i)/100+0.123456), fmt.Sprint(i))
	}
	for i := range 100 {
		r.Spoke(after(10 + float64(6*i)/7))
	}
	if doc, err := json.Marshal(&r); err != nil || len(doc) > 8<<10 {
		t.Errorf("%d bytes, %v", len(doc), err)
	}
	if len(r.Messages) != 90 || !r.Messages[89].At.Equal(after(9.99+0.123456)) || r.Messages[0].Who == "910" || len(r.Messages[0].Who) != 8 {
		t.Errorf("%d messages, %+v to %+v", len(r.Messages), r.Messages[0], r.Messages[len(r.Messages)-1])
	}
}

// P7: the same talk with a stronger cue never has less of an urge, nor more if the bot spoke before.
func TestRoomMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := &Room{}
		at := start
		for range rapid.IntRange(0, 60).Draw(t, "messages") {
			at = at.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
			r.Heard(at, fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "sender")))
			r.Score(at, 0, 0.45)
		}
		at = at.Add(time.Second)
		weak := rapid.Float64Range(0, 1).Draw(t, "weak")
		plain := r.Clone().Score(at, weak, 0.45)
		if strong := r.Clone().Score(at, rapid.Float64Range(weak, 1).Draw(t, "strong"), 0.45); strong.Urge < plain.Urge {
			t.Fatalf("%+v, then %+v", plain, strong)
		}
		r.Spoke(at)
		if tired := r.Score(at, weak, 0.45); tired.Urge > plain.Urge || tired.Threshold < plain.Threshold {
			t.Fatalf("%+v, then %+v", plain, tired)
		}
	})
}
