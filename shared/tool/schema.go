package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	textmessage "golang.org/x/text/message"
)

const (
	maxArguments = 256 << 10 // bytes; a call is part of a model's answer, which no provider lets grow so far
	maxFaults    = 10        // faults told at once
)

// noLoader refuses every reference out of a schema, be it to a file or to the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %s: a tool's schema stands alone", url)
}

func compileSchema(parameters json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(parameters))
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if object, ok := doc.(map[string]any); !ok || object["type"] != "object" {
		return nil, errors.New("not a schema of type object")
	}
	const at = "tool:parameters"
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(at, doc); err != nil {
		return nil, err
	}
	return c.Compile(at)
}

// checkArguments returns an error that tells a model everything that is wrong with its call.
func checkArguments(schema *jsonschema.Schema, args json.RawMessage) error {
	if len(args) > maxArguments {
		return fmt.Errorf("its arguments are %d bytes long, at most %d are taken", len(args), maxArguments)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return fmt.Errorf("its arguments are not one JSON object: %w", err)
	}
	err = schema.Validate(value)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	faults := leaves(invalid, textmessage.NewPrinter(language.English), nil)
	if len(faults) > maxFaults {
		faults = append(faults[:maxFaults], fmt.Sprintf("and %d more", len(faults)-maxFaults))
	}
	return fmt.Errorf("its arguments are wrong: %s", strings.Join(faults, "; "))
}

// leaves collects the faults themselves, without the schema nodes that lead to them.
func leaves(e *jsonschema.ValidationError, p *textmessage.Printer, out []string) []string {
	if len(e.Causes) == 0 {
		fault := clip(e.ErrorKind.LocalizedString(p), 300)
		if len(e.InstanceLocation) > 0 {
			fault = clip(strings.Join(e.InstanceLocation, "."), 100) + ": " + fault
		}
		return append(out, fault)
	}
	for _, cause := range e.Causes {
		out = leaves(cause, p, out)
	}
	return out
}
