package bundle_test

import (
	"archive/zip"
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"kesoku.dev/infra/bundle"
)

const root = "../.."

// Every function has an archive; what is in it is what it needs, and two runs make the same bytes.
func TestArchives(t *testing.T) {
	t.Parallel()
	names, err := bundle.Functions(root)
	if err != nil || !slices.Contains(names, "turn") {
		t.Fatalf("functions %v, %v", names, err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var runs [2][]byte
			for i := range runs {
				files, err := bundle.Files(t.Context(), root, name)
				if err != nil {
					t.Fatal(err)
				}
				if runs[i], err = bundle.Zip(files); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(runs[0], runs[1]) {
				t.Error("two runs differ")
			}
			inspect(t, name, runs[0])
		})
	}
}

// inspect holds an archive to what the platform wants of it and to what it must not have.
func inspect(t *testing.T, name string, archive []byte) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range r.File {
		paths = append(paths, f.Name)
		if f.Mode() != 0o644 || f.Modified.Year() != 1980 {
			t.Errorf("%s: mode %s, time %s", f.Name, f.Mode(), f.Modified)
		}
	}
	if !slices.IsSorted(paths) {
		t.Error("files are not sorted")
	}
	for _, want := range []string{"go.mod", "go.sum", "kesoku.go", "functions/" + name + "/" + name + ".go"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, p := range paths {
		other := strings.HasPrefix(p, "functions/") && !strings.HasPrefix(p, "functions/"+name+"/")
		driver := name != "turn" && name != "pipeline" && (strings.HasPrefix(p, "shared/model/gemini/") || strings.HasPrefix(p, "shared/model/generativeai/"))
		if other || driver || strings.HasSuffix(p, "_test.go") || strings.HasPrefix(p, "emulators/") || strings.HasPrefix(p, "shared/testenv/") {
			t.Errorf("%s does not belong there", p)
		}
	}
}

// What cannot be listed is told with the function's name.
func TestUnknownFunction(t *testing.T) {
	t.Parallel()
	if _, err := bundle.Files(t.Context(), root, "nosuch"); err == nil || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("%v", err)
	}
}

// An archive is built and started elsewhere: the webhook can be wired and turns a GET away. One that lacks a file says which function it is.
func TestProve(t *testing.T) {
	t.Parallel()
	const name = "googlechat"
	files, err := bundle.Files(t.Context(), root, name)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := bundle.Zip(files)
	if err != nil {
		t.Fatal(err)
	}
	p, err := bundle.Prove(t.Context(), archive, name, t.TempDir())
	if err != nil || p.Status != http.StatusMethodNotAllowed || p.Start <= 0 || p.Binary < 1<<20 {
		t.Errorf("%+v, %v", p, err)
	}
	delete(files, "functions/"+name+"/"+name+".go")
	if archive, err = bundle.Zip(files); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Prove(t.Context(), archive, name, t.TempDir()); err == nil || !strings.Contains(err.Error(), "build "+name) {
		t.Errorf("without its main file: %v", err)
	}
}
