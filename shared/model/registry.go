package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Registry finds the driver of a name like "gemini:gemini-2.5-flash". Each function fills its own; there is no global one.
type Registry map[string]Driver

// Lookup splits name at its first colon and returns the provider's driver and the rest, the model.
func (r Registry) Lookup(name string) (Driver, string, error) {
	provider, model, ok := strings.Cut(name, ":")
	if !ok || provider == "" || model == "" {
		return nil, "", fmt.Errorf("model name %q: write provider:model, for example gemini:gemini-2.5-flash", name)
	}
	d, ok := r[provider]
	if !ok {
		return nil, "", fmt.Errorf("model name %q: unknown provider %q, known are %s", name, provider,
			strings.Join(slices.Sorted(maps.Keys(r)), ", "))
	}
	return d, model, nil
}
