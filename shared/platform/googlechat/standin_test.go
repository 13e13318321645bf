package googlechat_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	chatapi "google.golang.org/api/chat/v1"
	"google.golang.org/api/option"

	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/platform/googlechat"
	"kesoku.dev/shared/platform/platformtest"
)

const (
	space      = "spaces/known"
	knownReply = space + "/threads/known"
)

// standIn is the part of the Chat API that the adapter calls, over one space.
type standIn struct {
	adapter *googlechat.Adapter

	mu       sync.Mutex
	fault    platformtest.Fault
	messages []*chatapi.Message
	requests map[string]string // requestId → message name
	queries  []string          // of creates and patches
	files    map[string]string
}

func newStandIn(t *testing.T) *standIn {
	t.Helper()
	s := &standIn{requests: map[string]string{}, files: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/spaces/{space}/messages", s.create)
	mux.HandleFunc("GET /v1/spaces/{space}/messages/{message}", s.get)
	mux.HandleFunc("PATCH /v1/spaces/{space}/messages/{message}", s.patch)
	mux.HandleFunc("GET /v1/media/{name...}", s.download)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	var err error
	s.adapter, err = googlechat.New(t.Context(), googlechat.Config{Endpoint: server.URL}, option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *standIn) create(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	s.queries = append(s.queries, r.URL.RawQuery)
	var m chatapi.Message
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		refuse(w, http.StatusBadRequest, "INVALID_ARGUMENT")
		return
	}
	if "spaces/"+r.PathValue("space") != space {
		refuse(w, http.StatusNotFound, "NOT_FOUND")
		return
	}
	fault := s.fault
	s.fault = ""
	if refused(w, fault) {
		return
	}
	if name, ok := s.requests[q.Get("requestId")]; ok {
		answer(w, s.find(name))
		return
	}
	if id := q.Get("messageId"); id != "" && s.find(space+"/messages/"+id) != nil {
		refuse(w, http.StatusConflict, "ALREADY_EXISTS")
		return
	}
	m.ClientAssignedMessageId = q.Get("messageId")
	m.Name = fmt.Sprintf("%s/messages/m%d", space, len(s.messages))
	if m.Thread == nil || m.Thread.Name != knownReply || q.Get("messageReplyOption") != "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD" {
		m.Thread = &chatapi.Thread{Name: fmt.Sprintf("%s/threads/t%d", space, len(s.messages))}
	}
	s.messages = append(s.messages, &m)
	s.requests[q.Get("requestId")] = m.Name
	if fault == platformtest.FaultLostReply {
		panic(http.ErrAbortHandler)
	}
	answer(w, &m)
}

func (s *standIn) get(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.find("spaces/" + r.PathValue("space") + "/messages/" + r.PathValue("message")); m != nil {
		answer(w, m)
		return
	}
	refuse(w, http.StatusNotFound, "NOT_FOUND")
}

func (s *standIn) patch(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries = append(s.queries, r.URL.RawQuery)
	m := s.find("spaces/" + r.PathValue("space") + "/messages/" + r.PathValue("message"))
	if m == nil {
		refuse(w, http.StatusNotFound, "NOT_FOUND")
		return
	}
	var change chatapi.Message
	if err := json.NewDecoder(r.Body).Decode(&change); err != nil || r.URL.Query().Get("updateMask") != "cards_v2" {
		refuse(w, http.StatusBadRequest, "INVALID_ARGUMENT")
		return
	}
	m.CardsV2 = change.CardsV2
	answer(w, m)
}

func (s *standIn) download(w http.ResponseWriter, r *http.Request) {
	body, ok := s.files[r.PathValue("name")]
	if !ok || r.URL.Query().Get("alt") != "media" {
		refuse(w, http.StatusNotFound, "NOT_FOUND")
		return
	}
	if strings.HasPrefix(body, "chunked") {
		w.(http.Flusher).Flush() // no Content-Length
	}
	_, _ = w.Write([]byte(body))
}

// find knows a message by Google's name and by the one that the client chose.
func (s *standIn) find(name string) *chatapi.Message {
	for _, m := range s.messages {
		if m.Name == name || space+"/messages/"+m.ClientAssignedMessageId == name {
			return m
		}
	}
	return nil
}

func refused(w http.ResponseWriter, f platformtest.Fault) bool {
	switch f {
	case platformtest.FaultBusy:
		w.Header().Set("Retry-After", strconv.Itoa(int(platformtest.RetryDelay/time.Second)))
		refuse(w, http.StatusTooManyRequests, "RESOURCE_EXHAUSTED")
	case platformtest.FaultBroken:
		refuse(w, http.StatusServiceUnavailable, "UNAVAILABLE")
	case platformtest.FaultForbidden:
		refuse(w, http.StatusForbidden, "PERMISSION_DENIED")
	case platformtest.FaultTooLong:
		refuse(w, http.StatusBadRequest, "INVALID_ARGUMENT")
	default:
		return false
	}
	return true
}

func refuse(w http.ResponseWriter, code int, status string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"error":{"code":%d,"status":%q,"message":"no"}}`, code, status)
}

func answer(w http.ResponseWriter, m *chatapi.Message) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(m)
}

// harness plays the stand-in to the suite.
type harness struct{ *standIn }

func (h harness) Adapter() platform.Adapter { return h.adapter }
func (h harness) Channel() string           { return space }
func (h harness) Missing() string           { return "spaces/missing" }
func (h harness) Thread(*testing.T) string  { return knownReply }
func (h harness) GoneThread() string        { return space + "/threads/gone" }

func (h harness) Fault(_ *testing.T, f platformtest.Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault = f
}

func (h harness) Delete(_ *testing.T, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.messages = slices.DeleteFunc(h.messages, func(m *chatapi.Message) bool { return m.Name == id })
}

func (h harness) Messages(t *testing.T) []platformtest.Message {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []platformtest.Message
	for _, m := range h.messages {
		content, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, platformtest.Message{ID: m.Name, ThreadID: m.Thread.Name, Content: string(content)})
	}
	return out
}
