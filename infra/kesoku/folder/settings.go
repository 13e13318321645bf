package folder

import (
	"fmt"
	"reflect"
	"strings"

	"kesoku.dev/shared/config"
	"kesoku.dev/shared/config/routing"
	"kesoku.dev/shared/config/yamlfile"
)

// Setting is one effective setting.
type Setting struct {
	Name  string `json:"name"`  // for example chat.activation.use
	Value any    `json:"value"` // as it holds
	Rule  string `json:"rule"`  // the id of the rule that gives it, or "default"
	From  string `json:"from"`  // the file and line that say it; empty for a default
}

// Explanation says what holds for some facts, and why.
type Explanation struct {
	Rules       []string     `json:"rules"`    // that hold, the strongest last
	Settings    []Setting    `json:"settings"` // in the order in which shared/config declares them
	Suppressed  []Suppressed `json:"suppressed"`
	Diagnostics []string     `json:"diagnostics"`
}

// Suppressed is a value that another rule's lock keeps out.
type Suppressed struct {
	routing.Suppressed
	From string `json:"from"` // the file and line that say it
}

// Explain lists all effective settings for the facts, each with the rule and the line that give it.
func Explain(files map[string]string, facts config.Facts) (Explanation, error) {
	c, err := config.Parse(files)
	if err != nil {
		return Explanation{}, err
	}
	e := explainer{Config: c, Resolved: c.Resolve(facts), lines: yamlfile.Lines(files[config.FileKesoku])}
	all := Explanation{Rules: e.Rules, Suppressed: []Suppressed{}, Diagnostics: []string{}}
	for _, namespace := range []struct {
		name   string
		values any
	}{{"chat.", e.Resolved.Route}, {"censor.", e.Censor}, {"render.", e.Render}} {
		all.Settings = append(all.Settings, e.settings(namespace.name, namespace.values)...)
	}
	for _, s := range e.Suppressed {
		all.Suppressed = append(all.Suppressed, Suppressed{s, e.place(s.Rule, s.Path)})
	}
	for _, d := range e.Diagnostics {
		text := d.Says
		if d.Rule != "" {
			text = "rule " + d.Rule + ": " + text
		}
		all.Diagnostics = append(all.Diagnostics, text)
	}
	return all, nil
}

type explainer struct {
	*config.Config
	config.Resolved
	lines map[string]int
}

// settings walks a struct of settings by its yaml names; a struct inside it is a section.
func (e *explainer) settings(prefix string, v any) []Setting {
	var all []Setting
	rv := reflect.ValueOf(v)
	for i := range rv.NumField() {
		path := prefix + rv.Type().Field(i).Tag.Get("yaml")
		if rv.Field(i).Kind() == reflect.Struct {
			all = append(all, e.settings(path+".", rv.Field(i).Interface())...)
			continue
		}
		s := Setting{Name: path, Value: plain(rv.Field(i)), Rule: "default"}
		if rule, written := e.Sources[path]; written {
			s.Rule, s.From = rule, e.place(rule, path)
		}
		all = append(all, s)
	}
	return all
}

// plain is a value as YAML has it, for showing: structs in lists become mappings.
func plain(v reflect.Value) any {
	if v.Kind() != reflect.Slice || v.Type().Elem().Kind() != reflect.Struct {
		return v.Interface()
	}
	all := make([]map[string]any, v.Len())
	for i := range all {
		all[i] = map[string]any{}
		for f := range v.Index(i).NumField() {
			all[i][v.Index(i).Type().Field(f).Tag.Get("yaml")] = v.Index(i).Field(f).Interface()
		}
	}
	return all
}

// place is where a rule writes a setting, or the nearest thing around it.
func (e *explainer) place(rule, path string) string {
	for field := e.Field(rule, path); field != ""; field = field[:max(0, strings.LastIndexByte(field, '.'))] {
		if line, ok := e.lines[field]; ok {
			return fmt.Sprintf("%s:%d", config.FileKesoku, line)
		}
	}
	return config.FileKesoku
}
