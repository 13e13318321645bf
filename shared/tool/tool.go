// Package tool is the contract between a turn and what a model may do: a registry of tools, each with a schema, run under a
// deadline with its output bounded. It knows no model and no platform.
package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"kesoku.dev/shared/model"
)

// Scope is what a tool may know of the conversation that calls it.
type Scope struct {
	SessionID       string
	ConversationKey string
	CallID          string
	Now             time.Time
}

// Tool does one thing for a model. Run returns text for the model; an error is shown to it as a failed result, never to people.
// Run must be safe for concurrent use and end when ctx does.
type Tool interface {
	Spec() model.Tool
	Run(ctx context.Context, scope Scope, args json.RawMessage) (Output, error)
}

// Output is what a tool gives back.
type Output struct {
	Content string // for the model
	Summary string // one line for people; empty means the first line of Content
}

// Registry holds the tools of a function by name. There is no global one.
type Registry map[string]Tool

// NewRegistry returns a registry of the tools, or an error if two share a name.
func NewRegistry(tools ...Tool) (Registry, error) {
	r := Registry{}
	for _, t := range tools {
		name := t.Spec().Name
		if _, ok := r[name]; ok {
			return nil, fmt.Errorf("two tools are named %q", name)
		}
		r[name] = t
	}
	return r, nil
}

// Specs lists what the model is told, in the order of names.
func (r Registry) Specs() []model.Tool {
	var out []model.Tool
	for _, name := range slices.Sorted(maps.Keys(r)) {
		out = append(out, r[name].Spec())
	}
	return out
}
