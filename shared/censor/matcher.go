package censor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Matcher is a check that code registers. It runs after the configured rules, on the text as they left it.
type Matcher struct {
	// Name tells it apart in hits and traces.
	Name string
	// Match returns what it finds, in time linear in the text and within the context's. Its error stops the text without a verdict: it is tried
	// again unless marked permanent. A panic is such an error.
	Match func(ctx context.Context, d Direction, text string) ([]Finding, error)
}

// Finding is one place that a matcher objects to.
type Finding struct {
	Action Action
	Span   Span   // in the text it was given
	With   string // instead of it, for ActionReplace
}

// apply asks the matcher and rewrites what it says.
func (m Matcher) apply(ctx context.Context, d Direction, on mapped) (mapped, []Hit, error) {
	found, err := m.ask(ctx, d, on.text)
	if err != nil {
		return mapped{}, nil, fmt.Errorf("censor matcher %s: %w", m.Name, err)
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	var hits []Hit
	var edits []edit
	seen := map[Action]bool{}
	done := 0
	for _, f := range found {
		if f.Span.Start < 0 || f.Span.Start >= f.Span.End || f.Span.End > len(on.text) {
			return mapped{}, nil, fmt.Errorf("censor matcher %s: finding at %v of %d bytes", m.Name, f.Span, len(on.text))
		}
		switch f.Action {
		case ActionBlock, ActionFlag:
		case ActionReplace:
			if f.Span.Start < done {
				continue // the earlier one has it
			}
			done = f.Span.End
			edits = append(edits, edit{f.Span, f.With})
		default:
			return mapped{}, nil, fmt.Errorf("censor matcher %s: unknown action %q", m.Name, f.Action)
		}
		if !seen[f.Action] {
			seen[f.Action] = true
			hits = append(hits, Hit{f.Action, m.Name, on.span(f.Span)})
		}
	}
	if len(edits) == 0 {
		return on, hits, nil
	}
	next, err := on.replace(edits)
	if err != nil {
		return mapped{}, nil, fmt.Errorf("censor matcher %s: %w", m.Name, err)
	}
	return next, hits, nil
}

func (m Matcher) ask(ctx context.Context, d Direction, text string) (found []Finding, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return m.Match(ctx, d, text)
}
