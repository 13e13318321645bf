package yamlfile

import (
	"errors"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Decode reads a file's only document strictly: an unknown key is a complaint, and so is an alias. An empty file changes nothing.
func Decode(name, text string, into any) error {
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return ComplainOfText(name, err)
	}
	docs := slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil || d.Body.Type() == ast.CommentType })
	if len(docs) == 0 {
		return nil
	}
	if len(docs) > 1 {
		return &Complaint{File: name, Line: docs[1].Body.GetToken().Position.Line, err: errors.New("a second document begins here; write one")}
	}
	if aliases := ast.Filter(ast.AliasType, docs[0].Body); len(aliases) > 0 { // a few lines of them stand for billions of values
		return &Complaint{File: name, Line: aliases[0].GetToken().Position.Line, err: errors.New("aliases are not followed; write the values out")}
	}
	if err := yaml.NodeToValue(docs[0].Body, into, yaml.Strict()); err != nil {
		return ComplainOfText(name, err)
	}
	return nil
}

// Section is a part of a file that is read later, strictly and with its places, once its type is known.
type Section struct{ node ast.Node }

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (s *Section) UnmarshalYAML(node ast.Node) error {
	s.node = node
	return nil
}

// Into reads the section onto what is there already, and as a plain mapping; a section that is not written, or empty, is none. A complaint
// is about the file of that name.
func (s *Section) Into(file string, typed any) (plain map[string]any, err error) {
	if s.node == nil || s.node.Type() == ast.NullType {
		return nil, nil
	}
	if err := errors.Join(yaml.NodeToValue(s.node, typed, yaml.Strict()), yaml.NodeToValue(s.node, &plain)); err != nil {
		return nil, ComplainOfText(file, err)
	}
	return plain, nil
}
