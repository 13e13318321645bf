// Package page serves the local page: a look-alike of Google Chat in which a developer plays all the people, beside the records that
// the app keeps of it, what was decided on each message and the traces of its turns. It may know the stand-ins, the message model and how a
// decision looks; it must not know how records and rules are stored, nor which spans there are.
//
// The page acts for anybody without a password, so its handler answers only requests for a loopback host, takes no cross-origin
// writes, and the caller binds it to a loopback address (Listen does).
package page

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"strconv"

	"kesoku.dev/emulators/googlechat"
	"kesoku.dev/shared/message"
)

//go:embed static
var static embed.FS

// Records is what the page shows beside the conversation.
type Records interface {
	// Sessions returns the ids of the sessions of a channel ("spaces/…"), the oldest first.
	Sessions(ctx context.Context, channelID string) ([]string, error)
	// Follow yields the last messages of a session (at most 200), in the order of seq, now and whenever one of them changes.
	Follow(ctx context.Context, sessionID string) iter.Seq2[[]message.Message, error]
	// Decisions yields the last events of a channel (at most 100, long texts cut), the oldest first, now and whenever one of them changes.
	Decisions(ctx context.Context, channelID string) iter.Seq2[[]Decision, error]
}

// page is one page over one stand-in.
type page struct {
	chat    *googlechat.Server
	records Records
	traces  Traces
	rules   Rules
}

// New returns the page's handler. records, traces and rules may be nil: then there are none to show, or to choose from.
func New(chat *googlechat.Server, records Records, traces Traces, rules Rules) http.Handler {
	p := &page{chat: chat, records: records, traces: traces, rules: rules}
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(fmt.Sprintf("the embedded page is not there: %v", err)) // impossible: the directory is named above
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /api/stream", p.stream)
	mux.HandleFunc("GET /api/state", answer(func(*http.Request, *struct{}) (any, error) { return p.snapshot(), nil }))
	mux.HandleFunc("GET /api/spaces", answer(func(*http.Request, *struct{}) (any, error) { return p.snapshot().Spaces, nil }))
	mux.HandleFunc("GET /api/users", answer(func(*http.Request, *struct{}) (any, error) { return p.snapshot().People, nil }))
	mux.HandleFunc("GET /api/trace", answer(p.trace))
	mux.HandleFunc("GET /api/rules", answer(p.listRules))
	mux.HandleFunc("POST /api/rules", answer(p.publishRules))
	mux.HandleFunc("GET /api/media/{resource}", p.media)
	mux.HandleFunc("POST /api/post", answer(p.post))
	mux.HandleFunc("POST /api/edit", answer(p.edit))
	mux.HandleFunc("POST /api/delete", answer(p.remove))
	mux.HandleFunc("POST /api/click", answer(p.click))
	mux.HandleFunc("POST /api/command", answer(p.command))
	mux.HandleFunc("POST /api/app", answer(p.setApp))
	mux.HandleFunc("POST /api/settings", answer(p.settings))
	mux.HandleFunc("GET /api/faults", answer(p.listFaults))
	mux.HandleFunc("POST /api/faults", answer(p.addFault))
	mux.HandleFunc("DELETE /api/faults", answer(p.clearFaults))
	return guard(http.NewCrossOriginProtection().Handler(mux))
}

// Listen opens a loopback port for the page; 0 picks a free one.
func Listen(ctx context.Context, port int) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen for the page on port %d: %w", port, err)
	}
	return l, nil
}

// guard refuses requests for any but a loopback host, so that no name that a stranger resolves to this machine reaches the page, and sets
// the headers that keep the page to itself.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.Host) {
			http.Error(w, "this page is for this machine alone", http.StatusForbidden)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		next.ServeHTTP(w, r)
	})
}

func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(name)
	return name == "localhost" || (ip != nil && ip.IsLoopback())
}
