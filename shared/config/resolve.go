package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config/routing"
	"kesoku.dev/shared/config/settings"
)

// Facts are what the rules' predicates look at.
type Facts = routing.Facts

// Predicates are custom ones, by the id under which filters name them.
type Predicates = routing.Predicates

// FactsOf are the facts of an event. Who the app itself is and the guild are not among what an event tells.
func FactsOf(e *chat.Event) Facts {
	return Facts{
		Platform: e.Platform, Channel: e.ChannelID, Thread: e.ThreadID, User: e.Sender.ID, Direct: e.Direct,
		AtMe: e.AtMe, QuoteMe: e.QuoteMe, Text: e.Text,
	}
}

// Resolved is what the rules come to for some facts. It may be shared: nobody changes what it holds.
type Resolved struct {
	Route  Route // the namespace chat; its models are names, not roles
	Censor Censor
	Render Render
	Rules  []string // ids of the rules that hold, in their order: global first, later ones win
	// Sources tells which rule gave a setting, by the setting's dot path; the defaults give what is not in it.
	Sources map[string]string
	// Suppressed are values that a rule gives and an earlier one's lock keeps out.
	Suppressed []routing.Suppressed
	// Diagnostics tell what an operator should mend: rules that cannot hold, settings that do not go together and what is done instead.
	Diagnostics []routing.Diagnostic
	// Cacheable is true if no rule looks at content: the same place and person resolve the same whatever they say.
	Cacheable bool
}

// maxKept bounds how many sets of rules a configuration keeps the values of.
const maxKept = 512

// Resolve returns the effective settings for the facts. Whether a rule holds is decided anew each time; what the same rules come to is kept.
func (c *Config) Resolve(f Facts) Resolved {
	hold := c.set.Match(f)
	ids := make([]string, len(hold))
	for i, r := range hold {
		ids[i] = r.ID
	}
	key := strings.Join(ids, " ") // which no id holds
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, known := c.kept[key]; known {
		return r
	}
	r := c.merge(hold)
	r.Rules = ids
	if len(c.kept) >= maxKept {
		clear(c.kept)
	}
	c.kept[key] = r
	return r
}

func (c *Config) merge(hold []routing.Rule) Resolved {
	m := routing.Merge(hold)
	s := settings.Defaults()
	for path, id := range m.Sources {
		s.Take(path, &c.rules[id].values)
	}
	r := Resolved{Sources: m.Sources, Suppressed: m.Suppressed, Diagnostics: slices.Clone(c.set.Diagnostics()), Cacheable: !c.set.OfContent()}
	// A rule that clashes by itself or with the global one is refused by Parse; rules that clash only with each other are met here.
	for _, clash := range s.Chat.Settle(c.checkModel) {
		r.Diagnostics = append(r.Diagnostics, routing.Diagnostic{Says: clash.Path + ": " + clash.Says + "; " + clash.Instead})
	}
	for _, name := range []*string{&s.Chat.Model, &s.Chat.Activation.Judge.Model} {
		if model, err := c.Model(*name); err == nil { // Parse has seen to every role that is used
			*name = model
		}
	}
	r.Route, r.Censor, r.Render = s.Chat, s.Censor, s.Render
	return r
}

// Route returns the settings of a route where nothing else is known: no person, no content.
func (c *Config) Route(routeID string) Route {
	platform, channel, _ := strings.Cut(routeID, ":")
	return c.Resolve(Facts{Platform: platform, Channel: channel}).Route
}

// Model returns the model of that name, or of the role that a name beginning with @ stands for.
func (c *Config) Model(name string) (string, error) {
	role, isRole := strings.CutPrefix(name, "@")
	if !isRole {
		return name, nil
	}
	if model, ok := c.models[role]; ok {
		return model, nil
	}
	known := "models is empty; write models: {" + role + ": provider:model}"
	if len(c.models) > 0 {
		known = "models has " + strings.Join(slices.Sorted(maps.Keys(c.models)), ", ")
	}
	return "", fmt.Errorf("%.60q: no model has this role: %s", name, known)
}

// Models returns the names of all models that may be called, by the field of kesoku.yaml that says so.
func (c *Config) Models() map[string]string {
	all := map[string]string{"chat.model": c.Defaults.Model}
	for role, name := range c.models {
		all["models."+role] = name
	}
	for _, r := range c.rules {
		written := routing.Merge([]routing.Rule{r.Rule}).Sources
		for path, name := range map[string]string{"chat.model": r.values.Chat.Model, "chat.activation.judge.model": r.values.Chat.Activation.Judge.Model} {
			if _, ok := written[path]; ok && !strings.HasPrefix(name, "@") {
				all[r.field+path] = name
			}
		}
	}
	return all
}

// Field names the field of kesoku.yaml in which a rule writes the setting at a path, for Lines.
func (c *Config) Field(rule, path string) string {
	if r, ok := c.rules[rule]; ok {
		return r.field + path
	}
	return path
}
