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

// head and row are the table's lines; what was not proved ends after the checksum.
const (
	head = "%-12s %5s %8s  %-12s"
	row  = "%-12s %5d %8.1f  %-12.6x"
)

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
	fmt.Printf(head, "function", "files", "zip KiB", "sha256")
	if prove {
		fmt.Printf(" %10s %8s  %s", "binary MiB", "start ms", "answers")
	}
	fmt.Println()
	for _, name := range names {
		if err := one(ctx, out, name, prove); err != nil {
			return err
		}
	}
	return nil
}

// one packs a function, and proves it if that is asked for. Its line is there as soon as it is packed.
func one(ctx context.Context, out, name string, prove bool) error {
	files, err := bundle.Files(ctx, ".", name)
	if err != nil {
		return err
	}
	archive, err := bundle.Zip(files)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, name+".zip"), archive, 0o600); err != nil {
		return err
	}
	sum := sha256.Sum256(archive)
	fmt.Printf(row, name, len(files), float64(len(archive))/(1<<10), sum[:6])
	defer fmt.Println()
	if !prove {
		return nil
	}
	dir, err := os.MkdirTemp("", "kesoku-bundle-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	p, err := bundle.Prove(ctx, archive, name, dir)
	if err != nil {
		return err
	}
	fmt.Printf(" %10.1f %8d  %d", float64(p.Binary)/(1<<20), p.Start.Milliseconds(), p.Status)
	return nil
}
