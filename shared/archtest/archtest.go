// Package archtest holds the tree to its design: which folder may import which, who may touch Google's clients and the environment,
// how large things may grow, and what must not be written anywhere. Its test runs all rules over the repository; every violation comes
// with its place and the reason of the rule.
//
// It reads source text only (no build, no network), so that it also works on a tree that does not compile. The rules themselves are the
// tables in rules.go.
package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Violation is one place that breaks a rule.
type Violation struct {
	File   string // path from the root
	Line   int    // 0 where the whole file or folder is meant
	What   string
	Reason string // why the rule exists
}

// String returns "file:line: what (reason)".
func (v Violation) String() string {
	place := v.File
	if v.Line > 0 {
		place += ":" + strconv.Itoa(v.Line)
	}
	return fmt.Sprintf("%s: %s (%s)", place, v.What, v.Reason)
}

// Check applies all rules to the repository whose root is fsys, and returns what breaks them, by place. Folders that do not exist yet
// break nothing. It fails only if the tree cannot be read or parsed.
func Check(fsys fs.FS) ([]Violation, error) {
	t, err := load(fsys)
	if err != nil {
		return nil, err
	}
	rules := []func(*tree) []Violation{topLevel, forbiddenWords, forbiddenImports, siblingImports, pureImports, reachable,
		environment, inits, budgets, undocumented}
	var all []Violation
	for _, rule := range rules {
		all = append(all, rule(t)...)
	}
	slices.SortFunc(all, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.What, b.What))
	})
	return slices.Compact(all), nil
}

// tree is the repository as the rules see it.
type tree struct {
	module string
	top    []string // names at the root
	texts  []text
	files  []file // Go files
}

// text is any file that is not binary.
type text struct {
	path string
	body string
}

// file is a parsed Go file.
type file struct {
	path      string
	pkg       string // its folder, which names its package: "shared/bus"
	test      bool
	generated bool
	lines     int
	syntax    *ast.File
	fset      *token.FileSet
}

func (f file) line(n ast.Node) int { return f.fset.Position(n.Pos()).Line }

// maxText bounds the files that are looked into; larger ones hold data.
const maxText = 1 << 20

// load reads the tree, leaving out what git keeps for itself and what builds leave behind.
func load(fsys fs.FS) (*tree, error) {
	t := &tree{}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p != "." && !strings.Contains(p, "/") {
			t.top = append(t.top, p)
		}
		if d.IsDir() {
			if slices.Contains(skipped, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		return t.read(fsys, p)
	})
	if err != nil {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	return t, nil
}

func (t *tree) read(fsys fs.FS, p string) error {
	body, err := fs.ReadFile(fsys, p)
	if err != nil {
		return err
	}
	if len(body) > maxText || slices.Contains(body, 0) {
		return nil
	}
	t.texts = append(t.texts, text{path: p, body: string(body)})
	if p == "go.mod" {
		_, rest, _ := strings.Cut(string(body), "module ")
		t.module, _, _ = strings.Cut(rest, "\n")
		t.module = strings.TrimSpace(t.module)
	}
	if !strings.HasSuffix(p, ".go") || strings.Contains("/"+p, "/testdata/") {
		return nil
	}
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, p, body, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse %s: %w", p, err)
	}
	t.files = append(t.files, file{path: p, pkg: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), generated: ast.IsGenerated(syntax),
		lines: strings.Count(string(body), "\n"), syntax: syntax, fset: fset})
	return nil
}
