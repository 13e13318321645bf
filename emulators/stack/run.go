package stack

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"kesoku.dev/emulators/models"
	"kesoku.dev/emulators/page"
)

// defaultPort is the page's, unless PORT moves it.
const defaultPort = 8080

// Run runs the stack with its page until ctx ends. While it runs, envFile, if not empty, tells a shell where everything is; see WriteEnviron.
func Run(ctx context.Context, out io.Writer, envFile string) error {
	port := defaultPort
	if p := os.Getenv("PORT"); p != "" {
		var err error
		if port, err = strconv.Atoi(p); err != nil || port < 0 || port > 65535 {
			return fmt.Errorf("PORT is %q: write a number from 0 to 65535", p)
		}
	}
	l, err := page.Listen(ctx, port)
	if err != nil {
		return fmt.Errorf("%w; set PORT to another", err)
	}
	fmt.Fprintln(out, "starting the Firestore and Pub/Sub emulators and the functions …")
	begun := time.Now()
	s, err := Start(ctx, Local(os.Stderr))
	if err != nil {
		_ = l.Close() // nothing was served on it
		return err
	}
	defer s.Stop()
	if envFile != "" {
		if err := s.WriteEnviron(envFile); err != nil {
			_ = l.Close()
			return err
		}
		defer func() { _ = os.Remove(envFile) }() // what it names is gone
	}
	pageCtx, closePage := context.WithCancel(context.WithoutCancel(ctx))
	defer closePage()
	url := serve(pageCtx, l, s.Page())
	s.greet(out, url, time.Since(begun))
	if envFile != "" {
		fmt.Fprint(out, "\n  make doctor, or make kesoku ARGS=\"sessions\", in another terminal operates it.\n")
	}
	<-ctx.Done()
	fmt.Fprintln(out, "\nstopping …")
	return nil
}

// WriteEnviron writes OperatorEnviron for a shell to read: set -a; source FILE; set +a.
func (s *Stack) WriteEnviron(file string) error {
	var text strings.Builder
	text.WriteString("# Where kesoku-local runs, for: set -a; source this; set +a. It is removed when that ends.\n")
	for _, pair := range s.OperatorEnviron() {
		name, value, _ := strings.Cut(pair, "=")
		fmt.Fprintf(&text, "%s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("tell the command line where everything is: %w", err)
	}
	return nil
}

// Local are the options of a stack for people: a model that takes its time, this repository's configuration, a log on w.
func Local(w io.Writer) Options {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	level := slog.LevelWarn
	if os.Getenv("VERBOSE") != "" {
		level = slog.LevelInfo
	}
	functionLog := io.Discard
	if os.Getenv("VERBOSE") != "" {
		functionLog = w
	}
	files, err := ConfigFiles(os.DirFS(configDir()))
	if err != nil {
		files = map[string]string{}
	}
	return Options{
		Command: []string{self}, Config: files, Models: models.Options{Pace: models.Lively()}, ModelKey: os.Getenv("GEMINI_API_KEY"),
		FunctionLog: functionLog, Log: slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})),
	}
}

// configDir is where the configuration files are, seen from the repository's root.
func configDir() string {
	if dir := os.Getenv("KESOKU_CONFIG"); dir != "" {
		return dir
	}
	return filepath.Join("infra", "config")
}

// ConfigFiles reads all files of a configuration folder.
func ConfigFiles(dir fs.FS) (map[string]string, error) {
	files := map[string]string{}
	err := fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dir, path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return files, nil
}

// greet prints where everything is.
func (s *Stack) greet(out io.Writer, url string, took time.Duration) {
	model := "stand-in at " + s.URLs.Models
	if s.opts.ModelKey != "" {
		model = "the Gemini API, by GEMINI_API_KEY"
	}
	fmt.Fprintf(out, `
Kesoku runs (%.1f s). Ctrl-C ends it.

  page       %s
  webhook    %s
  Chat API   %s   (stand-in; certificates under /certs/, faults under /control/faults)
  model      %s
  storage    %s   (stand-in)
  Firestore  %s   project %s
  Pub/Sub    %s
  sample     %s   (a page to have read)
`, took.Seconds(), url, s.URLs.Webhook, s.URLs.ChatAPI, model, s.URLs.Storage, s.URLs.Firestore, s.opts.Project, s.URLs.PubSub, s.URLs.Sample)
}

// serve runs a handler on a listener until ctx ends and returns its URL.
func serve(ctx context.Context, l net.Listener, h http.Handler) string {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }() // ends with ErrServerClosed
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}
