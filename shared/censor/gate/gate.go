// Package gate is how executors use package censor: it compiles a route's rules once, has a matcher's and every rule's hit seen in traces and
// flags in the log, and says what was stopped. It knows no message and no platform; what becomes of a stopped text is its caller's business.
package gate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"go.opentelemetry.io/otel/attribute"

	"kesoku.dev/shared/censor"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/telemetry"
)

// Names of spans and of their attributes.
const (
	spanPrefix   = "censor:" // and the action
	keyRule      = attribute.Key("kesoku.censor.rule")
	keyDirection = attribute.Key("kesoku.censor.direction")
)

// maxSets bounds how many routes' rules an instance keeps compiled.
const maxSets = 64

// Gate judges texts by rules that change. It is safe for concurrent use.
type Gate struct {
	log      *slog.Logger
	matchers []censor.Matcher

	mu   sync.Mutex
	sets map[[sha256.Size]byte]*censor.Censor
}

// New returns a gate with the matchers that run after every route's rules.
func New(log *slog.Logger, matchers ...censor.Matcher) (*Gate, error) {
	if log == nil {
		return nil, errors.New("gate.New: Log is missing")
	}
	if _, err := censor.New(censor.Rules{}, matchers...); err != nil {
		return nil, err
	}
	return &Gate{log: log, matchers: matchers, sets: map[[sha256.Size]byte]*censor.Censor{}}, nil
}

// Rules are a route's settings as package censor takes them.
func Rules(c config.Censor) censor.Rules {
	r := censor.Rules{BlockWords: c.BlockWords, FlagWords: c.FlagWords}
	for _, p := range c.ReplaceRules {
		r.Replace = append(r.Replace, censor.Replace{Pattern: p.Pattern, Replacement: p.Replacement})
	}
	return r
}

// Check judges a text. Each hit is a span censor:<action>; a hit that flags or blocks is also a warning in the log, which tells the rule and never the
// text. An error is no verdict: the text must not go on. Readings are other forms of the same text, in which only words are looked for.
func (g *Gate) Check(ctx context.Context, rules config.Censor, d censor.Direction, text string, readings ...string) (censor.Result, error) {
	if len(rules.BlockWords)+len(rules.FlagWords)+len(rules.ReplaceRules)+len(g.matchers) == 0 {
		return censor.Result{Text: text}, nil
	}
	c, err := g.compiled(rules)
	if err != nil {
		return censor.Result{}, err
	}
	res, err := c.Check(ctx, d, text, readings...)
	if err != nil {
		return censor.Result{}, err
	}
	for _, h := range res.Hits {
		_, end := telemetry.Start(ctx, spanPrefix+string(h.Action),
			keyRule.String(h.Rule), keyDirection.String(string(d)))
		end(nil)
		if h.Action != censor.ActionReplace {
			g.log.WarnContext(ctx, "censor: "+string(h.Action), "rule", h.Rule, "direction", d)
		}
	}
	return res, nil
}

// compiled returns the rules' censor.
func (g *Gate) compiled(rules config.Censor) (*censor.Censor, error) {
	text, err := json.Marshal(rules)
	if err != nil {
		return nil, fmt.Errorf("name a set of censor rules: %w", err)
	}
	key := sha256.Sum256(text)
	g.mu.Lock()
	defer g.mu.Unlock()
	if c, ok := g.sets[key]; ok {
		return c, nil
	}
	c, err := censor.New(Rules(rules), g.matchers...)
	if err != nil {
		return nil, err
	}
	if len(g.sets) >= maxSets {
		clear(g.sets)
	}
	g.sets[key] = c
	return c, nil
}
