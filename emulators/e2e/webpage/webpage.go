// Package webpage is a web server for fetch_url that counts how often each of its pages was read, so that a tool which runs twice is seen.
package webpage

import (
	"fmt"
	"maps"
	"net/http"
	"sync"
)

// Server serves a page under every path.
type Server struct {
	mu   sync.Mutex
	hits map[string]int
	gate chan struct{} // closed when pages may be served
}

// New returns a server that serves at once.
func New() *Server {
	s := &Server{hits: map[string]int{}, gate: make(chan struct{})}
	close(s.gate)
	return s
}

// Hold makes readers wait until release is called.
func (s *Server) Hold() (release func()) {
	gate := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = gate
	return sync.OnceFunc(func() { close(gate) })
}

// Hits returns how often each path was read.
func (s *Server) Hits() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.hits)
}

// ServeHTTP implements http.Handler. Paths under /missing/ are not there.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.hits[r.URL.Path]++
	gate := s.gate
	s.mu.Unlock()
	select {
	case <-gate:
	case <-r.Context().Done():
		return
	}
	if len(r.URL.Path) > 9 && r.URL.Path[:9] == "/missing/" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintf(w, "This is page %s of the test.\n", r.URL.Path) //nolint:gosec // G705: plain text for our own tool, for no browser
}
