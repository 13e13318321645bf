// Package yamlfile reads YAML as an operator writes it: strictly, with complaints that name the line. It knows nothing of what a file says.
package yamlfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Complaint is one thing that is wrong in a configuration file.
type Complaint struct {
	File  string // its name, for example kesoku.yaml
	Field string // for example chat.model or jobs[2].schedule; empty where the text itself is at fault
	Line  int    // from 1: the field's own, or of what should hold it; 0 where there is none
	err   error
}

// Error returns "file:line: what is wrong".
func (c *Complaint) Error() string {
	if c.Line == 0 {
		return c.File + ": " + c.err.Error()
	}
	return fmt.Sprintf("%s:%d: %v", c.File, c.Line, c.err)
}

// Unwrap returns what is wrong, without its place.
func (c *Complaint) Unwrap() error { return c.err }

// Complaints lists all complaints that an error joins.
func Complaints(err error) []*Complaint {
	var all []*Complaint
	for _, e := range Flatten(err) {
		var one *Complaint
		if errors.As(e, &one) {
			all = append(all, one)
		}
	}
	return all
}

// Flatten lists what errors.Join joined, however deep.
func Flatten(err error) []error {
	joined, many := err.(interface{ Unwrap() []error }) // the join itself is meant, not one that something wraps
	if !many {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, Flatten(e)...)
	}
	return all
}

// Complain is a complaint about a field; Locate gives it its line.
func Complain(file, field, format string, args ...any) error {
	return &Complaint{File: file, Field: field, err: fmt.Errorf(format, args...)}
}

// ComplainOfText is the complaint of a file that does not decode, in the line that the decoder names.
func ComplainOfText(file string, err error) error {
	c := &Complaint{File: file, err: err}
	var told yaml.Error
	if errors.As(err, &told) && told.GetToken() != nil {
		c.Line = told.GetToken().Position.Line
	}
	return c
}

// Locate gives the complaints that an error joins their lines in the files, which it takes by their names.
func Locate(err error, files map[string]string) error {
	lines := map[string]map[string]int{}
	for _, c := range Complaints(err) {
		if c.Line != 0 || c.Field == "" {
			continue
		}
		if lines[c.File] == nil {
			lines[c.File] = Lines(files[c.File])
		}
		for field := c.Field; c.Line == 0 && field != ""; field = field[:max(0, strings.LastIndexAny(field, ".["))] {
			c.Line = lines[c.File][field]
		}
	}
	return err
}

// Lines tells for every field of a YAML text, named like chat.model or jobs[2].schedule, the line in which it stands. A text that does not
// parse has none.
func Lines(text string) map[string]int {
	lines := map[string]int{}
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return lines
	}
	for _, doc := range file.Docs {
		if doc.Body != nil {
			ast.Walk(lineVisitor(lines), doc.Body)
		}
	}
	return lines
}

type lineVisitor map[string]int

// Visit implements ast.Visitor. A field stands where its key does, so the first node of a path wins.
func (v lineVisitor) Visit(n ast.Node) ast.Visitor {
	if pair, ok := n.(*ast.MappingValueNode); ok && pair.Key.GetToken() != nil {
		v.note(pair.Value.GetPath(), pair.Key.GetToken().Position.Line)
	} else if n.GetToken() != nil {
		v.note(n.GetPath(), n.GetToken().Position.Line)
	}
	return v
}

func (v lineVisitor) note(path string, line int) {
	field := strings.TrimPrefix(strings.TrimPrefix(path, "$"), ".")
	if _, known := v[field]; !known && field != "" {
		v[field] = line
	}
}
