package generativeai

import (
	"encoding/json"
	"fmt"

	"github.com/google/generative-ai-go/genai"
)

// maxSchemaDepth bounds the nesting of a tool's parameters.
const maxSchemaDepth = 32

// types maps JSON schema's types to the SDK's.
var types = map[string]genai.Type{
	"string": genai.TypeString, "number": genai.TypeNumber, "integer": genai.TypeInteger,
	"boolean": genai.TypeBoolean, "array": genai.TypeArray, "object": genai.TypeObject,
}

// looser are the keywords that may be left out: without them the model knows less of what is allowed, and the tool itself still
// refuses what is not. Every other keyword that schemaNode does not list changes the shape and is refused.
var looser = []string{
	"$schema", "$id", "$comment", "title", "default", "examples", "deprecated", "additionalProperties",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
}

// schemaNode is the part of JSON schema that the SDK can say.
type schemaNode struct {
	Type        any                        `json:"type"` // a name, or a name and "null"
	Format      string                     `json:"format"`
	Description string                     `json:"description"`
	Enum        []string                   `json:"enum"`
	Items       json.RawMessage            `json:"items"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Required    []string                   `json:"required"`
}

// encodeSchema converts a tool's parameters. A tool without any has no schema: the API refuses an object without properties.
func encodeSchema(raw json.RawMessage) (*genai.Schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	schema, err := encodeNode(raw, 0)
	if err != nil {
		return nil, err
	}
	if schema.Type == genai.TypeObject && len(schema.Properties) == 0 {
		return nil, nil
	}
	return schema, nil
}

func encodeNode(raw json.RawMessage, depth int) (*genai.Schema, error) {
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("schema nests deeper than %d", maxSchemaDepth)
	}
	if err := onlyKnown(raw); err != nil {
		return nil, err
	}
	var node schemaNode
	if err := json.Unmarshal(raw, &node); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	typ, nullable, err := encodeType(node.Type)
	if err != nil {
		return nil, err
	}
	out := &genai.Schema{
		Type: typ, Nullable: nullable, Description: node.Description, Enum: node.Enum, Required: node.Required,
	}
	if len(node.Enum) > 0 {
		out.Format = "enum"
	} else if typ == genai.TypeNumber || typ == genai.TypeInteger {
		out.Format = node.Format // of a string the API knows no format but enum
	}
	if len(node.Items) > 0 {
		if out.Items, err = encodeNode(node.Items, depth+1); err != nil {
			return nil, fmt.Errorf("items: %w", err)
		}
	}
	for name, property := range node.Properties {
		if out.Properties == nil {
			out.Properties = map[string]*genai.Schema{}
		}
		if out.Properties[name], err = encodeNode(property, depth+1); err != nil {
			return nil, fmt.Errorf("property %s: %w", name, err)
		}
	}
	return out, nil
}

// onlyKnown refuses a node with a keyword that would change its meaning if it were left out.
func onlyKnown(raw json.RawMessage) error {
	var node map[string]json.RawMessage
	if err := json.Unmarshal(raw, &node); err != nil {
		return fmt.Errorf("schema is no object: %w", err)
	}
	for _, key := range append([]string{"type", "format", "description", "enum", "items", "properties", "required"}, looser...) {
		delete(node, key)
	}
	for key := range node {
		return fmt.Errorf("schema keyword %q", key)
	}
	return nil
}

// encodeType reads "string" and ["string", "null"].
func encodeType(v any) (typ genai.Type, nullable bool, err error) {
	names, many := v.([]any)
	if !many {
		names = []any{v}
	}
	for _, name := range names {
		text, _ := name.(string) // of another type: refused below as unknown
		switch known, ok := types[text]; {
		case text == "null":
			nullable = true
		case !ok || typ != genai.TypeUnspecified:
			return 0, false, fmt.Errorf("schema type %v", v)
		default:
			typ = known
		}
	}
	if typ == genai.TypeUnspecified {
		return 0, false, fmt.Errorf("schema type %v", v)
	}
	return typ, nullable, nil
}
