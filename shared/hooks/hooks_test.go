package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/hooks"
)

type verdictOf = func(context.Context, chat.Event) (hooks.Verdict, error)

func gives(v hooks.Verdict) verdictOf {
	return func(context.Context, chat.Event) (hooks.Verdict, error) { return v, nil }
}

// P2, P20: before-receive is serial: each sees the text that the one before left, the first drop is the end, no verdict is an error.
func TestBeforeReceive(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	shout := func(_ context.Context, e chat.Event) (hooks.Verdict, error) {
		return hooks.Replace(strings.ToUpper(e.Text)), nil
	}
	tests := map[string]struct {
		listeners []verdictOf
		text      string
		pass      bool
		err       error
	}{
		"nobody listens":   {nil, "hi", true, nil},
		"passes":           {[]verdictOf{gives(hooks.Pass()), gives(hooks.Verdict{})}, "hi", true, nil},
		"replaced in turn": {[]verdictOf{gives(hooks.Replace("hello")), shout}, "HELLO", true, nil},
		"replaced by none": {[]verdictOf{gives(hooks.Replace(""))}, "", true, nil},
		"dropped":          {[]verdictOf{shout, gives(hooks.Drop()), func(context.Context, chat.Event) (hooks.Verdict, error) { return hooks.Pass(), down }}, "HI", false, nil},
		"no verdict":       {[]verdictOf{func(context.Context, chat.Event) (hooks.Verdict, error) { return hooks.Pass(), down }, gives(hooks.Drop())}, "", false, down},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hooks.Hooks{OnBeforeReceive: tt.listeners}
			e, pass, err := h.BeforeReceive(t.Context(), chat.Event{Text: "hi"})
			if e.Text != tt.text || pass != tt.pass || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Errorf("%q, %v, %v; want %q, %v, %v", e.Text, pass, err, tt.text, tt.pass, tt.err)
			}
		})
	}
}

// P20: before-send is a waterfall, and an error keeps its mark.
func TestBeforeSend(t *testing.T) {
	t.Parallel()
	add := func(s string) func(context.Context, hooks.Fragment) (string, error) {
		return func(_ context.Context, f hooks.Fragment) (string, error) { return f.Text + s, nil }
	}
	h := hooks.Hooks{OnBeforeSend: []func(context.Context, hooks.Fragment) (string, error){add("1"), add("2")}}
	f, err := h.BeforeSend(t.Context(), hooks.Fragment{MessageID: "m", Text: "0"})
	if err != nil || f.Text != "012" || f.MessageID != "m" {
		t.Errorf("%+v, %v", f, err)
	}
	h.OnBeforeSend = append(h.OnBeforeSend, func(context.Context, hooks.Fragment) (string, error) { return "", errs.Permanentf("never") })
	if f, err := h.BeforeSend(t.Context(), hooks.Fragment{Text: "0"}); errs.KindOf(err) != errs.KindPermanent || f.Text != "" {
		t.Errorf("%+v, %v", f, err)
	}
}

// P20: what only tells reaches every listener, whatever one of them does.
func TestTelling(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	var told []string
	h := hooks.Hooks{
		OnDeciders: []func(context.Context, []string) error{func(_ context.Context, names []string) error { told = append(told, names...); return nil }},
		OnAgentStatus: []func(context.Context, hooks.AgentStatus) error{
			func(context.Context, hooks.AgentStatus) error { panic("oh no") },
			func(context.Context, hooks.AgentStatus) error { return down },
			func(_ context.Context, s hooks.AgentStatus) error { told = append(told, string(s.Status)); return nil },
		},
	}
	err := h.AgentStatus(t.Context(), hooks.AgentStatus{Status: hooks.StatusFailed})
	if !errors.Is(err, down) || !strings.Contains(err.Error(), "listener 0: panic: oh no") || errs.KindOf(err) != errs.KindRetryable {
		t.Errorf("%v", err)
	}
	if err := h.Deciders(t.Context(), []string{"rule", "judge"}); err != nil || !slices.Equal(told, []string{"failed", "rule", "judge"}) {
		t.Errorf("told %v, %v", told, err)
	}
}

// Panics of listeners that decide are errors too, and no verdict.
func TestPanics(t *testing.T) {
	t.Parallel()
	h := hooks.Hooks{
		OnBeforeReceive: []verdictOf{func(context.Context, chat.Event) (hooks.Verdict, error) { panic("a") }},
		OnBeforeSend:    []func(context.Context, hooks.Fragment) (string, error){func(context.Context, hooks.Fragment) (string, error) { panic("b") }},
	}
	if _, pass, err := h.BeforeReceive(t.Context(), chat.Event{}); pass || err == nil {
		t.Errorf("%v, %v", pass, err)
	}
	if _, err := h.BeforeSend(t.Context(), hooks.Fragment{Text: "x"}); err == nil {
		t.Error("no error")
	}
}

type announced []hooks.Lifecycle

func (a *announced) Announce(_ context.Context, l hooks.Lifecycle) error {
	*a = append(*a, l)
	return nil
}

// P20: the examples of docs/events.md are what is really announced, field by field, and all there is.
func TestLifecycleIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []hooks.Lifecycle
	for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		dec := json.NewDecoder(strings.NewReader(block[1]))
		dec.DisallowUnknownFields()
		var l hooks.Lifecycle
		if err := dec.Decode(&l); err != nil {
			t.Fatalf("%s: %v", block[1], err)
		}
		documented = append(documented, l)
	}
	var got announced
	h := hooks.Hooks{}
	h.AnnounceTo(&got, func() time.Time { return time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC) })
	const route, session = "googlechat:spaces/AAAA", "5b1c9d52"
	e := chat.Event{
		Platform: "googlechat", Kind: chat.KindMessage, MessageID: "spaces/AAAA/messages/BBBB.CCCC", ChannelID: "spaces/AAAA", Text: "a secret",
		Sender: chat.Sender{ID: "users/1", Name: "Ann"},
	}
	problems := errors.Join(
		h.Receive(t.Context(), hooks.Received{Event: e, SessionID: session, Decision: chat.Decision{Effect: chat.EffectWake, Reason: "at", By: "rule"}}),
		h.AgentStatus(t.Context(), hooks.AgentStatus{RouteID: route, SessionID: session, Turn: 3, Status: hooks.StatusFinished}),
		h.RulesChange(t.Context(), 12),
		h.EngineAction(t.Context(), hooks.EngineAction{RouteID: route, SessionID: session, Turn: 3, Action: "stop", Params: map[string]string{"turn": "3"}}),
	)
	if diff := cmp.Diff(documented, []hooks.Lifecycle(got)); problems != nil || diff != "" {
		t.Errorf("%v; docs/events.md (-) and what is announced (+):\n%s", problems, diff)
	}
	for _, l := range got {
		if text, err := json.Marshal(l); err != nil || regexp.MustCompile(`secret|Ann|users/1`).Match(text) {
			t.Errorf("%s, %v: somebody's words or name", text, err)
		}
	}
	for _, s := range []hooks.Status{hooks.StatusStarted, hooks.StatusPaused, hooks.StatusFinished, hooks.StatusFailed, hooks.StatusStopped, hooks.StatusPreempted} {
		if !strings.Contains(string(page), "`"+string(s)+"`") {
			t.Errorf("docs/events.md does not tell of status %s", s)
		}
	}
}
