package doctor

import (
	"strings"
	"testing"
	"time"

	"kesoku.dev/shared/bus/topology"
)

// A subscription in production must have every limit that the leases count on.
func TestJudge(t *testing.T) {
	t.Parallel()
	good := topology.Subscription{
		Name: "projects/p/subscriptions/turns-push", PushEndpoint: "https://turn.run.app/", PushAccount: "invoker@p.iam.gserviceaccount.com",
		AckDeadline: 600 * time.Second, MinBackoff: 10 * time.Second, MaxBackoff: 600 * time.Second,
		DeadLetterTopic: "projects/p/topics/dead-letters", MaxAttempts: 20,
	}
	if got := judge(&good, false); got != "" {
		t.Errorf("the right one: %s", got)
	}
	for name, tt := range map[string]struct {
		change func(*topology.Subscription)
		says   string
		local  bool // wrong on the local stack too
	}{
		"detached":        {func(s *topology.Subscription) { s.Detached = true }, "detached", true},
		"ack deadline":    {func(s *topology.Subscription) { s.AckDeadline = 10 * time.Second }, "ack deadline is 10s", true},
		"no dead letters": {func(s *topology.Subscription) { s.DeadLetterTopic = "" }, "no dead-letter topic", true},
		"attempts":        {func(s *topology.Subscription) { s.MaxAttempts = 5 }, "after 5 attempts", true},
		"no retry policy": {func(s *topology.Subscription) { s.MinBackoff, s.MaxBackoff = 0, 0 }, "retries after 0s to 0s", false},
		"short back-off":  {func(s *topology.Subscription) { s.MaxBackoff = time.Minute }, "to 1m0s", false},
		"pulled":          {func(s *topology.Subscription) { s.PushEndpoint = "" }, `pushes to ""`, false},
		"plain HTTP":      {func(s *topology.Subscription) { s.PushEndpoint = "http://turn.run.app/" }, "http://turn", false},
		"no token":        {func(s *topology.Subscription) { s.PushAccount = "" }, "OIDC", false},
	} {
		s := good
		tt.change(&s)
		if got := judge(&s, false); !strings.Contains(got, tt.says) {
			t.Errorf("%s: %q, want %q", name, got, tt.says)
		}
		if got := judge(&s, true); (got != "") != tt.local {
			t.Errorf("%s on the local stack: %q", name, got)
		}
	}
}
