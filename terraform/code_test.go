package terraform_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// code is what the Go source says that a deployment must know. It is read from syntax alone.
type code struct {
	goLine      string             // of go.mod: "1.26.0"
	toolchain   bool               // whether go.mod has a toolchain line
	functions   map[string]program // by folder under functions/
	shared      []string           // environment variables that every function needs
	topics      []string
	subscribers map[string]string // topics by the function that they wake
	queries     []query
	perishable  []string        // collections whose documents carry expire_at
	fields      map[string]bool // names of stored fields
	messages    map[string]bool // what is logged
	metrics     []string        // names of the metrics that count log entries
}

// program is one function.
type program struct {
	entry     string          // the name that it registers under
	http      bool            // registered by functions.HTTP, else by functions.CloudEvent
	variables map[string]bool // environment variables that it reads; true for those it cannot do without
	publishes []string        // topics, by name
}

// source is the repository's Go source without tests, by folder.
type source struct {
	packages map[string][]*ast.File
}

var modulePath = regexp.MustCompile(`(?m)^module (\S+)$`)

// readCode gathers the facts. What it cannot follow fails the test: a fact that is missed is a check that never fails.
func readCode(t *testing.T, repository fs.FS) code {
	t.Helper()
	goMod, err := fs.ReadFile(repository, "go.mod")
	if err != nil {
		t.Fatal(err)
	}
	s := source{packages: map[string][]*ast.File{}}
	for _, dir := range []string{"functions", "shared", "emulators/stack"} {
		s.read(t, repository, dir)
	}
	topics := s.topics(t)
	c := code{
		goLine:    regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(string(goMod))[1],
		toolchain: strings.Contains(string(goMod), "\ntoolchain "),
		functions: map[string]program{}, subscribers: s.subscribers(t, topics), queries: s.queries(t), perishable: s.perishable(t),
		fields: s.fields(), messages: s.messages(), metrics: s.metrics(),
	}
	for name := range s.variables("shared/boot") {
		c.shared = append(c.shared, name)
	}
	for _, name := range topics {
		c.topics = append(c.topics, name)
	}
	module := modulePath.FindStringSubmatch(string(goMod))[1]
	for dir := range s.packages {
		if name, ok := strings.CutPrefix(dir, "functions/"); ok && !strings.Contains(name, "/") {
			c.functions[name] = s.program(t, module, dir, topics)
		}
	}
	return c
}

func (s source) read(t *testing.T, repository fs.FS, dir string) {
	t.Helper()
	err := fs.WalkDir(repository, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(p) != ".go" || strings.HasSuffix(p, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(repository, p)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), p, text, parser.SkipObjectResolution)
		s.packages[path.Dir(p)] = append(s.packages[path.Dir(p)], parsed)
		return err
	})
	if err != nil {
		t.Fatalf("read source of %s: %v", dir, err)
	}
}

// calls visits every call of a method or a package's function in a folder.
func (s source) calls(dir string, visit func(method string, call *ast.CallExpr)) {
	for _, f := range s.packages[dir] {
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if method, ok := call.Fun.(*ast.SelectorExpr); ok {
					visit(method.Sel.Name, call)
				}
			}
			return true
		})
	}
}

// text is a string literal's value.
func text(e ast.Expr) (string, bool) {
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		s, err := strconv.Unquote(lit.Value)
		return s, err == nil
	}
	return "", false
}

var variableName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)

// variables are the environment variables that a folder reads through boot.Vars; true for those it requires.
func (s source) variables(dir string) map[string]bool {
	out := map[string]bool{}
	s.calls(dir, func(method string, call *ast.CallExpr) {
		if !slices.Contains([]string{"Required", "Optional", "URL", "Duration", "Fraction"}, method) || len(call.Args) == 0 {
			return
		}
		if name, ok := text(call.Args[0]); ok && variableName.MatchString(name) {
			out[name] = out[name] || method == "Required"
		}
	})
	return out
}

// imports are what a folder's files import below a path.
func (s source) imports(dir, below string) (found []string) {
	for _, f := range s.packages[dir] {
		for _, i := range f.Imports {
			if p, ok := text(i.Path); ok && strings.HasPrefix(p, below) {
				found = append(found, strings.TrimPrefix(p, below))
			}
		}
	}
	return found
}

func (s source) program(t *testing.T, module, dir string, topics map[string]string) program {
	t.Helper()
	p := program{variables: s.variables(dir)}
	for _, wiring := range s.imports(dir, module+"/shared/boot/") {
		maps.Copy(p.variables, s.variables("shared/boot/"+wiring))
	}
	s.calls(dir, func(method string, call *ast.CallExpr) {
		x, ok := call.Fun.(*ast.SelectorExpr).X.(*ast.Ident)
		if !ok || x.Name != "functions" || (method != "HTTP" && method != "CloudEvent") {
			return
		}
		p.entry, _ = text(call.Args[0])
		p.http = method == "HTTP"
	})
	seen := map[string]bool{}
	s.follow(module, dir, seen)
	for linked := range seen {
		for _, f := range s.packages[linked] {
			ast.Inspect(f, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := sel.X.(*ast.Ident); ok && x.Name == "bus" && topics[sel.Sel.Name] != "" {
						p.publishes = append(p.publishes, topics[sel.Sel.Name])
					}
				}
				return true
			})
		}
	}
	p.publishes = sorted(p.publishes)
	if p.entry == "" || len(p.publishes) == 0 {
		t.Errorf("%s: entry point %q, publishes to %q; both were to be found", dir, p.entry, p.publishes)
	}
	return p
}

// follow adds to seen a folder and all of the module's own that it links.
func (s source) follow(module, dir string, seen map[string]bool) {
	if seen[dir] {
		return
	}
	seen[dir] = true
	for _, f := range s.packages[dir] {
		for _, i := range f.Imports {
			if p, _ := text(i.Path); strings.HasPrefix(p, module+"/") {
				s.follow(module, strings.TrimPrefix(p, module+"/"), seen)
			}
		}
	}
}

// topics are the names in bus.Topics, by their constants.
func (s source) topics(t *testing.T) map[string]string {
	t.Helper()
	constants, listed := s.constants("shared/bus"), map[string]string{}
	for _, f := range s.packages["shared/bus"] {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != "Topics" {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && constants[id.Name] != "" {
					listed[id.Name] = constants[id.Name]
				}
				return true
			})
		}
	}
	if len(listed) == 0 {
		t.Fatal("shared/bus: no topics found in the function Topics")
	}
	return listed
}

// constants are a folder's string constants.
func (s source) constants(dir string) map[string]string {
	out := map[string]string{}
	for _, f := range s.packages[dir] {
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
				for i, name := range v.Names {
					if value, ok := text(v.Values[i]); ok {
						out[name.Name] = value
					}
				}
			}
			return true
		})
	}
	return out
}

// subscribers reads which function a topic wakes from where the local stack says it: bus.TopicTurns: "turn".
func (s source) subscribers(t *testing.T, topics map[string]string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, f := range s.packages["emulators/stack"] {
		ast.Inspect(f, func(n ast.Node) bool {
			pair, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, isTopic := pair.Key.(*ast.SelectorExpr)
			name, isText := text(pair.Value)
			if isTopic && isText && topics[key.Sel.Name] != "" {
				out[name] = topics[key.Sel.Name]
			}
			return true
		})
	}
	if len(out) != len(topics) {
		t.Fatalf("emulators/stack: topics are read by %v, want a function for each of %v", out, topics)
	}
	return out
}

// metrics are the names that shared/telemetry gives to the metrics of log entries: constants that begin with Metric.
func (s source) metrics() (names []string) {
	for constant, name := range s.constants("shared/telemetry") {
		if strings.HasPrefix(constant, "Metric") {
			names = append(names, name)
		}
	}
	return names
}

// messages are the constant texts of all log entries.
func (s source) messages() map[string]bool {
	out := map[string]bool{}
	for dir := range s.packages {
		s.calls(dir, func(method string, call *ast.CallExpr) {
			if !slices.Contains([]string{"Info", "Warn", "Error"}, strings.TrimSuffix(method, "Context")) {
				return
			}
			for _, a := range call.Args[:min(2, len(call.Args))] {
				if message, ok := text(a); ok {
					out[message] = true
				}
			}
		})
	}
	return out
}

var storedName = regexp.MustCompile(`firestore:"([a-z_]+)`)

// fields are the names under which anything is stored: of structs by their tags, of documents that are written as maps by their keys.
func (s source) fields() map[string]bool {
	out := map[string]bool{}
	for dir, all := range s.packages {
		for _, f := range all {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Field:
					if n.Tag != nil {
						for _, m := range storedName.FindAllStringSubmatch(n.Tag.Value, -1) {
							out[m[1]] = true
						}
					}
				case *ast.KeyValueExpr:
					if key, ok := text(n.Key); ok && dir == "shared/store" {
						out[key] = true
					}
				}
				return true
			})
		}
	}
	return out
}
