package bench

import (
	"cmp"
	"math"
	"slices"
	"time"

	"kesoku.dev/emulators/bench/drive"
	"kesoku.dev/emulators/bench/meter"
)

// Result is what one profile showed. Times are in milliseconds.
type Result struct {
	Profile  string  `json:"profile"`
	Model    float64 `json:"model_ms"`
	Clients  int     `json:"clients"`
	Spaces   int     `json:"spaces"`
	Quota    bool    `json:"quota"`    // the stand-in refused more than one write a second in a space
	Messages int     `json:"messages"` // written
	Replies  int     `json:"replies"`  // turns: a reply answers every message that was merged into its prompt
	Seconds  float64 `json:"seconds"`  // from the first message to the last reply
	Rate     float64 `json:"messages_per_second"`

	AckP50     float64 `json:"ack_p50_ms"` // until the webhook has answered
	AckP99     float64 `json:"ack_p99_ms"`
	ReplyP50   float64 `json:"reply_p50_ms"` // until the Chat API has the reply
	ReplyP99   float64 `json:"reply_p99_ms"`
	Refused    int     `json:"refused"` // by the webhook
	Unanswered int     `json:"unanswered"`
	Reordered  int     `json:"reordered"` // answered after one that was posted only once they were acknowledged

	// Documents and wake-ups of all functions together, for each reply; and all calls by name.
	Reads     float64            `json:"reads_per_turn"`
	Writes    float64            `json:"writes_per_turn"`
	Published float64            `json:"publishes_per_turn"`
	Calls     map[string]float64 `json:"calls_per_turn"`

	Memory map[string]int64   `json:"peak_memory_bytes"`  // of each function's process
	CPU    map[string]float64 `json:"cpu_ms_per_message"` // of each function's process, and of the benchmark's own
}

// resultOf computes a profile's result. Memory and processor time are not in it yet.
func resultOf(p Profile, o drive.Outcome, spent meter.Counts) Result {
	r := Result{
		Profile: p.Name, Model: milliseconds(p.Model), Clients: p.Clients, Spaces: p.Spaces, Quota: p.Quota, Messages: o.Messages,
		Replies: o.Turns, Seconds: round2(o.Took.Seconds()), Refused: o.Refused, Unanswered: o.Unanswered, Reordered: o.Reordered,
		AckP50: milliseconds(percentile(o.Acks, 0.50)), AckP99: milliseconds(percentile(o.Acks, 0.99)),
		ReplyP50: milliseconds(percentile(o.Replies, 0.50)), ReplyP99: milliseconds(percentile(o.Replies, 0.99)),
		Calls: map[string]float64{},
	}
	if o.Took > 0 {
		r.Rate = round2(float64(len(o.Replies)) / o.Took.Seconds())
	}
	turns := float64(max(o.Turns, 1))
	r.Reads, r.Writes, r.Published = round2(float64(spent.Reads)/turns), round2(float64(spent.Writes)/turns), round2(float64(spent.Published)/turns)
	for name, n := range spent.Calls {
		r.Calls[name] = round2(float64(n) / turns)
	}
	return r
}

// percentile is the smallest value that is not below the given share of all; 0 of none.
func percentile(all []time.Duration, share float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, cmp.Compare)
	at := int(math.Ceil(share*float64(len(sorted)))) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

func (r Result) memory() int64 {
	var sum int64
	for _, bytes := range r.Memory {
		sum += bytes
	}
	return sum
}

func (r Result) functionCPU() float64 {
	var sum float64
	for name, ms := range r.CPU {
		if name != ourselves {
			sum += ms
		}
	}
	return sum
}

func milliseconds(d time.Duration) float64 { return round2(float64(d) / float64(time.Millisecond)) }

func round2(x float64) float64 { return math.Round(x*100) / 100 }
