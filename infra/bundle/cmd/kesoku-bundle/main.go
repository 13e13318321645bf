// Command kesoku-bundle writes dist/<function>.zip for every function, or for those named. Run it at the repository's root. With -prove each archive is
// unpacked elsewhere, built the way the platform builds it, started and probed.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"kesoku.dev/infra/bundle"
)

func main() {
	out := flag.String("out", "dist", "folder to write to")
	prove := flag.Bool("prove", false, "build and start each archive as the platform does")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *out, *prove, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kesoku-bundle:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string, prove bool, names []string) error {
	if len(names) == 0 {
		var err error
		if names, err = bundle.Functions("."); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(out, 0o750); err != nil {
		return err
	}
	for _, name := range names {
		files, err := bundle.Files(ctx, ".", name)
		if err != nil {
			return err
		}
		archive, err := bundle.Zip(files)
		if err != nil {
			return err
		}
		target := filepath.Join(out, name+".zip")
		if err := os.WriteFile(target, archive, 0o600); err != nil {
			return err
		}
		fmt.Printf("%-24s %4d files  %7d bytes  sha256 %.12x\n", target, len(files), len(archive), sha256.Sum256(archive))
		if prove {
			if err := proveOne(ctx, archive, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func proveOne(ctx context.Context, archive []byte, name string) error {
	dir, err := os.MkdirTemp("", "kesoku-bundle-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	p, err := bundle.Prove(ctx, archive, name, dir, nil)
	if err != nil {
		return err
	}
	fmt.Printf("%-24s builds: %.1f MiB, answers (%d) %d ms after its start\n", "", float64(p.Binary)/(1<<20), p.Status, p.Start.Milliseconds())
	return nil
}
