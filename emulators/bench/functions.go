package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kesoku.dev/emulators/stack"
	"kesoku.dev/infra/bundle"
)

// Build makes of every function the archive that it is deployed from and the binary that the platform would build of it, both in dir, and returns
// the command that starts the one that FUNCTION_TARGET names. It must run somewhere in the repository.
func Build(ctx context.Context, dir string, functions ...string) (command []string, err error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return nil, err
	}
	if len(functions) == 0 {
		functions = stack.Functions()
	}
	for _, name := range functions {
		files, err := bundle.Files(ctx, root, name)
		if err != nil {
			return nil, err
		}
		archive, err := bundle.Zip(files)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name+".zip"), archive, 0o600); err != nil {
			return nil, fmt.Errorf("write the archive of function %s: %w", name, err)
		}
		if err := bundle.Build(ctx, archive, name, filepath.Join(dir, name+".source"), filepath.Join(dir, name)); err != nil {
			return nil, err
		}
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

// sizesOf are the sizes of a function's archive and binary, in bytes; 0 if the command is not one that Build made.
func sizesOf(command []string, function string) (archive, binary int64) {
	size := func(name string) int64 {
		info, err := os.Stat(filepath.Join(command[len(command)-1], name))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	return size(function + ".zip"), size(function)
}
