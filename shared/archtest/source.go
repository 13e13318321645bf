package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// environmentFuncs are the ways to the environment.
var environmentFuncs = []string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv", "os.Setenv", "os.Unsetenv", "os.Clearenv",
	"syscall.Getenv", "syscall.Environ"}

func environment(t *tree) []Violation {
	var found []Violation
	for _, f := range t.files {
		if f.test || matches(f.pkg, environmentReaders) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(environmentFuncs, x.Name+"."+s.Sel.Name) {
				found = append(found, Violation{f.path, f.line(s), "uses " + x.Name + "." + s.Sel.Name,
					"boot alone reads the environment, once, and everything else gets a validated configuration"})
			}
			return true
		})
	}
	return found
}

func inits(t *tree) []Violation {
	var found []Violation
	for _, f := range t.files {
		if child("functions", f.pkg) != "" {
			continue
		}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				found = append(found, Violation{f.path, f.line(fn), "has an init function",
					"only functions/* register themselves; everything else is wired by hand"})
			}
		}
	}
	return found
}

func budgets(t *tree) []Violation {
	const reason = "small parts can be read, tested and replaced"
	var found []Violation
	over := func(name, file string, line, lines, limit int) {
		if lines > limit && overBudget[name] == "" {
			found = append(found, Violation{file, line, fmt.Sprintf("%s has %d lines, the budget is %d", name, lines, limit), reason})
		}
	}
	for _, f := range t.files {
		if f.test || f.generated || strings.HasSuffix(f.pkg, "test") { // A folder called …test is a suite: its tests live in plain files.
			continue
		}
		over(f.path, f.path, 0, f.lines, maxFile)
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				lines := f.fset.Position(fn.End()).Line - f.line(fn) + 1
				over(f.path+":"+fn.Name.Name, f.path, f.line(fn), lines, maxFunction)
			}
		}
	}
	return found
}

func undocumented(t *tree) []Violation {
	var found []Violation
	packages := map[string]string{} // folder → a file, for those without a package comment
	commented := map[string]bool{}
	for _, f := range t.files {
		if f.test || f.generated {
			continue
		}
		packages[f.pkg] = f.path
		commented[f.pkg] = commented[f.pkg] || f.syntax.Doc != nil
		for _, n := range bare(f.syntax) {
			found = append(found, Violation{f.path, f.line(n), "exported " + n.Name + " has no doc comment",
				"a reader learns limits, units and errors without reading the body"})
		}
	}
	for pkg, file := range packages {
		if !commented[pkg] {
			found = append(found, Violation{file, 1, "package has no comment", "a package says what it is for, what it may know and what not"})
		}
	}
	return found
}

// wellKnown are methods whose contract is the standard library's.
var wellKnown = []string{"Error", "Unwrap", "Is", "As", "String", "Read", "Write", "Close", "ServeHTTP", "MarshalJSON", "UnmarshalJSON",
	"Len", "Less", "Swap"}

// bare returns the names of exported declarations without a comment. In a group of constants or variables one comment serves all.
func bare(syntax *ast.File) []*ast.Ident {
	var names []*ast.Ident
	for _, d := range syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && !slices.Contains(wellKnown, d.Name.Name) {
				names = append(names, d.Name)
			}
		case *ast.GenDecl:
			if d.Tok == token.IMPORT || (d.Doc != nil && (d.Tok != token.TYPE || len(d.Specs) == 1)) {
				continue
			}
			for _, s := range d.Specs {
				names = append(names, bareSpec(s)...)
			}
		}
	}
	return names
}

func bareSpec(s ast.Spec) []*ast.Ident {
	var names []*ast.Ident
	var doc, comment *ast.CommentGroup
	switch s := s.(type) {
	case *ast.TypeSpec:
		names, doc, comment = []*ast.Ident{s.Name}, s.Doc, s.Comment
	case *ast.ValueSpec:
		names, doc, comment = slices.Clone(s.Names), s.Doc, s.Comment
	}
	if doc != nil || comment != nil {
		return nil
	}
	return slices.DeleteFunc(names, func(n *ast.Ident) bool { return !n.IsExported() })
}

// exportedReceiver reports whether a function is no method, or one of an exported type.
func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return true
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}
