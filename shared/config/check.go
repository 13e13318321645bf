package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"kesoku.dev/shared/config/routing"
	"kesoku.dev/shared/config/settings"
	"kesoku.dev/shared/config/yamlfile"
)

// known is what settings may refer to.
func (c *Config) known() settings.Known {
	hasRole := func(name string) bool {
		_, there := c.roles[name]
		return there
	}
	return settings.Known{Role: hasRole, Model: c.checkModel}
}

// checkRules checks each rule by itself, then together with the global one, which it always meets.
func (c *Config) checkRules(all []*rule) error {
	var problems []error
	told := map[string]bool{} // of the global rule alone, so of no other
	for _, r := range all {
		wrong := func(path, says string) { problems = append(problems, r.complain(path, "%s", says)) }
		r.values.Check(c.known(), wrong)
		together := c.together(all[0], r)
		for _, clash := range together.Chat.Settle(c.checkModel) {
			if !told[clash.Path] {
				wrong(clash.Path, clash.Says)
			}
			told[clash.Path] = told[clash.Path] || r.ID == routing.Global
		}
	}
	return errors.Join(problems...)
}

// together is what holds where only the global rule and r do.
func (c *Config) together(global, r *rule) settings.Settings {
	s := settings.Defaults()
	for path, id := range routing.Merge([]routing.Rule{global.Rule, r.Rule}).Sources {
		if id == r.ID {
			s.Take(path, &r.values)
		} else {
			s.Take(path, &global.values)
		}
	}
	return s
}

// checkModel tells what is wrong with a model's name.
func (c *Config) checkModel(name string) error {
	model, err := c.Model(name)
	if err != nil {
		return err
	}
	if provider, rest, _ := strings.Cut(model, ":"); provider == "" || rest == "" {
		return fmt.Errorf("%.60q: write provider:model, for example gemini:gemini-2.5-flash, or @ and a role of models", name)
	}
	return nil
}

var modelRole = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// checkModels checks the roles of models.
func (c *Config) checkModels() error {
	var problems []error
	for _, role := range slices.Sorted(maps.Keys(c.models)) {
		wrong := func(format string, args ...any) {
			problems = append(problems, yamlfile.Complain(FileKesoku, "models."+role, "models.%.60s: %s", role, fmt.Sprintf(format, args...)))
		}
		if !modelRole.MatchString(role) {
			wrong("write a lower-case letter, then up to 31 of a-z, 0-9 and -")
		}
		if err := c.checkModel(c.models[role]); err != nil || strings.HasPrefix(c.models[role], "@") {
			wrong("%.60q: write provider:model, for example gemini:gemini-2.5-flash", c.models[role])
		}
	}
	return errors.Join(problems...)
}

// lifecycleTypes are the events that can be published for other systems.
var lifecycleTypes = []string{"receive", "agent-status", "rules-change", "engine-action"}

func (c *Config) checkLifecycle() error {
	var problems []error
	for i, t := range c.lifecycle {
		if !slices.Contains(lifecycleTypes, t) {
			at := fmt.Sprintf("lifecycle[%d]", i)
			problems = append(problems, yamlfile.Complain(FileKesoku, at, "%s: %.60q is not allowed, write one of %s", at, t, strings.Join(lifecycleTypes, ", ")))
		}
	}
	return errors.Join(problems...)
}

// Announces reports whether events of that type are published for other systems.
func (c *Config) Announces(lifecycleType string) bool {
	return slices.Contains(c.lifecycle, lifecycleType)
}
