package terraform_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// terraform runs the command in a folder and returns what it says. Providers are kept in cache, so that a test fetches one once.
func terraform(ctx context.Context, dir, cache string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "terraform", append([]string{"-chdir=" + dir}, args...)...)
	cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_PLUGIN_CACHE_DIR="+cache)
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func needTerraform(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("terraform"); errors.Is(err, exec.ErrNotFound) {
		t.Skip("terraform is not installed: only the Go tests hold the files here; install terraform to have them formatted, validated and planned")
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	needTerraform(t)
	if out, err := terraform(t.Context(), ".", t.TempDir(), "fmt", "-check", "-recursive", "-diff"); err != nil {
		t.Errorf("terraform fmt: %v\n%s", err, out)
	}
}

// initFor is how long fetching the provider may take, where there is a network.
const initFor = 3 * time.Minute

// The configuration is valid, and its own tests pass under a mocked provider; on a copy, so that nothing is left behind here. Whether the
// provider can be had is asked with a configuration that asks for nothing else: a mistake of ours must not look like a missing network.
func TestTerraform(t *testing.T) {
	t.Parallel()
	needTerraform(t)
	dir, cache, probe := t.TempDir(), t.TempDir(), t.TempDir()
	copyTo(t, "versions.tf", filepath.Join(probe, "versions.tf"))
	ctx, cancel := context.WithTimeout(t.Context(), initFor)
	defer cancel()
	if out, err := terraform(ctx, probe, cache, "init", "-backend=false", "-input=false", "-no-color"); err != nil {
		t.Skipf("the provider is not to be had here: %v\n%s", err, out)
	}
	for p := range readFiles(t, os.DirFS("..")) {
		copyTo(t, filepath.Join("..", p), filepath.Join(dir, p))
	}
	for _, f := range []string{"googlechat", "pipeline", "turn", "deliver", "cron", "sweep"} {
		write(t, filepath.Join(dir, "dist", f+".zip"), []byte("a bundle's place, "+f))
	}
	for _, args := range [][]string{
		{"init", "-backend=false", "-input=false", "-no-color"}, {"validate", "-no-color"}, {"test", "-no-color"},
	} {
		out, err := terraform(t.Context(), filepath.Join(dir, root), cache, args...)
		if err != nil {
			t.Fatalf("terraform %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		t.Logf("terraform %s:\n%s", strings.Join(args, " "), out)
	}
}

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, data)
}

func write(t *testing.T, to string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
