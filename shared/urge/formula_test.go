package urge

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const tolerance = 1e-9

func near(got, want float64) bool { return math.Abs(got-want) < tolerance }

// P7: the formula at points that were computed by another program.
func TestFormulaGolden(t *testing.T) {
	t.Parallel()
	for _, p := range []struct {
		n90, n30, n20                                 int
		senders                                       []int
		cue                                           float64
		own, since                                    int // utterances; seconds since the last
		frequency, entropy, momentum, fatigue, urging float64
	}{
		{0, 0, 0, nil, 0, 0, 0, 0.026234807, 0.000000000, 0.000000000, 0.000000000, 0.011805663},
		{0, 0, 0, nil, 1, 0, 0, 0.026234807, 0.000000000, 0.000000000, 0.000000000, 0.211805663},
		{6, 6, 6, []int{6}, 0, 0, 0, 0.423636469, 0.000000000, 1.000000000, 0.000000000, 0.340636411},
		{6, 2, 2, []int{2, 2, 2}, 0, 0, 0, 0.141330833, 1.000000000, 0.000000000, 0.000000000, 0.263598875},
		{15, 5, 3, []int{5, 5, 5}, 0, 0, 0, 0.500000000, 1.000000000, 0.000000000, 0.000000000, 0.425000000},
		{15, 15, 10, []int{8, 7}, 0.3, 0, 0, 0.674990363, 0.996791632, 1.000000000, 0.000000000, 0.713103990},
		{30, 10, 7, []int{5, 5, 5, 5, 5, 5}, 0, 0, 0, 0.976745205, 1.000000000, 0.000000000, 0.000000000, 0.639535342},
		{30, 10, 7, []int{5, 5, 5, 5, 5, 5}, 0, 1, 30, 0.976745205, 1.000000000, 0.000000000, 0.510963301, 0.312756252},
		{30, 10, 7, []int{5, 5, 5, 5, 5, 5}, 0, 5, 120, 0.976745205, 1.000000000, 0.000000000, 0.331201170, 0.427720489},
		{90, 90, 90, []int{90}, 1, 0, 0, 0.999999962, 0.000000000, 1.000000000, 0.000000000, 0.799999983},
		{90, 30, 20, []int{45, 45}, 1, 10, 0, 0.999999962, 1.000000000, 0.000000000, 0.900000000, 0.084999998},
		{12, 8, 6, []int{6, 3, 2, 1}, 0.9, 2, 90, 0.566662930, 0.864786979, 1.000000000, 0.260653715, 0.560391741},
	} {
		f, h, m := frequency(p.n90, p.n20), entropy(p.senders), momentum(p.n90, p.n30)
		tired := fatigue(p.own, time.Duration(p.since)*time.Second)
		if !near(f, p.frequency) || !near(h, p.entropy) || !near(m, p.momentum) || !near(tired, p.fatigue) {
			t.Errorf("%+v: F %.9f, H %.9f, M %.9f, fatigue %.9f", p, f, h, m, tired)
		}
		if got := combine(f, h, p.cue, m, tired); !near(got, p.urging) {
			t.Errorf("%+v: urge %.9f", p, got)
		}
	}
}

// P7: every part and the whole stay between 0 and 1.
func TestBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1000)
		unit := rapid.Float64Range(0, 1)
		for name, v := range map[string]float64{
			"frequency": frequency(n.Draw(t, "n90"), n.Draw(t, "n20")),
			"momentum":  momentum(n.Draw(t, "n90"), n.Draw(t, "n30")),
			"entropy":   entropy(rapid.SliceOfN(rapid.IntRange(1, 90), 0, 90).Draw(t, "senders")),
			"fatigue":   fatigue(n.Draw(t, "own"), time.Duration(rapid.Int64().Draw(t, "since"))),
			"combine":   combine(unit.Draw(t, "F"), unit.Draw(t, "H"), unit.Draw(t, "C"), unit.Draw(t, "M"), unit.Draw(t, "fatigue")),
			"raise":     raise(rapid.Float64().Draw(t, "base"), rapid.Float64Range(0, maxLift).Draw(t, "lift")),
			"clamp":     clamp(rapid.Float64().Draw(t, "any")),
		} {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("%s is %v", name, v)
			}
		}
	})
}

// P7: more of a signal is never less of an urge, and more fatigue never more.
func TestMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 90)
		up := func(name string, less, more float64) {
			if less > more {
				t.Fatalf("%s: %v, then %v", name, less, more)
			}
		}
		a, n90, more := n.Draw(t, "a"), n.Draw(t, "n90"), rapid.IntRange(1, 20).Draw(t, "more")
		up("frequency by n90", frequency(n90, a), frequency(n90+more, a))
		up("frequency by n20", frequency(n90, a), frequency(n90, a+more))
		up("momentum by n30", momentum(n90, a), momentum(n90, a+more))
		up("momentum against n90", momentum(n90+more, a), momentum(n90, a))
		up("fatigue by utterances", fatigue(a, time.Minute), fatigue(a+more, time.Minute))
		rested := time.Duration(n.Draw(t, "rested")) * time.Second
		up("fatigue against rest", fatigue(a, rested+time.Second), fatigue(a, rested))

		signals := rapid.SliceOfN(rapid.Float64Range(0, 1), 5, 5).Draw(t, "signals")
		urging := func(s []float64) float64 { return combine(s[0], s[1], s[2], s[3], s[4]) }
		i := rapid.IntRange(0, 4).Draw(t, "signal")
		before, old := urging(signals), signals[i]
		signals[i] = rapid.Float64Range(old, 1).Draw(t, "stronger")
		if after := urging(signals); i == 4 {
			up("urge against fatigue", after, before)
		} else {
			up("urge by a signal", before, after)
		}
	})
}

// P7: the more evenly people take part, the higher the entropy: the same for all is 1, one alone is 0.
func TestEntropy(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		senders, each := rapid.IntRange(2, 30).Draw(t, "senders"), rapid.IntRange(1, 30).Draw(t, "each")
		even := make([]int, senders)
		for i := range even {
			even[i] = each
		}
		if h := entropy(even); !near(h, 1) {
			t.Fatalf("even: %v", h)
		}
		if h := entropy([]int{each}); h != 0 {
			t.Fatalf("alone: %v", h)
		}
		small, big := rapid.IntRange(1, 20).Draw(t, "small"), rapid.IntRange(21, 60).Draw(t, "big")
		if entropy([]int{small, big}) > entropy([]int{small + 1, big - 1})+tolerance {
			t.Fatalf("%d and %d are less even than one nearer to the other", small, big)
		}
	})
}

// P7: smoothing has a time constant of 8 s: after as long, 1-1/e of the way is gone, and none at once.
func TestSmooth(t *testing.T) {
	t.Parallel()
	if got := smooth(0.2, 0.7, 8*time.Second); !near(got, 0.2+0.5*(1-1/math.E)) {
		t.Errorf("after 8 s: %v", got)
	}
	if got := smooth(0.2, 0.7, 0); got != 0.2 {
		t.Errorf("at once: %v", got)
	}
	if got := smooth(0.2, 0.7, math.MaxInt64); got != 0.7 {
		t.Errorf("in the end: %v", got)
	}
}

// A base that is no number, or above 1, is reached by nothing below 1; what is not a number never gets into the state.
func TestNotANumber(t *testing.T) {
	t.Parallel()
	for _, base := range []float64{math.NaN(), math.Inf(1), 2} {
		if got := raise(base, 0.1); got != 1 {
			t.Errorf("base %v: %v", base, got)
		}
	}
	if got := raise(math.Inf(-1), 0); got != 0 {
		t.Errorf("base -Inf: %v", got)
	}
	var r Room
	if s := r.Score(start, math.NaN(), 0.45); s.Cue != 0 || s.Urge != 0 || r.Smoothed != 0 {
		t.Errorf("%+v, %+v", s, r)
	}
}
