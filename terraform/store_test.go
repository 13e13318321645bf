package terraform_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// query is one query of the store.
type query struct {
	collection string
	equal      []string   // fields compared for equality
	order      []ordering // what the rest is ordered by; a range orders by its field too
}

type ordering struct{ field, direction string }

// direction is how an index writes what the SDK calls firestore.Asc and firestore.Desc.
var direction = map[string]string{"Asc": "ASCENDING", "Desc": "DESCENDING"}

// queries are the store's: every chain of Where and OrderBy.
func (s source) queries(t *testing.T) []query {
	t.Helper()
	var out []query
	inner := map[*ast.CallExpr]bool{}
	s.calls("shared/store", func(method string, call *ast.CallExpr) {
		if inner[call] || !slices.Contains([]string{"Where", "OrderBy", "Limit"}, method) {
			return
		}
		out = append(out, s.query(t, call, inner))
	})
	if len(out) == 0 {
		t.Fatal("shared/store: no queries found")
	}
	return out
}

// query reads a chain from its last call to its collection, and marks the calls that it is made of.
func (s source) query(t *testing.T, call *ast.CallExpr, inner map[*ast.CallExpr]bool) query {
	t.Helper()
	q := query{}
	var ranges []ordering
	for {
		inner[call] = true
		method := call.Fun.(*ast.SelectorExpr)
		field := ""
		if len(call.Args) > 0 {
			field, _ = text(call.Args[0])
		}
		switch method.Sel.Name {
		case "Where":
			switch op, _ := text(call.Args[1]); op {
			case "==", "in": // an "in" is one equality after the other over the same index
				q.equal = append(q.equal, field)
			case "<", "<=", ">", ">=":
				ranges = append(ranges, ordering{field, "ASCENDING"})
			default:
				t.Fatalf("shared/store: a query compares %s by %q: teach this test what index that needs", field, op)
			}
		case "OrderBy":
			q.order = slices.Insert(q.order, 0, ordering{field, direction[call.Args[1].(*ast.SelectorExpr).Sel.Name]})
		case "Limit", "Documents":
		default:
			q.collection = s.collection(t, call)
			if len(q.order) == 0 {
				q.order = ranges
			}
			return q
		}
		next, ok := method.X.(*ast.CallExpr)
		if !ok {
			t.Fatalf("shared/store: a query begins with a variable: write it as one chain, so that its index can be checked")
		}
		call = next
	}
}

// collection is what a call leads to: x.Collection("name"), or a helper that returns one or a document in it.
func (s source) collection(t *testing.T, call *ast.CallExpr) string {
	t.Helper()
	method := call.Fun.(*ast.SelectorExpr).Sel.Name
	if method != "Collection" {
		for _, fn := range s.methods(method) {
			if name := s.collectionIn(t, fn.Body); name != "" {
				return name
			}
		}
		t.Fatalf("shared/store: cannot follow %s to its collection", method)
	}
	if name, ok := text(call.Args[0]); ok {
		return name
	}
	id, ok := call.Args[0].(*ast.Ident)
	if !ok || s.constants("shared/store")[id.Name] == "" {
		t.Fatal("shared/store: a collection's name is no constant")
	}
	return s.constants("shared/store")[id.Name]
}

// methods are the store's functions of a name.
func (s source) methods(name string) []*ast.FuncDecl {
	var out []*ast.FuncDecl
	for _, f := range s.packages["shared/store"] {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == name && fn.Body != nil {
				out = append(out, fn)
			}
		}
	}
	return out
}

// collectionIn is the first collection that a body leads to, or "". The last one in a chain is the innermost.
func (s source) collectionIn(t *testing.T, body ast.Node) (name string) {
	t.Helper()
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || name != "" {
			return name == ""
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if ok && (method.Sel.Name == "Collection" || strings.HasSuffix(method.Sel.Name, "Ref")) {
			name = s.collection(t, call)
		}
		return true
	})
	return name
}

// perishable are the collections of documents that carry expire_at: those that a function writes which builds such a document or is given
// one.
func (s source) perishable(t *testing.T) []string {
	t.Helper()
	const field = "expire_at"
	var out []string
	types := s.typesWith(field)
	for _, f := range s.packages["shared/store"] {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || !creates(fn.Body) || (!takes(fn, types) && !mentions(fn.Body, field)) {
				continue
			}
			name := s.collectionIn(t, fn.Body)
			if name == "" {
				t.Fatalf("shared/store: %s writes %s, nobody knows where", fn.Name.Name, field)
			}
			out = append(out, name)
		}
	}
	if len(out) < len(types) {
		t.Fatalf("shared/store: %d types carry %s and %d collections were found for them", len(types), field, len(out))
	}
	return sorted(out)
}

// typesWith are the names of structs with a stored field.
func (s source) typesWith(field string) map[string]bool {
	out := map[string]bool{}
	for _, all := range s.packages {
		for _, f := range all {
			ast.Inspect(f, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				structure, ok := spec.Type.(*ast.StructType)
				for i := 0; ok && i < len(structure.Fields.List); i++ {
					tag := structure.Fields.List[i].Tag
					if tag != nil && strings.Contains(tag.Value, `firestore:"`+field) {
						out[spec.Name.Name] = true
					}
				}
				return true
			})
		}
	}
	return out
}

func creates(body ast.Node) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if ok {
			method, ok := call.Fun.(*ast.SelectorExpr)
			found = found || ok && (method.Sel.Name == "Create" || method.Sel.Name == "Set")
		}
		return !found
	})
	return found
}

func takes(fn *ast.FuncDecl, types map[string]bool) bool {
	return slices.ContainsFunc(fn.Type.Params.List, func(p *ast.Field) bool {
		switch typ := p.Type.(type) {
		case *ast.Ident:
			return types[typ.Name]
		case *ast.SelectorExpr:
			return types[typ.Sel.Name]
		default:
			return false
		}
	})
}

func mentions(body ast.Node, word string) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			s, ok := text(e)
			found = found || ok && s == word
		}
		return !found
	})
	return found
}
