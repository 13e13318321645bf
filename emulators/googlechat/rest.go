package googlechat

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/api/chat/v1"

	"kesoku.dev/emulators/googlechat/fault"
	"kesoku.dev/emulators/googlechat/wire"
)

const (
	maxBody  = 1 << 20 // bytes of a request
	maxCards = 32_000  // bytes of the cards of a message
)

// operation answers one REST call with what goes out as JSON, or an error, best a *wire.Error.
type operation func(r *http.Request) (any, error)

// Handler serves the REST APIs under /v1/, the keys under /certs/ and the faults under /control/faults.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	const message, reactions = "/v1/spaces/{space}/messages/{message}", "/v1/spaces/{space}/messages/{message}/reactions"
	mux.Handle("POST /v1/spaces/{space}/messages", s.serve("create", s.createMessage))
	mux.Handle("GET /v1/spaces/{space}/messages", s.serve("list", s.approved(s.listMessages)))
	mux.Handle("GET "+message, s.serve("get", s.getMessage))
	mux.Handle("PATCH "+message, s.serve("patch", s.patchMessage))
	mux.Handle("PUT "+message, s.serve("patch", s.patchMessage))
	mux.Handle("DELETE "+message, s.serve("delete", s.deleteMessage))
	mux.Handle("GET /v1/spaces", s.serve("", s.listSpaces))
	mux.Handle("GET /v1/spaces/{space}", s.serve("", s.getSpace))
	mux.Handle("GET /v1/spaces/{space}/members", s.serve("", s.listMembers))
	mux.Handle(reactions, s.serve("", noReactions))
	mux.Handle(reactions+"/{reaction}", s.serve("", noReactions))
	mux.HandleFunc("GET /v1/media/{resource...}", s.downloadMedia)
	s.workspaceEvents(mux)
	chatKeys, oidcKeys := s.hook.Keys()
	mux.Handle("GET /certs/chat.json", chatKeys)
	mux.Handle("GET /certs/oidc.json", oidcKeys)
	mux.HandleFunc("/control/faults", s.controlFaults)
	mux.Handle("/", s.serve("", func(r *http.Request) (any, error) {
		return nil, wire.Errorf(http.StatusNotFound, "Method %s %s not found.", r.Method, r.URL.Path)
	}))
	return mux
}

// serve answers a call of the REST API, with the fault that is armed for it, if any. Operations that write count against the space's
// limit; a space that is unknown fails later.
func (s *Server) serve(op string, do operation) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		armed, _ := s.faults.Take(op, spaceName(r))
		out, err := s.answer(op, armed, do, r)
		if armed.Kind == fault.KindDrop || armed.Kind == fault.KindTimeoutAfterWrite {
			panic(http.ErrAbortHandler) // closes the connection without an answer
		}
		writeJSON(w, out, err)
	})
}

func (s *Server) answer(op string, armed fault.Fault, do operation, r *http.Request) (any, error) {
	if err := s.authorised(r); err != nil {
		return nil, err
	}
	if err := failure(armed); err != nil {
		return nil, err
	}
	if armed.Kind == fault.KindDrop {
		return struct{}{}, nil
	}
	if op == "create" || op == "patch" || op == "delete" {
		if err := s.Spend(spaceName(r)); err != nil {
			return nil, err
		}
	}
	return do(r)
}

// failure is the error of a fault that answers with one.
func failure(f fault.Fault) error {
	switch f.Kind {
	case fault.Kind429:
		return wire.Exhausted(f.RetryAfterSeconds)
	case fault.Kind500:
		return wire.Errorf(http.StatusInternalServerError, "Internal error encountered.")
	case fault.Kind503:
		e := wire.Errorf(http.StatusServiceUnavailable, "The service is currently unavailable.")
		e.RetryAfter = f.RetryAfterSeconds
		return e
	case fault.Kind403:
		return wire.Errorf(http.StatusForbidden, "The caller does not have permission")
	case fault.Kind404:
		return wire.Errorf(http.StatusNotFound, "Requested entity was not found.")
	case fault.KindInvalidArgument:
		return wire.TooLong()
	}
	return nil
}

// authorised checks that there is a token where one is asked for.
func (s *Server) authorised(r *http.Request) error {
	if s.requireBearer && !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		return wire.Errorf(http.StatusUnauthorized, "Request is missing required authentication credential.")
	}
	return nil
}

// decode reads a message as the API takes it: a field it does not know is refused, be it deep in a card. (The real API also takes the
// fields' snake_case names, which no client library sends.)
func decode(r *http.Request) (*wire.Message, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, wire.Errorf(http.StatusBadRequest, "Request payload size exceeds the limit: %d bytes.", maxBody)
	}
	strict := json.NewDecoder(strings.NewReader(string(body)))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&chat.Message{}); err != nil {
		return nil, wire.Errorf(http.StatusBadRequest, "Invalid JSON payload received. %v", err)
	}
	var m wire.Message
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, wire.Errorf(http.StatusBadRequest, "Invalid JSON payload received. %v", err)
	}
	return &m, checkSizes(&m)
}

func checkSizes(m *wire.Message) error {
	if err := wire.CheckText(m.Text, true); err != nil {
		return err
	}
	if len(m.CardsV2) > maxCards {
		return wire.Errorf(http.StatusBadRequest, "Cards exceed the maximum size of %d bytes.", maxCards)
	}
	return nil
}

func writeJSON(w http.ResponseWriter, out any, err error) {
	code := http.StatusOK
	if err != nil {
		var e *wire.Error
		if !errors.As(err, &e) {
			e = wire.Errorf(http.StatusInternalServerError, "Internal error encountered: %v", err)
		}
		if e.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(e.RetryAfter))
		}
		code, out = e.Code, map[string]*wire.Error{"error": e}
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(out) // the client has gone, there is nobody left to tell
}

// controlFaults arms (POST), lists (GET) and disarms (DELETE) faults. It is the stand-in's own, no part of Google Chat.
func (s *Server) controlFaults(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		var f fault.Fault
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&f); err != nil {
			writeJSON(w, nil, wire.Errorf(http.StatusBadRequest, "read the fault: %v", err))
			return
		}
		if err := s.Inject(f); err != nil {
			writeJSON(w, nil, err)
			return
		}
	case http.MethodDelete:
		s.ClearFaults()
	}
	writeJSON(w, map[string]any{"faults": s.Faults()}, nil)
}
