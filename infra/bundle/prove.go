package bundle

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// mainFile is the program that the platform's buildpack generates around the package at the archive's root; there the host is empty.
const mainFile = `package main

import (
	"log"
	"os"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
	_ "` + Module + `"
)

func main() {
	if err := funcframework.StartHostPort(%q, os.Getenv("PORT")); err != nil {
		log.Fatal(err)
	}
}
`

// loopback keeps what is started here from everybody else.
const loopback = "127.0.0.1"

const (
	maxUnpacked = 64 << 20 // bytes of an archive's files together
	probeWithin = 20 * time.Second
	probeEvery  = time.Millisecond // it is also how exact Proof.Start is
)

// environment is enough for every function to start: names that nothing has, and addresses that nobody listens on.
var environment = []string{
	"GOOGLE_CLOUD_PROJECT=kesoku-bundle", "STAGING_BUCKET=kesoku-bundle", "FIRESTORE_EMULATOR_HOST=127.0.0.1:1", "PUBSUB_EMULATOR_HOST=127.0.0.1:1",
	"STORAGE_EMULATOR_HOST=127.0.0.1:1", "CHAT_PROJECT_NUMBER=1", "CHAT_AUDIENCE=https://kesoku.example/",
}

// Proof is what was seen of an archive that was built and started.
type Proof struct {
	Binary int64         // bytes
	Start  time.Duration // from exec to the first answer
	Status int           // of that answer: what the function has for a GET from nobody, which is to refuse it
}

// Prove does with an archive what the platform does: builds it below dir, starts it with FUNCTION_TARGET and PORT, waits for its first answer to
// a GET, and stops it. An answer of 500 or more fails, for then the function cannot be wired.
func Prove(ctx context.Context, archive []byte, function, dir string) (Proof, error) {
	binary := filepath.Join(dir, "function")
	if err := Build(ctx, archive, function, filepath.Join(dir, "source"), binary); err != nil {
		return Proof{}, err
	}
	info, err := os.Stat(binary)
	if err != nil {
		return Proof{}, fmt.Errorf("prove %s: %w", function, err)
	}
	p := Proof{Binary: info.Size()}
	p.Status, p.Start, err = probe(ctx, binary, function)
	return p, err
}

// Build builds an archive as the platform does: unpacks it into dir, which it makes, puts a generated main beside it and compiles that, as
// small as it gets. The binary serves on loopback alone.
func Build(ctx context.Context, archive []byte, function, dir, binary string) error {
	app := filepath.Join(dir, "serverless_function_app")
	if err := os.MkdirAll(app, 0o750); err != nil {
		return fmt.Errorf("build %s: %w", function, err)
	}
	if err := unpack(archive, dir); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(app, "main.go"), fmt.Appendf(nil, mainFile, loopback), 0o600); err != nil {
		return fmt.Errorf("build %s: %w", function, err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./serverless_function_app") //nolint:gosec // ours
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s from its archive: %w: %s", function, err, out)
	}
	return nil
}

// unpack writes an archive's files below dir and nowhere else.
func unpack(archive []byte, dir string) error {
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	defer func() { _ = root.Close() }()
	left := int64(maxUnpacked)
	for _, f := range r.File {
		if err := root.MkdirAll(filepath.Dir(f.Name), 0o750); err != nil {
			return fmt.Errorf("unpack %s: %w", f.Name, err)
		}
		in, err := f.Open()
		if err != nil {
			return fmt.Errorf("unpack %s: %w", f.Name, err)
		}
		data, err := io.ReadAll(io.LimitReader(in, left+1))
		if left -= int64(len(data)); err == nil && left < 0 {
			err = fmt.Errorf("more than %d bytes", maxUnpacked)
		}
		if err := errors.Join(err, in.Close()); err != nil {
			return fmt.Errorf("unpack %s: %w", f.Name, err)
		}
		if err := root.WriteFile(f.Name, data, 0o600); err != nil {
			return fmt.Errorf("unpack %s: %w", f.Name, err)
		}
	}
	return nil
}

// probe starts the function and returns its first answer.
func probe(ctx context.Context, binary, function string) (status int, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", loopback+":0")
	if err != nil {
		return 0, 0, fmt.Errorf("find a free port: %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err := errors.Join(err, l.Close()); err != nil {
		return 0, 0, fmt.Errorf("find a free port: %w", err)
	}
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = slices.Concat(os.Environ(), environment, []string{"FUNCTION_TARGET=" + function, "PORT=" + port})
	cmd.Stdout, cmd.Stderr = &log, &log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, fmt.Errorf("start %s: %w", function, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if status, err := ask(ctx, "http://"+net.JoinHostPort(loopback, port)); err == nil {
			took = time.Since(began)
			cancel()
			<-ended // killed
			if status >= http.StatusInternalServerError {
				return status, took, fmt.Errorf("function %s does not work: it answers %d: %s", function, status, log.Bytes())
			}
			return status, took, nil
		}
		select {
		case err := <-ended:
			return 0, 0, fmt.Errorf("function %s ended at its start: %w: %s", function, err, log.Bytes())
		case <-time.After(probeEvery):
		}
	}
}

func ask(ctx context.Context, url string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}
