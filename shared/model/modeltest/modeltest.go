// Package modeltest is the one suite that every model driver passes. It replays providers' wire bytes from testdata to the driver and
// looks at what the driver sends, so it knows wire formats (type Protocol) and the contract of package model, and no SDK. A stand-in
// of a provider takes the place of the replay through Harness.Serve, and the suite then tests both.
//
// Nothing is skipped: what a driver cannot do it must refuse with FaultUnsupported before it calls anyone, and the suite checks that.
package modeltest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"kesoku.dev/shared/history"
	"kesoku.dev/shared/model"
)

// Key is the API key that drivers under test are given. It must never appear in an error or a URL.
const Key = "test-key-7f3a"

// hangUpWithin is the patience with a driver that should let go at once.
const hangUpWithin = 10 * time.Second

// Abilities are what a driver can carry.
type Abilities struct {
	Thoughts   bool
	Signatures bool
	CallIDs    bool // the provider's call ids reach the driver and travel back
	Files      bool
	Schema     bool // an answer that follows a JSON schema
}

// Harness is a driver under test.
type Harness struct {
	// New returns a driver that calls baseURL with Key, or by other credentials if Keyless.
	New     func(t *testing.T, baseURL string) model.Driver
	Keyless bool
	// Protocol is what the driver speaks.
	Protocol Protocol
	// Model is any model name that the server takes.
	Model string
	Can   Abilities
	// Serve returns a server that plays the scenarios in their order, the last of them again and again. nil replays their bytes.
	Serve func(t *testing.T, scenarios []Scenario) http.Handler
}

// Run runs the whole suite.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, part := range []struct {
		name string
		test func(*testing.T, Harness)
	}{
		{"answers", testAnswers},
		{"faults", testFaults},
		{"network", testNetwork},
		{"request", testRequest},
		{"roundtrip", testRoundTrip},
		{"pairing", testPairing},
		{"scattered", testScattered},
		{"refusals", testRefusals},
		{"count", testCount},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.test(t, h)
		})
	}
}

// server is the provider's side of one test.
type server struct {
	url    string
	driver model.Driver
	h      Harness
	t      testing.TB

	mu     sync.Mutex
	bodies [][]byte
	gone   chan struct{} // a value for each request that ended
}

// start serves the named scenarios and makes a driver for them.
func (h Harness) start(t *testing.T, names ...string) *server {
	t.Helper()
	var scenarios []Scenario
	for _, name := range names {
		scenarios = append(scenarios, load(t, h.Protocol, name))
	}
	handler := http.Handler(nil)
	if h.Serve != nil {
		handler = h.Serve(t, scenarios)
	} else {
		handler = replay(scenarios)
	}
	s := &server{h: h, t: t, gone: make(chan struct{}, 1024)}
	web := httptest.NewServer(s.record(handler))
	t.Cleanup(func() {
		web.CloseClientConnections() // a driver that does not hang up must fail, not hang
		web.Close()
	})
	s.url = web.URL
	s.driver = h.New(t, web.URL)
	return s
}

// record keeps each request's body and sees that the key stays out of the URL.
func (s *server) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { s.gone <- struct{}{} }()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			s.t.Errorf("read the driver's request: %v", err)
		}
		if strings.Contains(r.URL.String(), Key) {
			s.t.Errorf("the key travels in the URL %s", r.URL)
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, body)
		s.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// wantHangUp waits for the driver to let go of its request.
func (s *server) wantHangUp() {
	s.t.Helper()
	select {
	case <-s.gone:
	case <-time.After(hangUpWithin):
		s.t.Error("the driver keeps the connection")
	}
}

// calls returns how many requests came.
func (s *server) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// seen returns what the latest request said.
func (s *server) seen() Seen {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.bodies) == 0 {
		s.t.Fatal("the driver sent no request")
	}
	seen, err := s.h.Protocol.read(s.bodies[len(s.bodies)-1])
	if err != nil {
		s.t.Fatalf("the driver's request: %v\n%s", err, s.bodies[len(s.bodies)-1])
	}
	return seen
}

// got is one whole answer.
type got struct {
	texts, thoughts []string
	calls           []history.Part // call and signature
	signatures      [][]byte       // those of text and thoughts
	usage           *model.Usage
	finish          model.Finish
	err             error
}

func (g got) text() string    { return strings.Join(g.texts, "") }
func (g got) thought() string { return strings.Join(g.thoughts, "") }

// fault returns the kind of fault that the answer ended in, if it was one.
func (g got) fault() *model.Fault {
	var f *model.Fault
	if errors.As(g.err, &f) {
		return f
	}
	return nil
}

// generate gathers an answer and checks what holds for every one: nothing follows an error or the finish, and no error tells the key.
func (s *server) generate(ctx context.Context, req model.Request) got {
	s.t.Helper()
	var g got
	for delta, err := range s.driver.Generate(ctx, req) {
		if g.err != nil || g.finish != "" {
			s.t.Errorf("after error %v, finish %q came %+v, %v", g.err, g.finish, delta, err)
		}
		g.add(delta, err)
	}
	if g.err != nil && !s.h.Keyless && strings.Contains(g.err.Error(), Key) {
		s.t.Errorf("the error tells the key: %v", g.err)
	}
	if g.err == nil && g.finish == "" {
		s.t.Error("the answer ended without an error and without a finish")
	}
	return g
}

func (g *got) add(d model.Delta, err error) {
	g.err, g.finish = err, d.Finish
	switch {
	case d.Call != nil:
		g.calls = append(g.calls, history.Part{Call: d.Call, Signature: d.Signature})
	case len(d.Signature) > 0:
		g.signatures = append(g.signatures, d.Signature)
	}
	if d.Text != "" {
		g.texts = append(g.texts, d.Text)
	}
	if d.Thought != "" {
		g.thoughts = append(g.thoughts, d.Thought)
	}
	if d.Usage != nil {
		g.usage = d.Usage
	}
}

// ask is the plainest request.
func (h Harness) ask() model.Request {
	return model.Request{Model: h.Model, Turns: []history.Turn{
		{Speaker: history.SpeakerUser, Parts: []history.Part{{Text: "What time is it in Tokyo and Paris?"}}},
	}}
}
