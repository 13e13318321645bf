// Package bundle makes the source archives that functions are deployed from: for each function go.mod, go.sum, the packages of this module that it
// needs and nothing else, and a generated package at the root, since the platform's buildpack looks for a function nowhere else. An archive is the
// same to the byte whenever its sources are, so that deploying what has not changed changes nothing.
package bundle

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Module is the path of this module.
const Module = "kesoku.dev"

// rootFile is the package at the archive's root: the first import selects the buildpack's generated main, the second registers the function.
const rootFile = `// Package kesoku is what the platform builds: it brings in one function, which registers itself.
package kesoku

import (
	_ "github.com/GoogleCloudPlatform/functions-framework-go/functions"
	_ "` + Module + `/functions/%s"
)
`

// epoch is the time of every file: the earliest that a zip can tell.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Functions lists the functions of the repository at root, by name.
func Functions(root string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, "functions"))
	if err != nil {
		return nil, fmt.Errorf("list the functions: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Files returns the files of a function's archive by their slash-separated path.
func Files(ctx context.Context, root, function string) (map[string][]byte, error) {
	needed, err := packages(ctx, root, function)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"kesoku.go": fmt.Appendf(nil, rootFile, function)}
	names := []string{"go.mod", "go.sum"}
	for _, p := range needed {
		dir := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, Module), "/")
		for _, f := range slices.Concat(p.GoFiles, p.EmbedFiles) {
			names = append(names, path.Join(dir, f))
		}
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name))) //nolint:gosec // files of this repository, as go list names them
		if err != nil {
			return nil, fmt.Errorf("bundle %s: %w", function, err)
		}
		files[name] = data
	}
	return files, nil
}

// listed is what go list says of a package.
type listed struct {
	ImportPath string
	GoFiles    []string
	EmbedFiles []string
	Module     *struct{ Path string }
}

// packages lists the packages of this module that a function needs, for the platform's system.
func packages(ctx context.Context, root, function string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=ImportPath,GoFiles,EmbedFiles,Module", "./functions/"+function) //nolint:gosec // our own
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list what function %s needs: %w: %s", function, err, stderr.Bytes())
	}
	var needed []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return needed, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list what function %s needs: %w", function, err)
		}
		if p.Module != nil && p.Module.Path == Module {
			needed = append(needed, p)
		}
	}
}

// Zip packs files, sorted, each with the same time and mode.
func Zip(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: epoch}
		h.SetMode(0o644)
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = f.Write(files[name])
		}
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return out.Bytes(), nil
}
