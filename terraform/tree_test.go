package terraform_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// root and function are the folders of the two modules.
const (
	root     = "terraform"
	function = "terraform/modules/function"
)

// files are texts by their path from the repository's root.
type files map[string]string

// readFiles reads what an operator deploys from: everything under terraform/ and the parts of infra/ that Terraform reads; and what a person reads
// of who may do what.
func readFiles(t *testing.T, repository fs.FS) files {
	t.Helper()
	out := files{}
	for _, dir := range []string{root, "infra/config", "infra/firestore", "infra/playbooks", "infra/dashboards"} {
		err := fs.WalkDir(repository, dir, func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == ".terraform":
				return fs.SkipDir
			case d.IsDir() || strings.HasSuffix(p, ".go"):
				return nil
			}
			text, err := fs.ReadFile(repository, p)
			out[p] = string(text)
			return err
		})
		if err != nil {
			t.Fatalf("read %s: %v", dir, err)
		}
	}
	// Missing, it says nothing, and that is told.
	text, err := fs.ReadFile(repository, securityFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	out[securityFile] = string(text)
	return out
}

// block is a block of a .tf file, at the top level or inside another.
type block struct {
	file string
	*hclsyntax.Block
}

// String names the block as Terraform does, behind its file.
func (b block) String() string {
	return b.file + ": " + strings.Join(append([]string{b.Type}, b.Labels...), ".")
}

// module is the folder that the block belongs to.
func (b block) module() string { return path.Dir(b.file) }

// kind is the type of a resource: google_pubsub_topic.
func (b block) kind() string { return b.Labels[0] }

// name is a block's own name: its last label.
func (b block) name() string { return b.Labels[len(b.Labels)-1] }

// attr is an attribute's expression, or nil.
func (b block) attr(name string) hclsyntax.Expression {
	if a, ok := b.Body.Attributes[name]; ok {
		return a.Expr
	}
	return nil
}

// children are the blocks of a type right inside, those that `dynamic` makes among them.
func (b block) children(kind string) []block {
	var out []block
	for _, c := range b.Body.Blocks {
		switch {
		case c.Type == kind:
			out = append(out, block{b.file, c})
		case c.Type == "dynamic" && c.Labels[0] == kind:
			for _, content := range c.Body.Blocks {
				out = append(out, block{b.file, content})
			}
		}
	}
	return out
}

// in is the expression of an attribute inside nested blocks: in("push_config", "oidc_token", "audience"). It is nil if there is none.
func (b block) in(names ...string) hclsyntax.Expression {
	for _, name := range names[:len(names)-1] {
		inner := b.children(name)
		if len(inner) == 0 {
			return nil
		}
		b = inner[0]
	}
	return b.attr(names[len(names)-1])
}

// tree is a deployment, parsed.
type tree struct {
	files  files
	blocks []block
	code   code
	found  []string
}

// parse reads all .tf files; those that base has with the same text are taken from it. What does not parse is a problem, and what it held is
// missing.
func parse(f files, c code, base *tree) *tree {
	t := &tree{files: f, code: c}
	for _, p := range slices.Sorted(maps.Keys(f)) {
		switch {
		case path.Ext(p) != ".tf":
		case base != nil && base.files[p] == f[p]:
			for _, b := range base.blocks {
				if b.file == p {
					t.blocks = append(t.blocks, b)
				}
			}
		default:
			t.parse(p)
		}
	}
	return t
}

func (t *tree) parse(p string) {
	parsed, diags := hclsyntax.ParseConfig([]byte(t.files[p]), p, hcl.InitialPos)
	if diags.HasErrors() {
		t.problem("%s does not parse: %v", p, diags)
		return
	}
	for _, b := range parsed.Body.(*hclsyntax.Body).Blocks {
		t.blocks = append(t.blocks, block{p, b})
	}
}

func (t *tree) problem(format string, args ...any) {
	t.found = append(t.found, fmt.Sprintf(format, args...))
}

// all are the top-level blocks of a type in a module's folder.
func (t *tree) all(module, kind string) []block {
	var out []block
	for _, b := range t.blocks {
		if b.module() == module && b.Type == kind {
			out = append(out, b)
		}
	}
	return out
}

// resources are all resources of a type, in both modules.
func (t *tree) resources(kind string) []block {
	var out []block
	for _, b := range t.blocks {
		if b.Type == "resource" && b.kind() == kind {
			out = append(out, b)
		}
	}
	return out
}

// find is the block of that type and those labels in a module.
func (t *tree) find(module, kind string, labels ...string) (block, bool) {
	for _, b := range t.all(module, kind) {
		if slices.Equal(b.Labels, labels) {
			return b, true
		}
	}
	return block{}, false
}

// local is the expression of a local value of the root module, or nil.
func (t *tree) local(name string) hclsyntax.Expression {
	for _, b := range t.all(root, "locals") {
		if e := b.attr(name); e != nil {
			return e
		}
	}
	return nil
}

// source is an expression as it is written.
func (t *tree) source(e hclsyntax.Expression) string {
	if e == nil {
		return ""
	}
	return string(e.Range().SliceBytes([]byte(t.files[e.Range().Filename])))
}

// value is what an expression of a module comes to: its own if it is constant, the default if it is a variable.
func (t *tree) value(module string, e hclsyntax.Expression) cty.Value {
	if e == nil {
		return cty.NilVal
	}
	if name, ok := strings.CutPrefix(t.source(e), "var."); ok {
		v, _ := t.find(module, "variable", name)
		if v.Block == nil || v.attr("default") == nil {
			return cty.NilVal
		}
		e = v.attr("default")
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() {
		return cty.NilVal
	}
	return v
}

// text is an expression's value, if that is a string.
func (t *tree) text(module string, e hclsyntax.Expression) string {
	v := t.value(module, e)
	if v == cty.NilVal || v.IsNull() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// number is an expression's value, if that is a number, else -1.
func (t *tree) number(module string, e hclsyntax.Expression) float64 {
	v := t.value(module, e)
	if v == cty.NilVal || v.IsNull() || v.Type() != cty.Number {
		return -1
	}
	n, _ := v.AsBigFloat().Float64()
	return n
}

// isTrue reports whether an expression is the constant true.
func (t *tree) isTrue(module string, e hclsyntax.Expression) bool {
	v := t.value(module, e)
	return v != cty.NilVal && v.Type() == cty.Bool && v.True()
}

// literals are all strings that stand in an expression or a block, those between brackets (topic["turns"]) among them.
func literals(n hclsyntax.Node) []string {
	var out []string
	if n == nil {
		return nil
	}
	_ = hclsyntax.VisitAll(n, func(n hclsyntax.Node) hcl.Diagnostics {
		switch e := n.(type) {
		case *hclsyntax.LiteralValueExpr:
			if e.Val.Type() == cty.String {
				out = append(out, e.Val.AsString())
			}
		case *hclsyntax.ScopeTraversalExpr:
			for _, step := range e.Traversal {
				if i, ok := step.(hcl.TraverseIndex); ok && i.Key.Type() == cty.String {
					out = append(out, i.Key.AsString())
				}
			}
		}
		return nil
	})
	return out
}

// item is one key of an object and what it is set to.
type item struct {
	key   string
	value hclsyntax.Expression
}

// items are the keys of all objects in an expression, at any depth.
func items(e hclsyntax.Expression) []item {
	var out []item
	if e == nil {
		return nil
	}
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		object, ok := n.(*hclsyntax.ObjectConsExpr)
		if !ok {
			return nil
		}
		for _, i := range object.Items {
			if key, diags := i.KeyExpr.Value(nil); !diags.HasErrors() && key.Type() == cty.String {
				out = append(out, item{key.AsString(), i.ValueExpr})
			}
		}
		return nil
	})
	return out
}

// rows are the items of an object and no deeper.
func rows(e hclsyntax.Expression) []item {
	object, ok := e.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return nil
	}
	var out []item
	for _, i := range object.Items {
		if key, diags := i.KeyExpr.Value(nil); !diags.HasErrors() && key.Type() == cty.String {
			out = append(out, item{key.AsString(), i.ValueExpr})
		}
	}
	return out
}

// references are what an expression or a block refers to: google_pubsub_topic.wake, module.turn, local.topics, var.region.
func references(n hclsyntax.Node) []string {
	var out []string
	if n == nil {
		return nil
	}
	_ = hclsyntax.VisitAll(n, func(n hclsyntax.Node) hcl.Diagnostics {
		if e, ok := n.(*hclsyntax.ScopeTraversalExpr); ok && len(e.Traversal) > 1 {
			if attr, ok := e.Traversal[1].(hcl.TraverseAttr); ok {
				out = append(out, e.Traversal.RootName()+"."+attr.Name)
			}
		}
		return nil
	})
	return out
}

// sorted are a set's elements in order, without repetitions.
func sorted[T cmp.Ordered](s []T) []T { return slices.Compact(slices.Sorted(slices.Values(s))) }
