package page_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"kesoku.dev/emulators/googlechat"
	"kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/emulators/page"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/message"
)

const (
	room  = "spaces/AAQAkesoku01"
	alice = "users/100000000000000000001"
)

// memory is a store of records that a test writes.
type memory struct {
	mu      sync.Mutex
	list    []message.Message
	decided []page.Decision
	changed chan struct{}
}

func newMemory() *memory { return &memory{changed: make(chan struct{})} }

// put adds a message, or replaces the one with its id.
func (m *memory) put(list ...message.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, in := range list {
		found := false
		for i := range m.list {
			if m.list[i].ID == in.ID {
				in.Seq = m.list[i].Seq
				m.list[i], found = in, true
			}
		}
		if !found {
			in.Seq = int64(len(m.list) + 1)
			m.list = append(m.list, in)
		}
	}
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *memory) read() ([]message.Message, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]message.Message{}, m.list...), m.changed
}

func (m *memory) Sessions(_ context.Context, channel string) ([]string, error) {
	if list, _ := m.read(); len(list) == 0 || channel != room {
		return nil, nil
	}
	return []string{"s-1f2e3d4c5b"}, nil
}

func (m *memory) Follow(ctx context.Context, _ string) iter.Seq2[[]message.Message, error] {
	return func(yield func([]message.Message, error) bool) {
		for {
			list, changed := m.read()
			if !yield(list, nil) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

func newChat(t *testing.T) *googlechat.Server {
	t.Helper()
	chat, err := googlechat.New(googlechat.Options{WritesPerSecond: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chat.Close)
	return chat
}

func TestGuards(t *testing.T) {
	t.Parallel()
	handler := page.New(newChat(t), nil, nil, nil)
	const post = `{"space":"` + room + `","user":"` + alice + `","text":"hi"}`
	origin := func(o string) map[string]string { return map[string]string{"Origin": o} }
	for name, tc := range map[string]struct {
		method, path, host, body string
		header                   map[string]string
		want                     int
	}{
		"page":                {"GET", "/", "localhost:8080", "", nil, 200},
		"ip":                  {"GET", "/api/state", "127.0.0.1:8080", "", nil, 200},
		"ipv6":                {"GET", "/api/users", "[::1]:8080", "", nil, 200},
		"rebound name":        {"GET", "/api/state", "evil.example:8080", "", nil, 403},
		"another machine":     {"GET", "/", "192.168.1.5", "", nil, 403},
		"post":                {"POST", "/api/post", "localhost", post, origin("http://localhost"), 200},
		"cross-origin post":   {"POST", "/api/post", "localhost", post, origin("https://evil.example"), 403},
		"cross-site post":     {"POST", "/api/post", "localhost", post, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"cross-origin delete": {"DELETE", "/api/faults", "localhost", "", origin("https://evil.example"), 403},
		"form post":           {"POST", "/api/post", "localhost", post, map[string]string{"Content-Type": "text/plain"}, 400},
		"unknown field":       {"POST", "/api/post", "localhost", `{"x":1}`, nil, 400},
		"two values":          {"POST", "/api/post", "localhost", post + post, nil, 400},
		"unknown space":       {"POST", "/api/post", "localhost", `{"space":"spaces/x","user":"y"}`, nil, 404},
		"bad fault":           {"POST", "/api/faults", "localhost", `{"op":"x"}`, nil, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(tc.method, tc.path, strings.NewReader(tc.body))
			r.Host = tc.host
			r.Header.Set("Content-Type", "application/json")
			for k, v := range tc.header {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != tc.want {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, tc.want)
			}
			if w.Code == 200 && !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'self'") {
				t.Error("no content security policy")
			}
		})
	}
}

// The stream begins with everything and goes on with what changes, of the chat, of the records and of the decisions.
func TestStream(t *testing.T) {
	t.Parallel()
	stub, records := newChat(t), newMemory()
	web := httptest.NewServer(page.New(stub, records, nil, nil))
	defer web.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL+"/api/stream?space="+room, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	next := func(event string, into any) {
		t.Helper()
		for name := ""; lines.Scan(); {
			if n, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = n
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && name == event {
				if err := json.Unmarshal([]byte(data), into); err != nil {
					t.Fatal(err)
				}
				return
			}
		}
		t.Fatalf("the stream ended before %q: %v", event, lines.Err())
	}
	var snapshot struct {
		App    struct{ DisplayName string }
		Spaces []struct{ Name string }
	}
	if next("snapshot", &snapshot); snapshot.App.DisplayName != "Kesoku" || len(snapshot.Spaces) != 5 {
		t.Errorf("snapshot %+v", snapshot)
	}
	records.put(message.Message{ID: "m1", Role: message.RoleUser, Type: message.TypeText, Status: message.StatusPendingAgent})
	if _, err := stub.Post(world.Post{Space: room, User: alice, Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	var m struct{ Text string }
	if next("message", &m); m.Text != "hi" {
		t.Errorf("message %+v", m)
	}
	var got struct {
		Session string
		Records []struct {
			ID, Status string
			Class      int
		}
	}
	if next("records", &got); got.Session == "" || len(got.Records) != 1 || got.Records[0].Class != 1 {
		t.Errorf("records %+v", got)
	}
	var told struct {
		Space     string
		Decisions []struct {
			Text, Outcome string
			Decision      struct{ Reason string }
		}
	}
	records.decide(decided(1, "1", "hi", chat.Decision{Effect: chat.EffectWake, Reason: "at", By: "rule"}, "accepted"))
	for len(told.Decisions) == 0 {
		next("decisions", &told)
	}
	if d := told.Decisions[0]; told.Space != room || d.Text != "hi" || d.Outcome != "accepted" || d.Decision.Reason != "at" {
		t.Errorf("decisions %+v", told)
	}
	records.put(message.Message{ID: "m1", Role: message.RoleUser, Type: message.TypeText, Status: message.StatusProcessed})
	for got.Records[0].Status != "processed" { // what stood before may be told once more
		next("records", &got)
	}
}

func TestListenIsLoopback(t *testing.T) {
	t.Parallel()
	l, err := page.Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if !strings.HasPrefix(l.Addr().String(), "127.0.0.1:") {
		t.Errorf("listens on %s", l.Addr())
	}
}

func TestAttachmentsAreNeverShown(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(page.New(newChat(t), nil, nil, nil))
	defer web.Close()
	body := `{"space":"` + room + `","user":"` + alice + `","files":[{"name":"x.html","type":"text/html","data":"PGI+"}]}`
	resp, err := http.Post(web.URL+"/api/post", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var m struct {
		Attachment []struct{ AttachmentDataRef struct{ ResourceName string } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&m); err != nil || len(m.Attachment) != 1 {
		t.Fatalf("posted %+v, %v", m, err)
	}
	got, err := http.Get(web.URL + "/api/media/" + m.Attachment[0].AttachmentDataRef.ResourceName)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	data, _ := io.ReadAll(got.Body)
	shown := got.Header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment")
	if string(data) != "<b>" || shown {
		t.Errorf("got %q with %v", data, got.Header)
	}
}
