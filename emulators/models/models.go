// Package models is a stand-in for Google's Gemini API: a server that speaks its public protocol well enough for the real SDKs, checks
// what the real one checks, and plays a model that shows the whole product without a key: it streams, thinks, calls the tools it is
// offered, answers from their results, and fails on demand. It knows the protocol only, nothing of who calls it.
//
// What it does not do: safety settings, cached contents, files by reference, several candidates, stop sequences.
package models

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"kesoku.dev/emulators/models/internal/form"
	"kesoku.dev/shared/clock"
)

// maxBody is the API's own limit of a request, in bytes.
const maxBody = 20 << 20

// Pace is how long the model takes. The zero value answers at once, for tests.
type Pace struct {
	First   time.Duration // before the first byte
	Chunk   time.Duration // between chunks
	Thought time.Duration // before each of the pieces of a slow thought, see slowPieces
}

// Lively is a pace at which people see an answer grow.
func Lively() Pace {
	return Pace{First: 400 * time.Millisecond, Chunk: 35 * time.Millisecond, Thought: 1200 * time.Millisecond}
}

// Reply is one scripted answer.
type Reply struct {
	Status int         // 0 is 200
	Header http.Header // on top of the protocol's own
	// Chunks are GenerateContentResponse objects with named enums; they are written as the request's form of stream wants them.
	Chunks []json.RawMessage
	// Body, if not nil, is sent as it stands instead of Chunks.
	Body []byte
	Hang bool // leave the connection open and send nothing more
	Cut  bool // break the connection
}

// Options set the stand-in up. The zero value is ready for tests.
type Options struct {
	Clock clock.Clock // nil is the machine's
	Pace  Pace
	// Script is what the first requests that pass all checks are answered with, one each; after it the model speaks for itself.
	Script []Reply
}

type server struct {
	clock clock.Clock
	pace  Pace

	mu      sync.Mutex
	script  []Reply
	refused map[[32]byte]bool // the prompts that were answered with 429 already
}

// New returns the stand-in.
func New(o Options) http.Handler {
	s := &server{clock: o.Clock, pace: o.Pace, script: o.Script, refused: map[[32]byte]bool{}}
	if s.clock == nil {
		s.clock = clock.System{}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1beta/models/{call...}", s.serve)
	mux.HandleFunc("POST /v1beta1/projects/{project}/locations/{location}/publishers/google/models/{call...}", s.serve)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p := problemf(http.StatusNotFound, "NOT_FOUND", "The requested URL %s was not found on this server.", r.URL.Path)
		form.Of(r, false).Refuse(w, p.Code, p)
	})
	return mux
}

// serve is every method of a model.
func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	call := r.PathValue("call")
	at := strings.LastIndexByte(call, ':')
	model, method := call, ""
	if at >= 0 {
		model, method = call[:at], call[at+1:]
	}
	f := form.Of(r, method == methodStream)
	req, problem := s.admit(w, r, model, method)
	if problem != nil {
		f.Refuse(w, problem.Code, problem)
		return
	}
	if reply, ok := s.nextScripted(); ok {
		s.send(w, r, f, reply.outcome())
		return
	}
	if method == methodCount {
		f.Unary(w, map[string]any{"totalTokens": req.tokens()})
		return
	}
	s.send(w, r, f, s.respond(req))
}

// admit checks the key, the size, the JSON and the rules of the protocol.
func (s *server) admit(w http.ResponseWriter, r *http.Request, model, method string) (*request, *problem) {
	if model == "" || (method != methodGenerate && method != methodStream && method != methodCount) {
		return nil, problemf(http.StatusNotFound, "NOT_FOUND", "models/%s is not found for API version v1beta, or is not supported for %s.",
			model, method)
	}
	if r.Header.Get("X-Goog-Api-Key") == "" && r.URL.Query().Get("key") == "" && r.Header.Get("Authorization") == "" {
		return nil, problemf(http.StatusForbidden, "PERMISSION_DENIED", "Method doesn't allow unregistered callers (callers without "+
			"established identity). Please use API Key or other form of API consumer identity to call this API.")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, invalid("Request payload size exceeds the limit: %d bytes.", maxBody)
	}
	if err != nil {
		return nil, invalid("The request body could not be read: %v", err)
	}
	var req request
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, invalid("Invalid JSON payload received. %v", err)
	}
	if method == methodCount {
		if req.GenerateContentRequest != nil {
			req = *req.GenerateContentRequest
		}
		return &req, nil
	}
	if p := req.validate(model); p != nil {
		return nil, p
	}
	return &req, nil
}

// nextScripted takes the next reply of the script.
func (s *server) nextScripted() (Reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.script) == 0 {
		return Reply{}, false
	}
	reply := s.script[0]
	s.script = s.script[1:]
	return reply, true
}
