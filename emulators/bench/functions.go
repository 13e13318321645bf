package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kesoku.dev/emulators/stack"
)

// mainOf is the program that the platform's buildpack generates around a function; it differs in listening on loopback only.
const mainOf = `package main

import (
	"log"
	"os"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
	_ "github.com/GoogleCloudPlatform/functions-framework-go/functions"
	_ "kesoku.dev/functions/%s"
)

func main() {
	if err := funcframework.StartHostPort("127.0.0.1", os.Getenv("PORT")); err != nil {
		log.Fatal(err)
	}
}
`

// Build compiles every function into a binary of its own in dir, as small as the platform would, and returns the command that starts the one
// that FUNCTION_TARGET names. It must run somewhere in the repository.
func Build(ctx context.Context, dir string, functions ...string) (command []string, err error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return nil, err
	}
	if len(functions) == 0 {
		functions = stack.Functions()
	}
	// The programs are laid over the repository for the compiler, so that nothing is written into it.
	overlay := map[string]map[string]string{"Replace": {}}
	args := []string{"build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", dir + string(filepath.Separator), "-overlay",
		filepath.Join(dir, "overlay.json")}
	for _, name := range functions {
		source := filepath.Join(dir, name+".go")
		if err := os.WriteFile(source, fmt.Appendf(nil, mainOf, name), 0o600); err != nil {
			return nil, fmt.Errorf("write the program of function %s: %w", name, err)
		}
		overlay["Replace"][filepath.Join(root, "dist", "bench", name, "main.go")] = source
		args = append(args, "./dist/bench/"+name)
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return nil, fmt.Errorf("write the overlay: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o600); err != nil {
		return nil, fmt.Errorf("write the overlay: %w", err)
	}
	build := exec.CommandContext(ctx, "go", args...) //nolint:gosec // names of our own functions
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the functions: %w: %s", err, out)
	}
	return []string{"/bin/sh", "-c", `exec "$0/$FUNCTION_TARGET"`, dir}, nil
}

// moduleRoot is the folder of go.mod.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: go env GOMOD: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return "", errors.New("find the repository: this folder is in no Go module, run it in a clone")
	}
	return filepath.Dir(mod), nil
}

// sizeOf is the size of a function's own binary, in bytes; 0 if the command is not one that Build made.
func sizeOf(command []string, function string) int64 {
	info, err := os.Stat(filepath.Join(command[len(command)-1], function))
	if err != nil {
		return 0
	}
	return info.Size()
}
