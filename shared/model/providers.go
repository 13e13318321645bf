package model

import (
	"fmt"
	"slices"
	"strings"
)

// Providers lists the providers that the turn function serves. It is told apart from a Registry so that functions which only check a name
// link no driver.
func Providers() []string { return []string{"gemini", "generativeai"} }

// CheckName returns an error unless name is provider:model with a known provider.
func CheckName(name string) error {
	provider, model, ok := strings.Cut(name, ":")
	if !ok || model == "" || !slices.Contains(Providers(), provider) {
		return fmt.Errorf("model %q: write provider:model with one of the providers %s", name, strings.Join(Providers(), ", "))
	}
	return nil
}
