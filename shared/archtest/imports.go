package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// matches reports whether the package is one of the patterns'.
func matches(pkg string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if p == "..." {
			return true
		}
		if base, ok := strings.CutSuffix(p, "/..."); ok {
			return pkg == base || strings.HasPrefix(pkg, base+"/")
		}
		if base, ok := strings.CutSuffix(p, "/*"); ok {
			return strings.HasPrefix(pkg, base+"/")
		}
		return pkg == p
	})
}

// imported returns the package that a spec names: by folder in this module, by import path elsewhere.
func (t *tree) imported(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return strings.TrimPrefix(p, t.module+"/")
}

// ours reports whether a package is this module's own.
func ours(pkg string) bool {
	return matches(pkg, []string{"functions/...", "shared/...", "infra/...", "emulators/..."})
}

// standard reports whether a package is the standard library's: its first element has no dot.
func standard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !ours(pkg) && !strings.Contains(first, ".")
}

func forbiddenImports(t *tree) []Violation {
	return t.eachImport(func(f file, pkg string) (string, bool) {
		for _, b := range bans {
			if (f.test && !b.tests) || !matches(f.pkg, b.from) || matches(f.pkg, b.except) || !matches(pkg, b.to) {
				continue
			}
			if strings.HasPrefix(f.pkg, "emulators/") && matches(pkg, allowedStandIns) {
				continue
			}
			return b.reason, true
		}
		return "", false
	})
}

func siblingImports(t *tree) []Violation {
	return t.eachImport(func(f file, pkg string) (string, bool) {
		for _, s := range siblings {
			from, to := child(s.parent, f.pkg), child(s.parent, pkg)
			if from != "" && to != "" && from != to && (s.tests || !f.test) {
				return s.reason, true
			}
		}
		return "", false
	})
}

// child returns the name of the child of parent that pkg is or lies in, or "". An internal folder is no child: it is there to be shared.
func child(parent, pkg string) string {
	rest, ok := strings.CutPrefix(pkg, parent+"/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	if name == "internal" {
		return ""
	}
	return name
}

func pureImports(t *tree) []Violation {
	return t.eachImport(func(f file, pkg string) (string, bool) {
		extra, isPure := pure[f.pkg]
		if !isPure || f.test {
			return "", false
		}
		_, toPure := pure[pkg]
		if toPure || matches(pkg, extra) || (standard(pkg) && !matches(pkg, impure)) {
			return "", false
		}
		return f.pkg + " is pure: it imports the standard library without network and files, and other pure packages", true
	})
}

// eachImport asks about every import of every file.
func (t *tree) eachImport(broken func(f file, pkg string) (reason string, broken bool)) []Violation {
	var found []Violation
	for _, f := range t.files {
		for _, spec := range f.syntax.Imports {
			pkg := t.imported(spec)
			if reason, ok := broken(f, pkg); ok {
				found = append(found, Violation{f.path, f.line(spec), "imports " + pkg, reason})
			}
		}
	}
	return found
}

// edge is one import, with its place.
type edge struct {
	to, file string
	line     int
}

// reachable follows imports through this module: what the rules of reaches forbid, and what links does not allow a function.
func reachable(t *tree) []Violation {
	graph := map[string][]edge{}
	for _, f := range t.files {
		if f.test {
			continue
		}
		for _, spec := range f.syntax.Imports {
			graph[f.pkg] = append(graph[f.pkg], edge{t.imported(spec), f.path, f.line(spec)})
		}
	}
	var found []Violation
	search := func(from string, forbidden func(string) bool, reason string) {
		for _, first := range graph[from] {
			if chain := chainTo(graph, first.to, forbidden, map[string]bool{from: true}); chain != nil {
				found = append(found, Violation{first.file, first.line, fmt.Sprintf("links %s", strings.Join(chain, " → ")), reason})
			}
		}
	}
	for _, r := range reaches {
		for _, from := range r.from {
			search(from, func(pkg string) bool { return matches(pkg, r.to) }, r.reason)
		}
	}
	for pkg := range graph {
		name, ok := strings.CutPrefix(pkg, "functions/")
		if !ok || strings.Contains(name, "/") {
			continue
		}
		allowed, ok := links[name]
		if !ok {
			found = append(found, Violation{File: pkg, What: "is not in links", Reason: "each function's models and platforms are written down"})
		}
		search(pkg, func(to string) bool { return matches(to, partial) && !matches(to, allowed) },
			"links says which models and platforms a function may link; nobody waits for what it does not use")
	}
	return found
}

// chainTo returns the imports that lead from pkg to something forbidden, or nil.
func chainTo(graph map[string][]edge, pkg string, forbidden func(string) bool, seen map[string]bool) []string {
	if forbidden(pkg) {
		return []string{pkg}
	}
	if seen[pkg] || !ours(pkg) {
		return nil
	}
	seen[pkg] = true
	for _, e := range graph[path.Clean(pkg)] {
		if chain := chainTo(graph, e.to, forbidden, seen); chain != nil {
			return append([]string{pkg}, chain...)
		}
	}
	return nil
}
