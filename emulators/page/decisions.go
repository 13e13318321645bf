package page

import (
	"context"
	"net/http"
	"time"

	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/shared/chat"
)

// Decision is an event with all that was decided on it.
type Decision struct {
	chat.Record
	// Closes is when a message that still waits is taken up if nobody writes; zero for one that need not wait.
	Closes time.Time `json:"closes,omitzero"`
}

// decisionsView are the last events of a space, or why they cannot be read.
type decisionsView struct {
	Space     string     `json:"space"`
	Decisions []Decision `json:"decisions"`
	Error     string     `json:"error,omitempty"`
}

// followDecisions sends what was decided in a space as it changes.
func (p *page) followDecisions(ctx context.Context, space string, out chan<- decisionsView) {
	for list, err := range p.records.Decisions(ctx, space) {
		v := decisionsView{Space: space, Decisions: list}
		if err != nil {
			v.Error = err.Error()
		}
		put(ctx, out, v)
	}
}

// Rules are ready-made configurations that the page offers to try.
type Rules interface {
	// Rules tells which there are, and which one is published.
	Rules(ctx context.Context) (RuleSet, error)
	// Publish publishes the one of that name over the revision that the person has seen. A revision that is not the current one, or a name
	// that there is not, is a *wire.Error.
	Publish(ctx context.Context, name string, revision int64) (RuleSet, error)
}

// RuleSet is what can be published, and what is.
type RuleSet struct {
	Revision int64 `json:"revision"`
	// Active is the name of the published choice; empty if somebody published something else.
	Active  string       `json:"active"`
	Choices []RuleChoice `json:"choices"`
}

// RuleChoice is one configuration, for people.
type RuleChoice struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Says  string `json:"says"` // what it does, in a sentence
}

var errNoRules = wire.Errorf(http.StatusNotFound, "there are no rules to choose from")

func (p *page) listRules(r *http.Request, _ *struct{}) (any, error) {
	if p.rules == nil {
		return nil, errNoRules
	}
	return p.rules.Rules(r.Context())
}

type publishRequest struct {
	Name     string `json:"name"`
	Revision int64  `json:"revision"`
}

func (p *page) publishRules(r *http.Request, in *publishRequest) (any, error) {
	if p.rules == nil {
		return nil, errNoRules
	}
	return p.rules.Publish(r.Context(), in.Name, in.Revision)
}
