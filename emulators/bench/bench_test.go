package bench_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"kesoku.dev/emulators/bench"
	"kesoku.dev/emulators/stack"
	"kesoku.dev/shared/testenv/emulator"
)

// TestMain serves a function where the stack starts this binary as one.
func TestMain(m *testing.M) {
	if os.Getenv("FUNCTION_TARGET") != "" {
		fmt.Fprintln(os.Stderr, stack.ServeFunction(os.Getenv("PORT")))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// A tiny profile goes through everything: processes, emulators, proxies, webhook, replies, counts and starts.
func TestRun(t *testing.T) {
	t.Parallel()
	emulators, err := emulator.Shared()
	if err != nil {
		t.Fatal(err)
	}
	config, err := stack.ConfigFiles(os.DirFS("../../infra/config"))
	if err != nil {
		t.Fatal(err)
	}
	const messages = 8
	r, err := bench.Run(t.Context(), bench.Options{
		Command: []string{os.Args[0]}, Emulators: emulators, Config: config, Starts: 1,
		Profiles: []bench.Profile{{Name: "tiny", Clients: 4, Spaces: 3, Messages: messages, Model: 10 * time.Millisecond}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	p := r.Profiles[0]
	if p.Messages != messages || p.Replies < 1 || p.Replies > messages || p.Refused != 0 {
		t.Errorf("%d messages, %d replies, %d refused", p.Messages, p.Replies, p.Refused)
	}
	if p.AckP50 <= 0 || p.ReplyP50 <= p.AckP50 || p.ReplyP99 < p.ReplyP50 || p.Rate <= 0 {
		t.Errorf("times: %+v", p)
	}
	// Every turn stores an event, a prompt and a reply, and publishes at each of its three hand-overs.
	if p.Reads < 3 || p.Writes < 6 || p.Published < 3 || p.Calls["Commit"] < 3 {
		t.Errorf("operations: %+v", p)
	}
	if len(p.Memory) != len(stack.Functions()) || p.Memory["turn"] < 10<<20 {
		t.Errorf("memory: %v", p.Memory)
	}
	for _, f := range r.Functions {
		if f.Start <= 0 || f.FirstEvent <= f.Start {
			t.Errorf("start of %s: %+v", f.Name, f)
		}
	}
	if len(r.Functions) != len(stack.Functions()) {
		t.Errorf("%d functions started, want %d", len(r.Functions), len(stack.Functions()))
	}
}

func TestRunRefusesNonsense(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]bench.Options{
		"nothing":         {},
		"no emulators":    {Command: []string{"x"}},
		"no such profile": {Command: []string{"x"}, Emulators: &emulator.Pair{}, Profiles: []bench.Profile{{Name: "x"}}},
	} {
		if _, err := bench.Run(t.Context(), o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
