package blob_test

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"kesoku.dev/shared/blob"
)

func TestName(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"a.txt":                          "a.txt",
		"报告 (最终).pdf":                    "报告 (最终).pdf",
		"Cafe\u0301.txt":                 "Café.txt", // NFC
		"../../etc/passwd":               "_.._etc_passwd",
		`C:\x\y.doc`:                     "C__x_y.doc",
		"":                               "file",
		"..":                             "file",
		" . ":                            "file",
		".bashrc":                        "bashrc",
		"a\r\nb\t c":                     "a b c",
		"a\x00\x7fb":                     "ab",
		"exe\u202egpj.exe":               "exegpj.exe", // a direction mark that hides the extension
		"bad\xff.txt":                    "bad_.txt",
		"a?b*c#d[e]%2f":                  "a_b_c_d_e__2f",
		strings.Repeat("长", 100) + ".md": strings.Repeat("长", 59) + ".md",
	} {
		got, err := blob.Name("s", "k", "i", file)
		if err != nil || got != "sessions/s/k/i/"+want {
			t.Errorf("file %q: %q, %v; want %q", file, got, err, want)
		}
	}
}

func TestNamesOfIDsStayApart(t *testing.T) { // case B58: call ids come in any form
	t.Parallel()
	seen := map[string]string{}
	for _, id := range []string{"a/b", "a_b", "a b", "..", ".", "_", "functions.Bash:0", "functions.Bash_0", "会话", "会議",
		strings.Repeat("x", 200), strings.Repeat("x", 201)} {
		got, err := blob.Name(id, "k", "i", "f")
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q are both %q", id, other, got)
		}
		seen[got] = id
	}
	for _, parts := range [][3]string{{"", "k", "i"}, {"s", "", "i"}, {"s", "k", ""}} {
		if got, err := blob.Name(parts[0], parts[1], parts[2], "f"); err == nil {
			t.Errorf("%q became %q", parts, got)
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add("s", "k", "../x", "../../a\x00b")
	f.Add("会话", ".", "functions.Bash:0", strings.Repeat("é", 300)+".verylongextension")
	f.Fuzz(func(t *testing.T, session, kind, id, file string) {
		name, err := blob.Name(session, kind, id, file)
		if err != nil {
			return
		}
		parts := strings.Split(name, "/")
		if len(parts) != 5 || len(name) > 1024 || !utf8.ValidString(name) || path.Clean(name) != name || strings.ContainsAny(name, "\r\n\x00") {
			t.Fatalf("%q", name)
		}
		if again, err := blob.Name(parts[1], parts[2], parts[3], parts[4]); err != nil || again != name {
			t.Errorf("%q is named %q, %v the second time", name, again, err)
		}
	})
}
