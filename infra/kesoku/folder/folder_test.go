package folder_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kesoku.dev/infra/kesoku/folder"
)

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	files := map[string]string{"kesoku.yaml": "chat: {}\n", "roles/default/intro.md": "hi\n"}
	if changed, err := folder.Write(dir, files, false); err != nil || len(changed) != 2 {
		t.Fatalf("%v, %v", changed, err)
	}
	got, err := folder.Read(dir)
	if diff := cmp.Diff(files, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if changed, err := folder.Write(dir, files, false); err != nil || len(changed) != 0 {
		t.Errorf("the same again: %v, %v", changed, err)
	}
}

// A folder that would be overwritten stays as it is, in all its files.
func TestWriteSparesOthersChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := folder.Write(dir, map[string]string{"b": "mine"}, false); err != nil {
		t.Fatal(err)
	}
	_, err := folder.Write(dir, map[string]string{"a": "new", "b": "theirs"}, false)
	got, _ := folder.Read(dir)
	if !errors.Is(err, folder.ErrDiffers) || len(got) != 1 || got["b"] != "mine" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := folder.Write(dir, map[string]string{"a": "new", "b": "theirs"}, true); err != nil {
		t.Error(err)
	}
}

// Names come from a database: none leads out of the folder. Links in it lead nowhere either.
func TestNothingOutsideIsTouched(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../out", "a/../../out", "/out", "link/out"} {
		base := t.TempDir()
		dir := filepath.Join(base, "in")
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "link") {
			if err := os.Symlink(base, filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := folder.Write(dir, map[string]string{name: "x"}, true); err == nil {
			t.Errorf("%s is written", name)
		}
		if _, err := os.Stat(filepath.Join(base, "out")); err == nil {
			t.Errorf("%s came out of the folder", name)
		}
	}
	dir := t.TempDir()
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "kesoku.yaml")); err != nil {
		t.Fatal(err)
	}
	if files, err := folder.Read(dir); err == nil {
		t.Errorf("a link is followed: %v", files)
	}
}

func TestReadRefusesWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kesoku.yaml"), make([]byte, 512<<10+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Read(dir); err == nil {
		t.Error("read")
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	if got := folder.Diff(map[string]string{"a": "x\n"}, map[string]string{"a": "x\n"}); got != "" {
		t.Errorf("of the same: %q", got)
	}
	got := folder.Diff(map[string]string{"a": "1\n", "gone": "x\n"}, map[string]string{"a": "2\n"})
	want := "--- published/a\n+++ new/a\n@@ -1 +1 @@\n-1\n+2\n--- published/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := folder.Diff(nil, map[string]string{"a": "1\n"}); !strings.Contains(got, "--- /dev/null") {
		t.Errorf("of nothing: %q", got)
	}
}
