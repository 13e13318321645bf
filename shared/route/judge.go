package route

import "time"

// Judge counts the questions put to the judge on a route.
type Judge struct {
	Day    string    `json:"day" firestore:"day"` // of UTC, as in 2006-01-02
	Spent  int       `json:"spent" firestore:"spent"`
	LastAt time.Time `json:"last_at" firestore:"last_at"`
	// Asked holds when each question that may still be unanswered is given up.
	Asked []time.Time `json:"asked" firestore:"asked"`
}

// Limits bound the questions of a route.
type Limits struct {
	DailyBudget int
	MinInterval time.Duration
	Concurrency int
}

// May reports whether a question may be put: the day's budget is not spent, the last question is long enough ago and not too many are open.
func (j *Judge) May(now time.Time, l Limits) bool {
	return j.spentOn(today(now)) < l.DailyBudget && len(j.open(now)) < l.Concurrency && (j.LastAt.IsZero() || now.Sub(j.LastAt) >= l.MinInterval)
}

// Ask takes one question from the budget, if there may be one. It counts as open until then, or until Answered.
func (j *Judge) Ask(now, until time.Time, l Limits) bool {
	if !j.May(now, l) {
		return false
	}
	day := today(now)
	j.Spent, j.Asked = j.spentOn(day)+1, append(j.open(now), until)
	j.Day, j.LastAt = day, now
	return true
}

func today(now time.Time) string { return now.UTC().Format(time.DateOnly) }

func (j *Judge) spentOn(day string) int {
	if j.Day != day {
		return 0
	}
	return j.Spent
}

// Answered closes the question that was to be given up at until.
func (j *Judge) Answered(until time.Time) {
	for i, at := range j.Asked {
		if at.Equal(until) {
			j.Asked = append(j.Asked[:i:i], j.Asked[i+1:]...)
			return
		}
	}
}

func (j *Judge) open(now time.Time) []time.Time {
	var open []time.Time
	for _, until := range j.Asked {
		if now.Before(until) {
			open = append(open, until)
		}
	}
	return open
}
