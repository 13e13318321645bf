package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"kesoku.dev/shared/config/routing"
	"kesoku.dev/shared/config/settings"
	"kesoku.dev/shared/config/yamlfile"
)

// maxRules bounds the list of rules.
const maxRules = 500

// kesokuFile is kesoku.yaml: the global rule's values and locks, the roles of models, what other systems are told, and the other rules.
type kesokuFile struct {
	Chat   yamlfile.Section  `yaml:"chat"`
	Censor yamlfile.Section  `yaml:"censor"`
	Render yamlfile.Section  `yaml:"render"`
	Models map[string]string `yaml:"models"`
	Locked []string          `yaml:"locked"`
	Rules  []ruleFile        `yaml:"rules"`
	// Lifecycle names the events that are published for other systems.
	Lifecycle []string `yaml:"lifecycle"`
}

// ruleFile is a rule as it is written. Name, revision, updatedAt and by are for people and tools; no decision hangs on them.
type ruleFile struct {
	ID        string     `yaml:"id"`
	Name      string     `yaml:"name"`
	Filter    any        `yaml:"filter"`
	Values    ruleValues `yaml:"values"`
	Enabled   *bool      `yaml:"enabled"`
	Priority  int        `yaml:"priority"`
	Locked    []string   `yaml:"locked"`
	Revision  int64      `yaml:"revision"`
	CreatedAt int64      `yaml:"createdAt"`
	UpdatedAt int64      `yaml:"updatedAt"`
	By        string     `yaml:"by"`
}

type ruleValues struct {
	Chat   yamlfile.Section `yaml:"chat"`
	Censor yamlfile.Section `yaml:"censor"`
	Render yamlfile.Section `yaml:"render"`
}

// rule is a rule with its values read into their types, on top of the defaults.
type rule struct {
	routing.Rule
	field  string // where its values stand: nothing for the global one's, else rules[2].values.
	values settings.Settings
}

func (r *rule) complain(path, format string, args ...any) error {
	text := path + ": " + fmt.Sprintf(format, args...)
	if r.ID != routing.Global {
		text = fmt.Sprintf("rule %.60q: %s", r.ID, text)
	}
	return yamlfile.Complain(FileKesoku, r.field+path, "%s", text)
}

// read reads the values of a rule strictly into their types and, for merging, into mappings.
func (r *rule) read(all ruleValues) error {
	r.values, r.Values = settings.Defaults(), map[string]any{}
	var problems []error
	for _, n := range []struct {
		name    string
		written yamlfile.Section
		typed   any
	}{{"chat", all.Chat, &r.values.Chat}, {"censor", all.Censor, &r.values.Censor}, {"render", all.Render, &r.values.Render}} {
		plain, err := n.written.Into(FileKesoku, n.typed)
		if err != nil {
			problems = append(problems, err)
		} else if plain != nil {
			r.Values[n.name], problems = plain, append(problems, r.leaves(n.name, plain)...)
		}
	}
	if len(problems) > 0 {
		r.values = settings.Defaults() // half of it would be complained about for what the other half says
	}
	return errors.Join(problems...)
}

// leaves complains about settings without a value.
func (r *rule) leaves(prefix string, values map[string]any) (problems []error) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		path := prefix + "." + key
		below, isSection := values[key].(map[string]any)
		switch _, known := r.values.At(path); {
		case !known:
			problems = append(problems, r.complain(path, "there is no such setting"))
		case values[key] == nil:
			problems = append(problems, r.complain(path, "write a value, or leave the key out"))
		case isSection:
			problems = append(problems, r.leaves(path, below)...)
		}
	}
	return problems
}

// ruleID keeps ids fit for commands and logs.
var ruleID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// readRules reads the global rule and the others, in the order of the file.
func readRules(file *kesokuFile) (all []*rule, err error) {
	global := &rule{Rule: routing.Rule{ID: routing.Global, Locked: file.Locked}}
	problems := []error{global.read(ruleValues{Chat: file.Chat, Censor: file.Censor, Render: file.Render}), global.checkLocks("locked")}
	all = append(all, global)
	if len(file.Rules) > maxRules {
		return all, errors.Join(append(problems, yamlfile.Complain(FileKesoku, "rules", "rules: %d are too many, at most %d are allowed", len(file.Rules), maxRules))...)
	}
	seen := map[string]bool{routing.Global: true}
	for i, w := range file.Rules {
		at := fmt.Sprintf("rules[%d].", i)
		if !ruleID.MatchString(w.ID) || w.ID == routing.Global {
			problems = append(problems, yamlfile.Complain(FileKesoku, at+"id", "rule %.60q: id: write up to 64 letters, digits, ., _ and -; not %s, whose values "+
				"stand at the top", w.ID, routing.Global))
		} else if seen[w.ID] {
			problems = append(problems, yamlfile.Complain(FileKesoku, at+"id", "two rules have the id %q", w.ID))
		}
		seen[w.ID] = true
		r, err := w.rule(at)
		problems, all = append(problems, err), append(all, r)
	}
	return all, errors.Join(problems...)
}

func (w *ruleFile) rule(at string) (*rule, error) {
	r := &rule{field: at + "values.", Rule: routing.Rule{
		ID: w.ID, Off: w.Enabled != nil && !*w.Enabled, Priority: w.Priority, Locked: w.Locked, CreatedAt: w.CreatedAt,
	}}
	var problems []error
	var err error
	if r.Filter, err = routing.ParseFilter(w.Filter); err != nil {
		problems = append(problems, complainOfFilter(w.ID, at+"filter", err))
	}
	for name, n := range map[string]int64{"revision": w.Revision, "createdAt": w.CreatedAt, "updatedAt": w.UpdatedAt} {
		if n < 0 {
			problems = append(problems, yamlfile.Complain(FileKesoku, at+name, "rule %.60q: %s: %d is not allowed, write 0 or more", w.ID, name, n))
		}
	}
	return r, errors.Join(append(problems, r.read(w.Values), r.checkLocks(at+"locked"))...)
}

// complainOfFilter gives each fault in a filter its place.
func complainOfFilter(id, field string, err error) error {
	var problems []error
	for _, e := range yamlfile.Flatten(err) {
		var wrong *routing.PathError
		if !errors.As(e, &wrong) {
			problems = append(problems, yamlfile.Complain(FileKesoku, field, "rule %.60q: filter: %w", id, e))
			continue
		}
		place := field
		if wrong.Path != "" {
			place += "." + wrong.Path
		}
		problems = append(problems, yamlfile.Complain(FileKesoku, place, "rule %.60q: filter: %w", id, wrong))
	}
	return errors.Join(problems...)
}

// checkLocks complains about locks on what is no setting.
func (r *rule) checkLocks(field string) error {
	var problems []error
	for i, path := range r.Locked {
		if _, known := r.values.At(path); !known {
			problems = append(problems, yamlfile.Complain(FileKesoku, fmt.Sprintf("%s[%d]", field, i),
				"rule %.60q: locked: %.60q is no setting; write a dot path such as chat.model or a namespace", r.ID, path))
		}
	}
	return errors.Join(problems...)
}
