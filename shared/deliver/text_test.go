package deliver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kesoku.dev/shared/censor"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/hooks"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/session"
)

const rules = `censor:
  blockWords: [绝密, Topsecret]
  flagWords: [careful]
  replaceRules:
    - pattern: '\d{4}'
      replacement: '####'
`

const withheld = "⚠️ This reply did not pass the content check and was not sent (CENSOR_BLOCKED)."

// P11, M3: a reply that the censor stops ends in error and is never sent; people are told so, once, in its place, and the next output is not held up.
func TestCensorBlocksReply(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(t, rules)
	w.begin(t)
	w.reply(t, "this is **TOP&#115;ECRET**")
	w.note(t, "fine")
	w.mustRun(t)
	w.want(t, "post fine", "post "+withheld)
	if got := w.statuses(t); !slices.Equal(got, []string{"1 processed", "5 error", "11 delivered", "12 delivered"}) {
		t.Errorf("statuses %v", got)
	}
	all := w.messages(t)
	if all[1].Metadata.DeliveryError != censor.CodeBlocked || all[3].Turn != 1 || all[3].Metadata.ThreadID != "thread" {
		t.Errorf("reply %+v, notice %+v", all[1].Metadata, all[3])
	}
	if s := w.session(t); len(s.Inbox) != 0 || s.TurnWork() {
		t.Errorf("inbox %+v", s.Inbox)
	}
	w.drained(t)
	w.mustRun(t)
	if n := len(w.chat.all); n != 2 {
		t.Errorf("%d writes after another wake-up", n)
	}
}

// P11: the notice itself passes no censor, whatever the rules say, so nothing goes round in circles.
func TestNoticeIsNotCensored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(t, "censor: {blockWords: [a, CENSOR_BLOCKED, ⚠️], replaceRules: [{pattern: '.', replacement: ''}]}")
	w.hooks.OnBeforeSend = append(w.hooks.OnBeforeSend, func(_ context.Context, f hooks.Fragment) (string, error) { return f.Text + "!", nil })
	w.note(t, "an answer")
	w.note(t, "123") // of which rewriting leaves nothing
	w.mustRun(t)
	w.want(t, "post "+withheld, "post "+withheld)
	if got := w.statuses(t); !slices.Equal(got, []string{"11 error", "11 error", "12 delivered", "12 delivered"}) {
		t.Errorf("statuses %v", got)
	}
	w.drained(t)
}

// P11: the card of a turn whose reply was stopped says that it failed.
func TestCensorBlocksWithCard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(t, rules)
	w.begin(t)
	w.call(t, "a")
	w.mustRun(t)
	w.reply(t, "绝密")
	w.mustRun(t)
	w.want(t, "post [running Working… a:running]", "post "+withheld, "edit [failed Failed a:failed]")
	w.drained(t)
}

// P11: a handler that dies between stopping a reply and telling people leaves nothing undone, and nobody is told twice.
func TestCensorBlocksOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(t, rules)
	w.begin(t)
	w.reply(t, "绝密")
	ctx, crash := context.WithCancel(t.Context())
	w.chat.create = func(n int, _ platform.Post) error {
		if n == 0 {
			crash() // the notice was sent, and nothing is known of it
		}
		return nil
	}
	if err := w.run(ctx); err == nil {
		t.Fatal("ended well")
	}
	w.now.Advance(61e9)
	w.hire(t)
	w.mustRun(t)
	w.want(t, "post "+withheld, "post "+withheld)
	if a, b := w.chat.all[0].post, w.chat.all[1].post; a.Key != b.Key || a.ID != b.ID || len(w.messages(t)) != 3 {
		t.Errorf("%+v, then %+v, of %d messages", a, b, len(w.messages(t)))
	}
	w.drained(t)
}

// P11: what patterns match is rewritten, in replies as in cards; a line of a card that is blocked is told as such; flagged texts pass.
func TestCensorRewrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(t, rules)
	w.begin(t)
	w.change(t, func(d *session.Draft) error {
		a := author(d, w.now.Now())
		d.Create(a.Thought(spot(d, 1), "they ask for the topSecret", nil))
		d.Create(a.ToolCall(spot(d, 1), "x", message.Call{ID: "a", Name: "a", Arguments: `{"pin":"1234"}`}))
		d.Stored(1, 1)
		return nil
	})
	w.result(t, "a", false)
	w.reply(t, "Careful: 1234 and 5678.")
	w.mustRun(t)
	got := w.chat.all[0]
	if got.post.Text != "Careful: #### and ####." || len(w.chat.all) != 1 {
		t.Errorf("posted %q", got.post.Text)
	}
	steps := got.card.Steps
	if len(steps) != 2 || steps[0].Detail != "(did not pass the content check)" || steps[1].Detail != `{"pin":"####"}` || steps[1].Result != "ok" {
		t.Errorf("steps %+v", steps)
	}
	w.drained(t)
}

// P11: rules are followed while a session lives, and a route has its own.
func TestCensorFollowsConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.note(t, "1234 a")
	w.mustRun(t)
	const rule = "rules:\n  - id: r\n    filter: {kind: scope, field: channel, values: [%s]}\n" +
		"    values: {censor: {replaceRules: [{pattern: '[0-9]{4}', replacement: '####'}]}}\n"
	w.publish(t, fmt.Sprintf(rule, "c"))
	w.note(t, "1234 b")
	w.mustRun(t)
	w.publish(t, fmt.Sprintf(rule, "d"))
	w.note(t, "1234 c")
	w.mustRun(t)
	w.want(t, "post 1234 a", "post #### b", "post 1234 c")
}

// P11: without a verdict nothing is sent, and nothing is lost; a verdict that can never be had ends the message.
func TestNoVerdictNoMessage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		want message.Status
	}{"passing": {errors.New("down"), message.StatusPending}, "permanent": {errs.Permanentf("never"), message.StatusError}} {
		for where, wire := range map[string]func(w *world, fail *error){
			"matcher": func(w *world, fail *error) {
				w.match = []censor.Matcher{{Name: "m", Match: func(context.Context, censor.Direction, string) ([]censor.Finding, error) { return nil, *fail }}}
			},
			"hook": func(w *world, fail *error) {
				w.hooks.OnBeforeSend = append(w.hooks.OnBeforeSend, func(_ context.Context, f hooks.Fragment) (string, error) { return f.Text, *fail })
			},
		} {
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				fail := tt.err
				wire(w, &fail)
				w.hire(t)
				w.note(t, "hello")
				err := w.run(t.Context())
				if w.want(t); w.messages(t)[0].Status != tt.want || (err != nil) != (tt.want == message.StatusPending) {
					t.Errorf("message %s, %v", w.messages(t)[0].Status, err)
				}
				if tt.want != message.StatusPending {
					return
				}
				fail = nil
				w.mustRun(t)
				w.want(t, "post hello")
			})
		}
	}
}

// P17, P20: what a before-send listener makes of a text goes on through the waterfall: elements and Markdown, then the censor, at last the cut.
func TestWaterfall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(t, rules)
	w.chat.features.MaxBytes = 30
	w.hooks.OnBeforeSend = append(w.hooks.OnBeforeSend, func(_ context.Context, f hooks.Fragment) (string, error) {
		if f.Kind != hooks.KindReply || f.SessionID != "s1" || f.Platform != "test" || f.ChannelID != "c" || f.ThreadID != "thread" || f.MessageID == "" {
			return "", errs.Permanentf("fragment %+v", f)
		}
		return `<at id="users/7"/> ` + f.Text + " **1234** <poke/>", nil
	})
	w.begin(t)
	w.reply(t, "it is a *long* answer")
	w.mustRun(t)
	w.want(t, "post @7 it is a long answer #### [done Done]", "post <poke/>")
	w.drained(t)
}

// P17: a route may have replies quote what they answer; a model may quote on its own, and only what people have read.
func TestQuotes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(t, "render: {quote: true}")
	w.begin(t)
	w.reply(t, "Hi.")
	w.mustRun(t)
	w.begin(t)
	w.call(t, "fetch")
	w.mustRun(t)
	secret := w.messages(t)[3].ID
	w.reply(t, `<quote id="`+secret+`"/>Nothing to see.`)
	w.mustRun(t)
	w.note(t, "Just so.")
	w.mustRun(t)
	w.want(t, "post > Ann: hello\n\nHi. [done Done]",
		"post [running Working… fetch:running]", "post Nothing to see.", "edit [done Done fetch:failed]", "post Just so.")
}

// P17: the route decides whether people see thoughts and tools; a card that stands is not written anew for what nobody sees.
func TestHiddenSteps(t *testing.T) {
	t.Parallel()
	for hidden, want := range map[string][]string{
		"{thoughts: hidden}":                {"post [running Working… a:running]", "post Ok.", "edit [done Done a:failed b:failed]"},
		"{tools: hidden}":                   {"post [running Working… Thought:done]", "edit [running Working… Thought:done]", "post Ok.", "edit [done Done Thought:done]"},
		"{thoughts: hidden, tools: hidden}": {"post [running Working…]", "post Ok.", "edit [done Done]"},
	} {
		t.Run(hidden, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.publish(t, "render: "+hidden)
			w.begin(t)
			w.change(t, func(d *session.Draft) error {
				d.Create(author(d, w.now.Now()).Thought(spot(d, 1), "hm", nil))
				d.Create(author(d, w.now.Now()).ToolCall(spot(d, 1), "calling", message.Call{ID: "a", Name: "a", Arguments: `{}`}))
				d.Stored(1, 1)
				return nil
			})
			w.mustRun(t)
			w.call(t, "b")
			w.mustRun(t)
			w.reply(t, "Ok.")
			w.mustRun(t)
			if hidden == "{thoughts: hidden}" {
				want = slices.Insert(slices.Clone(want), 1, "edit [running Working… a:failed b:running]")
			}
			w.want(t, want...)
			w.drained(t)
			for _, m := range w.messages(t)[1:] {
				if m.Status != message.StatusDelivered {
					t.Errorf("message %d is %s", m.Seq, m.Status)
				}
			}
		})
	}
}

// P20: whoever listens is told, once a card, that people have a button; a listener that fails does not hold up the card.
func TestEngineAction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var told []hooks.EngineAction
	w.hooks.OnEngineAction = append(w.hooks.OnEngineAction, func(_ context.Context, a hooks.EngineAction) error {
		told = append(told, a)
		return errors.New("down")
	})
	w.begin(t)
	w.call(t, "a")
	w.mustRun(t)
	w.call(t, "b")
	w.mustRun(t)
	w.reply(t, "Ok.")
	w.mustRun(t)
	if len(told) != 1 || told[0].Action != "stop" || told[0].RouteID != "test:c" || told[0].SessionID != "s1" || told[0].Turn != 1 || told[0].Params["turn"] != "1" {
		t.Errorf("told %+v", told)
	}
	w.drained(t)
}

// case B65: a text that is refused as too long is split by bytes once more, also where it was rewritten.
func TestTooLongAfterRewriting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(t, "censor: {replaceRules: [{pattern: x, replacement: 汉汉汉}]}")
	w.chat.create = func(_ int, p platform.Post) error {
		if len(p.Text) > 2000 {
			return errs.Permanentf("400: %w", platform.ErrTooLong)
		}
		return nil
	}
	w.note(t, strings.Repeat("x ", 390)) // 3,900 bytes once rewritten
	w.mustRun(t)
	if got := w.messages(t)[0].Status; got != message.StatusDelivered || len(w.chat.all) != 4 {
		t.Errorf("message %s after %d posts", got, len(w.chat.all))
	}
	w.drained(t)
}
