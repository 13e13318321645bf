// Package host is what all worlds of a test process share: the functions framework on one port, the token endpoint, the staging area. It hands
// each call to the world whose project it is about, and knows nothing of what a world is.
package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
	cloudevents "github.com/cloudevents/sdk-go/v2"

	"kesoku.dev/emulators/oauth"
	"kesoku.dev/emulators/storage"
	"kesoku.dev/shared/bus"
)

const (
	// Bucket is the staging area's; names in it begin with a session's id, so all worlds can share it.
	Bucket  = "kesoku-e2e"
	account = "deliver@kesoku-e2e.iam.gserviceaccount.com"
)

// World takes the calls that are about its project.
type World interface {
	// Event is a push for a function.
	Event(ctx context.Context, function string, e cloudevents.Event) error
	// Request is a call of the webhook.
	Request(w http.ResponseWriter, r *http.Request)
}

// host is the process's own.
type host struct {
	url     string // of the functions framework
	storage string

	mu     sync.Mutex
	worlds map[string]World // by project
}

var shared host

// Subscribers are the functions behind topics.
func Subscribers() map[bus.Topic]string {
	return map[bus.Topic]string{
		bus.TopicInbound: "pipeline", bus.TopicTurns: "turn", bus.TopicDeliveries: "deliver", bus.TopicCron: "cron", bus.TopicSweeps: "sweep",
	}
}

// Main runs a package's tests over one functions framework; TestMain calls it. The process must not have FUNCTION_TARGET set, since the
// framework then serves that function alone.
func Main(m *testing.M) int {
	stop, err := shared.start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		return 1
	}
	defer stop()
	return m.Run()
}

func (h *host) start() (stop func(), err error) {
	h.worlds = map[string]World{}
	tokens, err := oauth.New(account)
	if err != nil {
		return nil, err
	}
	token := httptest.NewServer(tokens)
	files := httptest.NewServer(storage.New(storage.Options{Buckets: []string{Bucket}}))
	h.storage = files.URL
	dir, err := os.MkdirTemp("", "kesoku-e2e-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for credentials: %w", err)
	}
	stop = func() {
		token.Close()
		files.Close()
		_ = os.RemoveAll(dir) // a temporary folder; the system clears it in time
	}
	if _, err := tokens.WriteKey(dir, "kesoku-e2e", token.URL); err != nil {
		return stop, err
	}
	// The Chat client finds its credentials as it does when deployed.
	if err := os.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(dir, "credentials.json")); err != nil {
		return stop, fmt.Errorf("name the credentials: %w", err)
	}
	return stop, h.serve()
}

// serve registers one path per function and starts the framework on a free port.
func (h *host) serve() error {
	ctx := context.Background()
	for _, name := range Subscribers() {
		err := funcframework.RegisterCloudEventFunctionContext(ctx, "/ps/"+name+"/", func(ctx context.Context, e cloudevents.Event) error {
			w := h.world(projectOf(e.Source()))
			if w == nil {
				return fmt.Errorf("no world for %q", e.Source())
			}
			return w.Event(ctx, name, e)
		})
		if err != nil {
			return fmt.Errorf("register function %s: %w", name, err)
		}
	}
	err := funcframework.RegisterHTTPFunctionContext(ctx, "/hook/", func(rw http.ResponseWriter, r *http.Request) {
		w := h.world(strings.TrimPrefix(r.URL.Path, "/hook/"))
		if w == nil {
			http.NotFound(rw, r)
			return
		}
		w.Request(rw, r)
	})
	if err != nil {
		return fmt.Errorf("register the webhook: %w", err)
	}
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- funcframework.StartHostPort("127.0.0.1", port) }()
	h.url = "http://127.0.0.1:" + port
	return listens(ctx, "127.0.0.1:"+port, failed)
}

func freePort(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// listens returns once the address accepts connections.
func listens(ctx context.Context, address string, failed <-chan error) error {
	for range 1000 {
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case err := <-failed:
			return fmt.Errorf("serve functions: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return errors.New("the functions framework does not listen")
}

// projectOf reads the project out of an event's source, //pubsub.googleapis.com/projects/P/topics/T.
func projectOf(source string) string {
	_, rest, _ := strings.Cut(source, "/projects/")
	project, _, _ := strings.Cut(rest, "/")
	return project
}

func (h *host) world(project string) World {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.worlds[project]
}

// Enter makes the world reachable by its project until leave is called.
func Enter(project string, w World) (leave func()) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.worlds[project] = w
	return func() {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		delete(shared.worlds, project)
	}
}

// Storage is the staging area's address.
func Storage() string { return shared.storage }

// PushURL is where a function's pushes go; the topic's name belongs behind it.
func PushURL(function string) string { return shared.url + "/ps/" + function }

// HookURL is where a project's webhook listens.
func HookURL(project string) string { return shared.url + "/hook/" + project }
