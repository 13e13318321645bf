package page

import (
	"net/http"
	"strconv"

	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/emulators/telemetry"
)

// Traces is what the page shows of a turn's course.
type Traces interface {
	// Turn returns the traces that a turn of a session ran in, the oldest first, each by the start of its spans.
	Turn(sessionID string, turn int) [][]telemetry.Span
	// Heard returns a channel that is closed when there are more spans.
	Heard() <-chan struct{}
}

func (p *page) trace(r *http.Request, _ *struct{}) (any, error) {
	q := r.URL.Query()
	turn, err := strconv.Atoi(q.Get("turn"))
	if err != nil || p.traces == nil {
		return nil, wire.Errorf(http.StatusNotFound, "there is no trace of turn %q", q.Get("turn"))
	}
	return map[string][][]telemetry.Span{"traces": p.traces.Turn(q.Get("session"), turn)}, nil
}
