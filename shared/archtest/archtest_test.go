package archtest

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// D1 and the arrows, budgets and habits of the design hold for the whole repository.
func TestRepository(t *testing.T) {
	t.Parallel()
	violations, err := Check(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
}

const doc = "// Package x is here to be judged.\npackage x\n"

// Every rule finds its kind of violation, at its line, and leaves what is allowed alone.
func TestRules(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files map[string]string
		want  []string // beginnings of the violations
	}{
		"clean": {files: map[string]string{
			"shared/store/store.go":            doc + `import "cloud.google.com/go/firestore"`,
			"shared/bus/bus.go":                doc + `import "cloud.google.com/go/pubsub/v2"`,
			"shared/render/markdown.go":        doc + `import "github.com/yuin/goldmark/ast"`,
			"shared/history/turns.go":          doc + `import ("kesoku.dev/shared/message"; "time")`,
			"shared/turn/turn.go":              doc + `import "kesoku.dev/shared/model"`,
			"shared/turn/turn_test.go":         `package x; import ("kesoku.dev/shared/testenv"; "kesoku.dev/shared/store")`,
			"functions/turn/function.go":       doc + "import \"kesoku.dev/shared/model/gemini\"\nfunc init() {}",
			"emulators/models/server.go":       doc + `import "kesoku.dev/shared/clock"`,
			"emulators/stack/stack.go":         doc + `import ("kesoku.dev/functions/turn"; "kesoku.dev/shared/testenv"; "os"); var _ = os.Getenv("X")`,
			"shared/model/gemini/gemini.go":    doc + `import "google.golang.org/genai"`,
			"shared/model/gemini/gem_test.go":  `package x; import "kesoku.dev/shared/model/modeltest"`,
			"docs/design.md":                   "see ../../shared/x and https://example.com/work/x",
			"shared/x/testdata/broken/main.go": "this is not Go",
		}},
		"shared imports a function, even in a test": {files: map[string]string{"shared/turn/a_test.go": "package x\nimport \"kesoku.dev/emulators/models\""},
			want: []string{"shared/turn/a_test.go:2: imports emulators/models"}},
		"function imports function": {files: map[string]string{"functions/turn/f.go": doc + `import "kesoku.dev/functions/deliver/inner"`},
			want: []string{"functions/turn/f.go:3: imports functions/deliver/inner"}},
		"driver imports driver": {files: map[string]string{"shared/model/openai/f.go": doc + `import "kesoku.dev/shared/model/gemini"`},
			want: []string{"shared/model/openai/f.go:3: imports shared/model/gemini"}},
		"Firestore outside store": {files: map[string]string{"shared/turn/f.go": doc + `import "cloud.google.com/go/firestore/apiv1"`},
			want: []string{"shared/turn/f.go:3: imports cloud.google.com/go/firestore/apiv1"}},
		"Pub/Sub outside bus": {files: map[string]string{"functions/turn/f.go": doc + `import "cloud.google.com/go/pubsub/v2"`},
			want: []string{"functions/turn/f.go:3: imports cloud.google.com/go/pubsub/v2"}},
		"executor imports an adapter": {files: map[string]string{"shared/deliver/f.go": doc + `import ("kesoku.dev/shared/store"; "kesoku.dev/shared/platform/googlechat")`},
			want: []string{"shared/deliver/f.go:3: imports shared/platform/googlechat", "shared/deliver/f.go:3: imports shared/store"}},
		"adapter imports an executor": {files: map[string]string{"shared/store/f.go": doc + `import "kesoku.dev/shared/turn"`},
			want: []string{"shared/store/f.go:3: imports shared/turn"}},
		"pure package with a client": {files: map[string]string{"shared/message/f.go": doc + `import ("net/http"; "kesoku.dev/shared/store"; "golang.org/x/text/width")`},
			want: []string{"shared/message/f.go:3: imports golang.org/x/text/width", "shared/message/f.go:3: imports net/http",
				"shared/message/f.go:3: imports shared/store"}},
		"test environment in production": {files: map[string]string{"functions/turn/f.go": doc + `import "kesoku.dev/shared/testenv"`},
			want: []string{"functions/turn/f.go:3: imports shared/testenv"}},
		"stand-in knows our code": {files: map[string]string{"emulators/models/f.go": doc + `import "kesoku.dev/shared/model"`},
			want: []string{"emulators/models/f.go:3: imports shared/model"}},
		"boot links a model by a detour": {files: map[string]string{"shared/boot/f.go": doc + `import "kesoku.dev/shared/config"`,
			"shared/config/f.go": doc + `import "kesoku.dev/shared/model"`},
			want: []string{"shared/boot/f.go:3: links shared/config → shared/model"}},
		"cron links a platform": {files: map[string]string{"functions/cron/f.go": doc + `import "kesoku.dev/shared/wiring"`,
			"shared/wiring/f.go": doc + `import "google.golang.org/api/chat/v1"`},
			want: []string{"functions/cron/f.go:3: links shared/wiring → google.golang.org/api/chat/v1", "shared/wiring/f.go:3: imports"}},
		"function that links does not list": {files: map[string]string{"functions/new/f.go": doc + `import "kesoku.dev/shared/boot"`},
			want: []string{"functions/new: is not in links"}},
		"webhook links a model SDK": {files: map[string]string{"functions/googlechat/f.go": doc + `import "kesoku.dev/shared/wiring"`,
			"shared/wiring/f.go": doc + `import "kesoku.dev/shared/model/gemini"`},
			want: []string{"functions/googlechat/f.go:3: links shared/wiring → shared/model/gemini"}},
		"environment": {files: map[string]string{"shared/bus/f.go": doc + "import \"os\"\nvar x = os.Getenv(\"X\")"},
			want: []string{"shared/bus/f.go:4: uses os.Getenv"}},
		"init": {files: map[string]string{"shared/bus/f.go": doc + "func init() {}"},
			want: []string{"shared/bus/f.go:3: has an init function"}},
		"budgets": {files: map[string]string{"shared/a/f.go": doc + "func f() {" + strings.Repeat("\n", 60) + "}\n",
			"shared/b/f.go": doc + strings.Repeat("\n", 399), "shared/c/f.go": doc + strings.Repeat("\n", 390),
			"shared/d/f_test.go": "package x\nfunc f() {" + strings.Repeat("\n", 500) + "}\n"},
			want: []string{"shared/a/f.go:3: shared/a/f.go:f has 61 lines", "shared/b/f.go: shared/b/f.go has 401 lines"}},
		"documentation": {files: map[string]string{"shared/a/f.go": "package a\n\nfunc F() {}\ntype T[X any] int\nfunc (t *T[X]) M() {}\nconst (\n\tA = 1 // said\n\tB = 2\n)\ntype u int\nfunc (u) String() string { return \"\" }"},
			want: []string{"shared/a/f.go:1: package has no comment", "shared/a/f.go:3: exported F", "shared/a/f.go:4: exported T",
				"shared/a/f.go:5: exported M", "shared/a/f.go:8: exported B"}},
		"words": {files: map[string]string{"README.md": "in /wo" + "rk/main\nor ../sha" + "red", "shared/a/f.go": doc + "// TO" + "DO: later"},
			want: []string{"README.md:1: contains", "README.md:2: contains", "shared/a/f.go:3: contains TO" + "DO"}},
		"top level": {files: map[string]string{"src/x.txt": "", ".github/x": "", "docs/x": "", "main.go": doc},
			want: []string{"main.go: does not belong", "src: does not belong"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := fstest.MapFS{"go.mod": {Data: []byte("module kesoku.dev\n\ngo 1.26.0\n")}}
			for path, body := range tt.files {
				fsys[path] = &fstest.MapFile{Data: []byte(body)}
			}
			got, err := Check(fsys)
			if err != nil {
				t.Fatal(err)
			}
			ok := len(got) == len(tt.want)
			for i := range min(len(got), len(tt.want)) {
				ok = ok && strings.HasPrefix(got[i].String(), tt.want[i]) && got[i].Reason != ""
			}
			if !ok {
				t.Errorf("got %v\nwant %v", got, tt.want)
			}
		})
	}
}
