package e2e_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"kesoku.dev/emulators/e2e/world"
	"kesoku.dev/emulators/googlechat"
	chatworld "kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/emulators/stack"
	"kesoku.dev/emulators/telemetry"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/testenv"
	"kesoku.dev/shared/testenv/emulator"
)

// logs takes what the functions print.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// entries are the log entries so far, each as JSON.
func (l *logs) entries(t *testing.T) []map[string]any {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []map[string]any
	for line := range bytes.Lines(l.b.Bytes()) {
		var e map[string]any
		if json.Unmarshal(line, &e) == nil && e["message"] != nil {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		t.Error("nothing was logged")
	}
	return out
}

// traced is a stack of processes whose spans and logs are looked at.
type traced struct {
	processes
	logs *logs
}

func newTraced(t *testing.T, env ...string) *traced {
	t.Helper()
	pair, err := emulator.Shared()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &traced{processes: processes{t: t, env: testenv.New(t)}, logs: &logs{}}
	p.page = httptest.NewServer(nil)
	t.Cleanup(p.page.Close)
	p.Stack, err = stack.Start(t.Context(), stack.Options{
		Command: []string{self}, Project: p.env.ProjectID, Emulators: pair, Config: world.DefaultConfig(),
		Chat: googlechat.Options{WritesPerSecond: -1}, FunctionLog: p.logs, Sweep: -1,
		Env: append(env, "FETCH_ALLOW="+strings.TrimPrefix(p.page.URL, "http://")),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// trace asks and returns the one trace of the turn that answers, once all of it is there.
func (p *traced) trace(text string) []telemetry.Span {
	p.t.Helper()
	if _, err := p.Chat.Post(chatworld.Post{User: world.Alice, Space: world.Room, Text: text}); err != nil {
		p.t.Fatal(err)
	}
	p.until("delivered reply", func() bool { return p.has(message.ClassFinalReply, message.StatusDelivered) })
	find := func() [][]telemetry.Span {
		return p.Traces.Find(map[string]any{"gen_ai.conversation.id": p.session().Ref.ID, "kesoku.turn": int64(1)})
	}
	p.until("end of the trace", func() bool {
		all := find()
		return len(all) == 1 && whole(all[0])
	})
	return find()[0]
}

// whole reports whether every wake-up that was sent has been handled, and every parent is there.
func whole(spans []telemetry.Span) bool {
	known, handled := map[string]bool{}, map[string]bool{}
	for _, s := range spans {
		known[s.ID], handled[s.Parent] = true, true
	}
	for _, s := range spans {
		if (s.Parent != "" && !known[s.Parent]) || (strings.HasPrefix(s.Name, "send ") && !handled[s.ID]) {
			return false
		}
	}
	return true
}

// One question is one trace through all functions, each span below the one that caused it.
func TestTrace(t *testing.T) {
	t.Parallel()
	p := newTraced(t)
	spans := p.trace("@Kesoku what time is it in Tokyo?")
	byID := map[string]telemetry.Span{}
	for _, s := range spans {
		byID[s.ID] = s
	}
	// The road to a span, as service:name.
	road := func(s telemetry.Span) string {
		out := s.Service + ":" + s.Name
		for s.Parent != "" {
			s = byID[s.Parent]
			out = s.Service + ":" + s.Name + " > " + out
		}
		return out
	}
	const turnRoad = "googlechat:POST googlechat > googlechat:send inbound > pipeline:process inbound > pipeline:settle messages > pipeline:send turns > turn:process turns > turn:invoke_agent kesoku"
	want := map[string]int{
		turnRoad: 1, turnRoad + " > turn:chat gemini-2.5-flash": 2, turnRoad + " > turn:execute_tool current_time": 1,
		turnRoad + " > turn:send deliveries > deliver:process deliveries > deliver:create_message googlechat": 0, // at least
	}
	got := map[string]int{}
	for _, s := range spans {
		got[road(s)]++
		if s.Failed {
			t.Errorf("%s failed: %v", road(s), s.Attrs)
		}
	}
	for r, n := range want {
		if got[r] < max(n, 1) || (n > 0 && got[r] != n) {
			t.Errorf("%d times %s, want %d; there are\n%s", got[r], r, n, lines(got))
		}
	}
	session := p.session().Ref.ID
	linked := 0
	for _, e := range p.logs.entries(t) {
		trace, _ := e["logging.googleapis.com/trace"].(string)
		span, _ := e["logging.googleapis.com/spanId"].(string)
		if _, ours := byID[span]; ours && trace == "projects/"+p.env.ProjectID+"/traces/"+spans[0].Trace && e["logging.googleapis.com/trace_sampled"] == true {
			linked++
		}
		if f := e["function"]; (f == "turn" || f == "deliver") && e["session"] != session {
			t.Errorf("an entry without its session: %v", e)
		}
	}
	if linked < 3 {
		t.Errorf("%d log entries are found by the trace", linked)
	}
}

func lines(m map[string]int) string {
	var b strings.Builder
	for k, n := range m {
		fmt.Fprintln(&b, n, k)
	}
	return b.String()
}

// What people write, what tools are asked and keys are on no span and in no log.
func TestNothingPrivateIsTraced(t *testing.T) {
	t.Parallel()
	secret, key := "Canary"+rand.Text(), "Key"+rand.Text()
	p := newTraced(t, "GEMINI_API_KEY="+key)
	spans := p.trace("@Kesoku read " + p.page.URL + "/" + secret)
	tool := false
	for _, s := range spans {
		tool = tool || s.Name == "execute_tool fetch_url"
	}
	if !tool {
		t.Error("no tool has run with the secret")
	}
	all, err := json.Marshal(p.Traces.Find(nil))
	if err != nil {
		t.Fatal(err)
	}
	logged, err := json.Marshal(p.logs.entries(t))
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string][]byte{"spans": all, "log": logged} {
		for _, private := range []string{secret, key, "Alice"} {
			if bytes.Contains(bytes.ToLower(text), []byte(strings.ToLower(private))) {
				t.Errorf("%s is in the %s:\n%s", private, where, text)
			}
		}
	}
}

// hanging answers nothing.
type hanging struct{}

func (hanging) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // only then does net/http notice that the caller has gone
	<-r.Context().Done()
}

// Where spans cannot be sent, people wait no longer and nothing fails.
func TestNoTelemetry(t *testing.T) {
	t.Parallel()
	hangs := httptest.NewServer(hanging{})
	t.Cleanup(hangs.Close) // after the functions, which hold connections to it, have gone
	p := newTraced(t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+hangs.URL+"/v1/traces")
	begun := time.Now()
	if _, err := p.Chat.Post(chatworld.Post{User: world.Alice, Space: world.Room, Text: "@Kesoku what time is it in Tokyo?"}); err != nil {
		t.Fatal(err)
	}
	p.until("delivered reply", func() bool { return p.has(message.ClassFinalReply, message.StatusDelivered) })
	t.Logf("answered within %s", time.Since(begun))
	for _, e := range p.logs.entries(t) {
		if e["severity"] == "ERROR" || e["message"] == "nacked: comes again" {
			t.Errorf("logged %v", e)
		}
	}
}
