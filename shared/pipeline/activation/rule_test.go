package activation_test

import (
	"testing"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/pipeline/activation"
)

// open lets every rule apply.
func open() config.Activation {
	return config.Activation{
		IgnoreSelf: true, AllowPrivate: true, PrivateChatWithoutCommand: true, AllowAtReply: true, AllowQuoteReply: true,
		Nicknames: []string{"Kesoku"}, IsNickNameWithContent: true, RandomReplyFrequency: 1,
	}
}

// P5: an event to which every rule applies meets them one by one, in their order, as each is taken away.
func TestRulesInOrder(t *testing.T) {
	t.Parallel()
	e := chat.Event{Kind: chat.KindCommand, Direct: true, AtMe: true, QuoteMe: true, Text: "kesoku, hi", Sender: chat.Sender{Self: true}}
	a := open()
	a.AllowPrivate = false
	r := activation.Rule{Draw: func() float64 { return 0 }}
	for _, step := range []struct {
		reason   string
		effect   chat.Effect
		priority int
		take     func()
	}{
		{"self", chat.EffectIgnore, 0, func() { e.Sender.Self = false }},
		{"private", chat.EffectIgnore, 0, func() { a.AllowPrivate = true }},
		{"command", chat.EffectIgnore, 0, func() { e.Kind = chat.KindMessage }},
		{"direct", chat.EffectWake, 100, func() { a.PrivateChatWithoutCommand = false }},
		{"at", chat.EffectWake, 100, func() { e.AtMe = false }},
		{"quote", chat.EffectWake, 100, func() { e.QuoteMe = false }},
		{"nickname", chat.EffectWake, 100, func() { e.Text = "hi" }},
		{"random", chat.EffectWake, 0, func() { a.RandomReplyFrequency = 0 }},
		{"none", chat.EffectIgnore, 0, func() {}},
	} {
		got := r.Decide(&e, a)
		want := chat.Decision{Effect: step.effect, Priority: step.priority, Reason: step.reason, By: "rule"}
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		step.take()
	}
}

// P5: each rule holds only where the route allows it, and only for what it is about.
func TestRulesObeyTheRoute(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		event  chat.Event
		change func(*config.Activation)
		want   string
	}{
		"own message, not ignored":      {chat.Event{Sender: chat.Sender{Self: true}, AtMe: true}, func(a *config.Activation) { a.IgnoreSelf = false }, "at"},
		"direct, only by command":       {chat.Event{Direct: true, Text: "hi"}, func(a *config.Activation) { a.PrivateChatWithoutCommand = false }, "none"},
		"direct, mentioned":             {chat.Event{Direct: true, AtMe: true}, func(a *config.Activation) { a.PrivateChatWithoutCommand = false }, "at"},
		"mention not allowed":           {chat.Event{AtMe: true}, func(a *config.Activation) { a.AllowAtReply = false }, "none"},
		"quote not allowed":             {chat.Event{QuoteMe: true}, func(a *config.Activation) { a.AllowQuoteReply = false }, "none"},
		"quote of somebody else":        {chat.Event{QuoteID: "m1"}, nil, "none"},
		"command in a room":             {chat.Event{Kind: chat.KindCommand, AtMe: true}, nil, "command"},
		"mention only":                  {chat.Event{AtMe: true, Text: ""}, nil, "at"}, // case B23
		"room, private not allowed":     {chat.Event{AtMe: true}, func(a *config.Activation) { a.AllowPrivate = false }, "at"},
		"nobody's words, nothing drawn": {chat.Event{Text: "good morning"}, nil, "none"},
	} {
		a := open()
		a.RandomReplyFrequency = 0
		if tt.change != nil {
			tt.change(&a)
		}
		if got := (activation.Rule{}).Decide(&tt.event, a); got.Reason != tt.want {
			t.Errorf("%s: %+v, want %s", name, got, tt.want)
		}
	}
}

// P5: a nickname at the start always counts, anywhere only where the route says so, in any case and script.
func TestNicknames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text     string
		names    []string
		anywhere bool
		want     bool
	}{
		{"kesoku, hi", []string{"Kesoku"}, false, true},
		{"  KESOKU hi", []string{"kesoku"}, false, true},
		{"kesoku", []string{" Kesoku "}, false, true},
		{"hi kesoku", []string{"kesoku"}, false, false},
		{"hi kesoku", []string{"kesoku"}, true, true},
		{"hi Kesoku!", []string{"bot", "kesoku"}, true, true},
		{"结束，你好", []string{"结束"}, false, true},
		{"你好结束", []string{"结束"}, true, true},
		{"ÉMILE, bonjour", []string{"émile"}, false, true},
		{"hello", []string{"", "  "}, true, false},
		{"", []string{"kesoku"}, true, false},
		{"", []string{""}, true, false},
		{"keso", []string{"kesoku"}, true, false},
		{"hello", nil, true, false},
	} {
		a := config.Activation{Nicknames: tt.names, IsNickNameWithContent: tt.anywhere}
		got := (activation.Rule{}).Decide(&chat.Event{Text: tt.text}, a)
		if (got.Reason == "nickname") != tt.want {
			t.Errorf("%q with %q, anywhere %v: %+v, want nickname = %v", tt.text, tt.names, tt.anywhere, got, tt.want)
		}
	}
}

// P5: a drawn lot wakes with priority 0; at frequency 0 nothing is drawn at all, and at 1 every lot wins.
func TestRandom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		frequency, drawn float64
		want             string
		draws            int
	}{
		{0.3, 0.29, "random", 1}, {0.3, 0.3, "none", 1}, {0, 0, "none", 0}, {1, 0.999999, "random", 1},
	} {
		draws := 0
		r := activation.Rule{Draw: func() float64 { draws++; return tt.drawn }}
		got := r.Decide(&chat.Event{Text: "x"}, config.Activation{RandomReplyFrequency: tt.frequency})
		if got.Reason != tt.want || got.Priority != 0 || draws != tt.draws {
			t.Errorf("%+v: %+v after %d draws", tt, got, draws)
		}
	}
}
