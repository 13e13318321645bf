package route_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kesoku.dev/shared/route"
)

var start = time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

// P6: the cooldown runs from the last wake, and a wake that arrives late does not turn it back.
func TestCooling(t *testing.T) {
	t.Parallel()
	var s route.State
	if s.Cooling(at(0), time.Minute) {
		t.Error("cooling before the first wake")
	}
	s.Woke(at(10))
	s.Woke(at(5))
	for _, tt := range []struct {
		seconds  float64
		cooldown time.Duration
		want     bool
	}{{10, 0, false}, {11, time.Minute, true}, {69.9, time.Minute, true}, {70, time.Minute, false}} {
		if got := s.Cooling(at(tt.seconds), tt.cooldown); got != tt.want {
			t.Errorf("at %v with %v: %v", tt.seconds, tt.cooldown, got)
		}
	}
}

// case B25: two bots that answer each other stop at the fourth message of a minute, our replies counted, and stay apart for a while; each pair
// has a window of its own.
func TestLoop(t *testing.T) {
	t.Parallel()
	var s route.State
	var answered []int
	for i := range 42 {
		now := at(float64(i))
		if s.Looping("users/bot", now) {
			continue
		}
		s.Replied("users/bot", now)
		answered = append(answered, i)
	}
	if fmt.Sprint(answered) != "[0 1]" {
		t.Errorf("answered %v of 42 messages, want the first two", answered)
	}
	if s.Looping("users/other", at(42)) {
		t.Error("another bot is not answered")
	}
	if !s.Looping("users/bot", at(200)) || s.Looping("users/bot", at(800)) {
		t.Error("it is not answered again after the pause, or too early")
	}
}

// case B25: who writes once in a while is always answered.
func TestSlowPeer(t *testing.T) {
	t.Parallel()
	var s route.State
	for i := range 20 {
		now := at(float64(i) * 31)
		if s.Looping("b", now) {
			t.Fatalf("message %d is taken for a loop", i)
		}
		s.Replied("b", now)
	}
}

// P8: the day's budget, the interval and the number of open questions bound what is asked, whoever asks.
func TestJudgeBudget(t *testing.T) {
	t.Parallel()
	l := route.Limits{DailyBudget: 3, MinInterval: 10 * time.Second, Concurrency: 2}
	for _, tt := range []struct {
		name  string
		asks  []float64 // seconds
		lasts float64   // of an unanswered question
		want  string
	}{
		{"interval", []float64{0, 9, 10, 19, 20}, 5, "[true false true false true]"},
		{"budget, and the next day's", []float64{0, 10, 20, 30, 86400 * 2}, 5, "[true true true false true]"},
		{"open questions", []float64{0, 10, 20, 31}, 30, "[true true false true]"},
	} {
		var j route.Judge
		var got []bool
		for _, s := range tt.asks {
			got = append(got, j.Ask(at(s), at(s+tt.lasts), l))
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.want)
		}
	}
	var j route.Judge
	j.Ask(at(0), at(30), l)
	j.Ask(at(10), at(40), l)
	j.Answered(at(30))
	if !j.Ask(at(20), at(50), l) {
		t.Error("an answered question still counts as open")
	}
}

// What is remembered of other bots is bounded.
func TestBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s route.State
		now := 0.0
		for range rapid.IntRange(0, 200).Draw(t, "n") {
			now += rapid.Float64Range(-5, 90).Draw(t, "step")
			id := fmt.Sprint("users/", rapid.IntRange(0, 40).Draw(t, "id"))
			if rapid.Bool().Draw(t, "ours") {
				s.Replied(id, at(now))
			} else {
				s.Looping(id, at(now))
			}
		}
		if len(s.Peers) > 16 {
			t.Fatalf("%d peers", len(s.Peers))
		}
		for _, p := range s.Peers {
			if len(p.Seen) > 64 {
				t.Fatalf("%d times of one peer", len(p.Seen))
			}
		}
	})
}
