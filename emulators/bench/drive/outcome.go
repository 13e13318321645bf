package drive

import "time"

// Outcome is what became of the messages of one Drive.
type Outcome struct {
	Messages   int // written
	Turns      int // replies that answered something; one answers every message that was merged into its prompt
	Refused    int // by the webhook
	Unanswered int
	Reordered  int // answered after a message of the same space that was posted only once they were acknowledged

	Took    time.Duration   // from the first message to the last reply
	Acks    []time.Duration // until the webhook has answered
	Replies []time.Duration // until the Chat API has the reply
}

func outcomeOf(all []*sample, turns int) Outcome {
	o := Outcome{Messages: len(all), Turns: turns, Reordered: reordered(all)}
	var first, last time.Time
	for _, s := range all {
		if first.IsZero() || s.sent.Before(first) {
			first = s.sent
		}
		if s.acked.IsZero() {
			o.Refused++
		} else {
			o.Acks = append(o.Acks, s.acked.Sub(s.sent))
		}
		if !s.isAnswered() {
			o.Unanswered++
			continue
		}
		o.Replies = append(o.Replies, s.replied.Sub(s.sent))
		if s.replied.After(last) {
			last = s.replied
		}
	}
	o.Took = max(last.Sub(first), 0)
	return o
}
