package bridge

import (
	"strconv"
	"testing"
	"time"
)

// A run with the same seed meets the same fates, another seed meets others, and each probability is about what it says.
func TestFate(t *testing.T) {
	t.Parallel()
	const n = 2000
	c := Chaos{Seed: 1, Duplicate: 0.25, Redeliver: 0.5, MaxDelay: time.Second}
	other := c
	other.Seed = 2
	var duplicates, redeliveries, differ int
	var delay time.Duration
	for i := range n {
		f := c.fate(strconv.Itoa(i), 1)
		if f != c.fate(strconv.Itoa(i), 1) {
			t.Fatalf("message %d: two fates", i)
		}
		if f != other.fate(strconv.Itoa(i), 1) {
			differ++
		}
		if f.duplicate {
			duplicates++
		}
		if f.redeliver {
			redeliveries++
		}
		if f.delay < 0 || f.delay >= c.MaxDelay {
			t.Fatalf("delay %v", f.delay)
		}
		delay += f.delay
	}
	if differ < n*9/10 {
		t.Errorf("another seed changed %d of %d fates", differ, n)
	}
	if duplicates < n/5 || duplicates > n*3/10 || redeliveries < n*45/100 || redeliveries > n*55/100 {
		t.Errorf("%d duplicates and %d redeliveries of %d", duplicates, redeliveries, n)
	}
	if mean := delay / n; mean < 450*time.Millisecond || mean > 550*time.Millisecond {
		t.Errorf("mean delay %v, want half of %v", mean, c.MaxDelay)
	}
	if (Chaos{}).fate("1", 1) != (fate{}) {
		t.Error("no chaos, yet something happens")
	}
}
