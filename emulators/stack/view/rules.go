package view

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/goccy/go-yaml"

	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/emulators/page"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/store"
)

//go:embed rules.yaml
var presets string

// preset is a way to behave that can be tried: values of the namespace chat.
type preset struct {
	Name  string         `yaml:"name"`
	Title string         `yaml:"title"`
	Says  string         `yaml:"says"`
	Chat  map[string]any `yaml:"chat"`
}

// choice is a configuration that can be published.
type choice struct {
	page.RuleChoice
	files map[string]string
}

// Rules lets the page publish one of a few configurations.
type Rules struct {
	store   *store.Store
	choices []choice
}

// NewRules returns the configuration that the stack began with, and those of its variants that the functions would take.
func NewRules(s *store.Store, base map[string]string) (*Rules, error) {
	var all []preset
	if err := yaml.UnmarshalWithOptions([]byte(presets), &all, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("read the rules to try: %w", err)
	}
	r := &Rules{store: s, choices: []choice{{files: base, RuleChoice: page.RuleChoice{
		Name: "base", Title: "As configured", Says: "The configuration that this stack was started with.",
	}}}}
	for _, p := range all {
		files, err := p.onTopOf(base)
		if err != nil {
			return nil, err
		}
		if _, err := config.Parse(files); err != nil {
			continue // it needs what this configuration does not have, such as a model that judges
		}
		r.choices = append(r.choices, choice{page.RuleChoice{Name: p.Name, Title: p.Title, Says: p.Says}, files})
	}
	return r, nil
}

// onTopOf adds the preset to a configuration as a rule that always holds.
func (p *preset) onTopOf(base map[string]string) (map[string]string, error) {
	var doc yaml.MapSlice
	if err := yaml.UnmarshalWithOptions([]byte(base[config.FileKesoku]), &doc, yaml.UseOrderedMap()); err != nil {
		return nil, fmt.Errorf("put rule %s on top of %s: %w", p.Name, config.FileKesoku, err)
	}
	rule := map[string]any{
		"id": "try-" + p.Name, "name": p.Title, "by": "local page", "priority": 1000,
		"filter": map[string]any{"kind": "true"}, "values": map[string]any{"chat": p.Chat},
	}
	found := false
	for i := range doc {
		if doc[i].Key == "rules" {
			list, _ := doc[i].Value.([]any) // an empty key is no list, and none is empty
			list = append(list, rule)
			doc[i].Value, found = list, true
		}
	}
	if !found {
		doc = append(doc, yaml.MapItem{Key: "rules", Value: []any{rule}})
	}
	text, err := yaml.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("write rule %s: %w", p.Name, err)
	}
	files := maps.Clone(base)
	if files == nil {
		files = map[string]string{}
	}
	files[config.FileKesoku] = string(text)
	return files, nil
}

// Rules implements page.Rules.
func (r *Rules) Rules(ctx context.Context) (page.RuleSet, error) {
	files, revision, err := r.store.Config(ctx)
	if err != nil {
		return page.RuleSet{}, err
	}
	set := page.RuleSet{Revision: revision}
	for _, c := range r.choices {
		set.Choices = append(set.Choices, c.RuleChoice)
		if set.Active == "" && maps.Equal(c.files, files) {
			set.Active = c.Name
		}
	}
	return set, nil
}

// Publish implements page.Rules.
func (r *Rules) Publish(ctx context.Context, name string, revision int64) (page.RuleSet, error) {
	for _, c := range r.choices {
		if c.Name != name {
			continue
		}
		_, err := r.store.PublishConfig(ctx, c.files, revision)
		if errors.Is(err, errs.ErrConflict) {
			return page.RuleSet{}, wire.Errorf(http.StatusConflict, "somebody else has published rules since: look again, then choose")
		}
		if err != nil {
			return page.RuleSet{}, err
		}
		return r.Rules(ctx)
	}
	return page.RuleSet{}, wire.Errorf(http.StatusNotFound, "there are no rules %.40q", name)
}
