package modeltest

import (
	"bytes"
	"embed"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

//go:embed testdata
var testdata embed.FS

// Then says what a server does once it has sent a scenario's bytes.
type Then string

// What may follow the bytes.
const (
	ThenEnd  Then = ""     // the answer ends as it should
	ThenHang Then = "hang" // the connection stays open and nothing more comes
	ThenCut  Then = "cut"  // the connection breaks
)

// Scenario is one reply of a provider, byte for byte. The files under testdata hold one each: a comment, optionally the status and
// headers under head, the body once for each protocol, and what happens then.
type Scenario struct {
	Name   string
	Status int
	Header http.Header
	Body   []byte
	Then   Then
}

// load reads a scenario's bytes in the protocol.
func load(t testing.TB, p Protocol, name string) Scenario {
	t.Helper()
	raw, err := testdata.ReadFile(path.Join("testdata", p.folder, name+".txtar"))
	if err != nil {
		t.Fatalf("scenario %s: %v", name, err)
	}
	s := Scenario{Name: name, Status: http.StatusOK, Header: http.Header{"Content-Type": {p.contentType}}}
	for _, file := range txtar.Parse(raw).Files {
		switch file.Name {
		case "head":
			if err := s.readHead(string(file.Data)); err != nil {
				t.Fatalf("scenario %s: %v", name, err)
			}
		case p.body:
			s.Body = file.Data
		case "then":
			s.Then = Then(strings.TrimSpace(string(file.Data)))
		}
	}
	if s.Body == nil {
		t.Fatalf("scenario %s has no body for protocol %s", name, p.body)
	}
	return s
}

func (s *Scenario) readHead(head string) error {
	first, rest, _ := strings.Cut(strings.TrimSpace(head), "\n")
	status, err := strconv.Atoi(first)
	if err != nil {
		return fmt.Errorf("status line %q: %w", first, err)
	}
	s.Status = status
	s.Header = http.Header{"Content-Type": {"application/json"}}
	for line := range strings.Lines(rest) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			return fmt.Errorf("header line %q", line)
		}
		s.Header.Set(key, value)
	}
	return nil
}

// replay serves the scenarios one after the other, and the last one for ever. Blocks that a blank line ends are flushed one by one.
func replay(scenarios []Scenario) http.Handler {
	turns := make(chan Scenario, len(scenarios))
	for _, s := range scenarios {
		turns <- s
	}
	last := scenarios[len(scenarios)-1]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := last
		select {
		case s = <-turns:
		default:
		}
		for key, values := range s.Header {
			w.Header()[key] = values
		}
		w.WriteHeader(s.Status)
		for _, block := range bytes.SplitAfter(s.Body, []byte("\n\n")) {
			if _, err := w.Write(block); err != nil {
				return // the client has gone, which some tests are about
			}
			if f, ok := w.(http.Flusher); ok {
				f.Flush()
			}
		}
		switch s.Then {
		case ThenHang:
			<-r.Context().Done()
		case ThenCut:
			panic(http.ErrAbortHandler)
		case ThenEnd:
		}
	})
}
