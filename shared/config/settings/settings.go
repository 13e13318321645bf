package settings

import (
	"reflect"
	"strings"
)

// Censor is what may not pass: the namespace censor.
type Censor struct {
	// BlockWords stop a text that contains one, letter case aside.
	BlockWords []string `yaml:"blockWords"`
	// FlagWords let a text pass and mark it, letter case aside.
	FlagWords []string `yaml:"flagWords"`
	// ReplaceRules rewrite what matches, in order.
	ReplaceRules []Replace `yaml:"replaceRules"`
}

// Replace rewrites a pattern's matches.
type Replace struct {
	Pattern     string `yaml:"pattern"`     // in the syntax of Go's regexp, which takes linear time
	Replacement string `yaml:"replacement"` // $1 stands for the first group, $$ for a dollar sign
}

// Ways to show what is not the answer itself.
const (
	ShowFolded = "folded" // closed, one tap away
	ShowHidden = "hidden" // not at all
)

// Render is how an answer looks: the namespace render.
type Render struct {
	Thoughts string `yaml:"thoughts"` // folded or hidden
	Tools    string `yaml:"tools"`    // folded or hidden: the calls of tools and their results
	Quote    bool   `yaml:"quote"`    // an answer quotes the prompt it answers
}

// DefaultCensor is what is censored where nothing is written: nothing.
func DefaultCensor() Censor { return Censor{} }

// DefaultRender is how answers look where nothing is written.
func DefaultRender() Render { return Render{Thoughts: ShowFolded, Tools: ShowFolded} }

// Settings are the namespaces together.
type Settings struct {
	Chat   Route  `yaml:"chat"`
	Censor Censor `yaml:"censor"`
	Render Render `yaml:"render"`
}

// Defaults is what holds where nothing is written.
func Defaults() Settings {
	return Settings{Chat: DefaultRoute(), Censor: DefaultCensor(), Render: DefaultRender()}
}

// At finds the setting or the section of settings at a dot path such as chat.session.lane.
func (s *Settings) At(path string) (reflect.Value, bool) {
	v := reflect.ValueOf(s).Elem()
	for name := range strings.SplitSeq(path, ".") {
		if v.Kind() != reflect.Struct {
			return reflect.Value{}, false
		}
		next := reflect.Value{}
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("yaml") == name {
				next = v.Field(i)
			}
		}
		if v = next; !v.IsValid() {
			return v, false
		}
	}
	return v, true
}

// Take copies the setting at the path from others. Lists are shared: whoever reads settings must not change them.
func (s *Settings) Take(path string, from *Settings) {
	into, ok := s.At(path)
	if value, there := from.At(path); ok && there {
		into.Set(value)
	}
}
