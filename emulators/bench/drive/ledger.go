package drive

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// sample is one message on its way. posted and acknowledged belong to its client, the rest to the ledger until answered is closed.
type sample struct {
	space  string
	posted time.Time // before the stand-in had it
	sent   time.Time // when the webhook was called
	acked  time.Time // zero if the webhook did not take it

	answered chan struct{} // closed with the reply
	replied  time.Time     // when the Chat API had it
	place    int           // among all that was answered, merged messages in the order in which the reply names them
}

func (s *sample) isAnswered() bool {
	select {
	case <-s.answered:
		return true
	default:
		return false
	}
}

// ledger brings replies and messages together.
type ledger struct {
	mu      sync.Mutex
	open    map[string]*sample // by token
	next    int                // number of the next message
	places  int
	replies int
}

func newLedger() *ledger { return &ledger{open: map[string]*sample{}} }

// add takes a new message in and returns its token.
func (l *ledger) add(space string) (string, *sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	name, s := tokenOf(l.next), &sample{space: space, answered: make(chan struct{})}
	l.open[name] = s
	return name, s
}

// reply takes a reply's text: each message that it names for the first time is answered.
func (l *ledger) reply(space, text string, at time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	news := false
	for _, name := range token.FindAllString(text, -1) {
		s, ok := l.open[name]
		if !ok {
			continue // answered already: one of a conversation's earlier messages
		}
		if s.space != space {
			return fmt.Errorf("message %s of %s was answered in %s", name, s.space, space)
		}
		delete(l.open, name)
		s.replied, s.place = at, l.places
		l.places++
		news = true
		close(s.answered)
	}
	if news {
		l.replies++
	}
	return nil
}

// answeredTurns is how many replies answered something.
func (l *ledger) answeredTurns() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.replies
}

// reordered counts the messages that were answered after one of the same space that was posted only once they were acknowledged.
func reordered(all []*sample) int {
	bySpace := map[string][]*sample{}
	for _, s := range all {
		if s.isAnswered() && !s.acked.IsZero() {
			bySpace[s.space] = append(bySpace[s.space], s)
		}
	}
	late := 0
	for _, samples := range bySpace {
		late += lateIn(samples)
	}
	return late
}

// lateIn counts in one space. Going back from the last posted, it keeps the first place that any message has which was posted so late.
func lateIn(samples []*sample) int {
	posted := slices.Clone(samples)
	slices.SortFunc(posted, func(a, b *sample) int { return b.posted.Compare(a.posted) })
	acked := slices.Clone(samples)
	slices.SortFunc(acked, func(a, b *sample) int { return b.acked.Compare(a.acked) })
	late, i, first := 0, 0, -1
	for _, s := range acked {
		for ; i < len(posted) && posted[i].posted.After(s.acked); i++ {
			if first < 0 || posted[i].place < first {
				first = posted[i].place
			}
		}
		if first >= 0 && first < s.place {
			late++
		}
	}
	return late
}
