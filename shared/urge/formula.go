package urge

import (
	"math"
	"time"
)

// The times of the formula. docs/activity.md gives the reason of each.
const (
	window        = 90 * time.Second // of messages that count
	maxEntries    = 90               // messages kept of it
	momentumSpan  = 30 * time.Second
	instantSpan   = 20 * time.Second
	minMessages   = 6               // in the window, below which only a cue makes an urge
	smoothing     = 8 * time.Second // time constant of the smoothed urge
	gap           = 30 * time.Second
	memory        = 10 * time.Minute // of own utterances and of the raised threshold
	utterance     = 5 * time.Second  // own messages closer than this are one utterance
	maxOwn        = 10               // own utterances in memory that tire fully
	recencyDecay  = 60 * time.Second
	recencyWeight = 0.8
	volumeWeight  = 0.5
	liftStep      = 0.10 // of the way from the base to 1, for each utterance
	maxLift       = 0.50
)

// perMinute is how many times the window holds a minute: 1.5.
var perMinute = window.Minutes()

// frequency weighs how fast the room talks, by counts of the last 90 s and the last 20 s.
func frequency(n90, n20 int) float64 {
	return 0.65*sigmoid((float64(n90)/perMinute-10)/3) + 0.35*sigmoid((3*float64(n20)-9)/2)
}

// momentum weighs whether the last 30 s were faster than the last 90 s.
func momentum(n90, n30 int) float64 {
	return clamp((2*float64(n30) - float64(n90)/perMinute) / 8)
}

// entropy is the Shannon entropy of who wrote how often, over that of as many senders (at least two) who write equally often.
// Counts are in the order of first appearance, because a sum of floats depends on the order.
func entropy(counts []int) float64 {
	total := 0
	for _, n := range counts {
		total += n
	}
	h := 0.0
	for _, n := range counts {
		p := float64(n) / float64(total)
		h -= p * math.Log(p)
	}
	return clamp(h / math.Log(float64(max(2, len(counts)))))
}

// fatigue grows with the number of own utterances in ten minutes and fades with the time since the last of them. At most 0.9.
func fatigue(utterances int, sinceLast time.Duration) float64 {
	if utterances == 0 {
		return 0
	}
	recency := recencyWeight * math.Exp(-max(0, sinceLast.Seconds())/recencyDecay.Seconds())
	volume := volumeWeight * min(1, float64(utterances)/maxOwn)
	return 1 - (1-recency)*(1-volume)
}

// combine is the urge before it is smoothed.
func combine(frequency, entropy, cue, momentum, fatigue float64) float64 {
	return clamp((0.45*frequency + 0.20*entropy + 0.20*cue + 0.15*momentum) * (1 - fatigue))
}

// smooth moves from the previous value to the target as a low-pass of the first order does within elapsed.
func smooth(previous, target float64, elapsed time.Duration) float64 {
	return previous + (target-previous)*(1-math.Exp(-elapsed.Seconds()/smoothing.Seconds()))
}

// relaxed is what is left of a lift after a while: it falls in a line and is gone after ten minutes, exactly.
func relaxed(lift float64, after time.Duration) float64 {
	return lift * clamp(1-after.Seconds()/memory.Seconds())
}

// raise puts a threshold part of the way from its base to 1. A base that is not a number is 1: nothing reaches it.
func raise(base, lift float64) float64 {
	if !(base < 1) {
		return 1
	}
	base = clamp(base)
	return base + (1-base)*lift
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// clamp puts x between 0 and 1; what is not a number is 0.
func clamp(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, 1)
}
