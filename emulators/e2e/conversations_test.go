package e2e_test

import (
	"flag"
	"kesoku.dev/emulators/e2e/invariant"
	"kesoku.dev/emulators/e2e/look"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what happened into the golden sections of testdata")

// Whole conversations: each file of testdata is a script, what people see at its end and the records that it leaves. The comment at its top
// names the requirements and cases it proves.
func TestConversations(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = strings.TrimSuffix(filepath.Base(file), ".txtar")
	}
	each(t, names, func(t *testing.T, i int) {
		file := files[i]
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := sections(a)
		p := newPlay(t, want)
		for line := range strings.Lines(want["script"]) {
			p.run(strings.TrimSpace(line))
		}
		invariant.Check(p.w)
		chat, records := look.Transcript(p.w), look.Table(p.w)+look.Outcomes(p.w)
		if *update {
			put(a, "chat", chat)
			put(a, "records", records)
			if err := os.WriteFile(file, txtar.Format(a), 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
		if chat != want["chat"] {
			t.Errorf("%s: people see\n%s\nwant\n%s", file, chat, want["chat"])
		}
		if records != want["records"] {
			t.Errorf("%s: records are\n%s\nwant\n%s", file, records, want["records"])
		}
	})
}
