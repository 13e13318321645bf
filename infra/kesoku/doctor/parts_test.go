package doctor

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"kesoku.dev/shared/bus"
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
	if got := judge(&good, ackDeadline, false); got != "" {
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
		if got := judge(&s, ackDeadline, false); !strings.Contains(got, tt.says) {
			t.Errorf("%s: %q, want %q", name, got, tt.says)
		}
		if got := judge(&s, ackDeadline, true); (got != "") != tt.local {
			t.Errorf("%s on the local stack: %q", name, got)
		}
	}
}

// The webhook is quick and holds no lease: what heard rooms say needs no more than its own time.
func TestDeadlineOf(t *testing.T) {
	t.Parallel()
	s := topology.Subscription{AckDeadline: time.Minute, DeadLetterTopic: "projects/p/topics/inbound-dead", MaxAttempts: 20}
	if got := judge(&s, deadlineOf(workspaceEvents), true); got != "" {
		t.Errorf("a minute for the webhook: %s", got)
	}
	for _, topic := range bus.Topics() {
		if got := judge(&s, deadlineOf(topic), true); !strings.Contains(got, "ack deadline is 1m0s, not 10m0s") {
			t.Errorf("a minute for %s: %q", topic, got)
		}
	}
}

// Every index that is deployed is examined, and no other.
func TestQueriesHaveAllIndexes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../firestore/firestore.indexes.json")
	if err != nil {
		t.Fatal(err)
	}
	var deployed struct {
		Indexes []struct {
			CollectionGroup string
			Fields          []struct{ FieldPath, Order string }
		}
	}
	if err := json.Unmarshal(text, &deployed); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, index := range deployed.Indexes {
		var fields []string
		for _, f := range index.Fields {
			name := f.FieldPath
			if f.Order == "DESCENDING" {
				name += " descending"
			}
			fields = append(fields, name)
		}
		want = append(want, index.CollectionGroup+" ("+strings.Join(fields, ", ")+")")
	}
	for _, q := range queries() {
		got = append(got, q.index)
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("examined %q, deployed %q", got, want)
	}
}

// What the doctor asks for is what Terraform enables: a fresh deployment has it.
func TestAPIsAreTerraforms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../terraform/main.tf")
	if err != nil {
		t.Fatal(err)
	}
	for _, api := range (&examination{}).apisInUse() {
		if !strings.Contains(string(text), `"`+api+`.googleapis.com",`) {
			t.Errorf("%s is examined, and not enabled by terraform/main.tf", api)
		}
	}
}
