// Package invariant says what must hold of a world that has settled, whatever happened in it.
package invariant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/api/option"

	"kesoku.dev/emulators/e2e/card"
	"kesoku.dev/emulators/e2e/look"
	"kesoku.dev/emulators/e2e/world"
	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/platform/googlechat"
	"kesoku.dev/shared/render"
	"kesoku.dev/shared/session"
)

// Check proves the invariants on a world that has settled: one accepted prompt ends in exactly one of processed, interrupted, error; one
// final reply per finished turn stands exactly once in its space; no tool ran twice; nobody waits; prompts keep their order.
func Check(w *world.World) {
	w.T.Helper()
	c := &check{World: w, byPlatformID: map[string]message.Message{}, expected: map[string][]string{}}
	for _, s := range look.Sessions(w) {
		c.session(s)
	}
	c.events()
	c.spaces()
	c.order()
	for path, n := range w.Page.Hits() {
		if n > 1 {
			c.failf("the tool call for %s ran %d times", path, n)
		}
	}
	if err := errors.Join(c.problems...); err != nil {
		w.T.Errorf("invariants of world %s:\n%v\n%s", w.Project, err, look.Transcript(w))
	}
}

type check struct {
	*world.World
	byPlatformID map[string]message.Message
	expected     map[string][]string // texts by channel
	problems     []error
}

func (c *check) failf(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

func (c *check) session(s session.Session) {
	at := "session " + s.ID
	switch {
	case s.Turn != nil:
		c.failf("%s: turn %d is live still", at, s.Turn.Number)
	case s.TurnWork():
		c.failf("%s: a prompt waits in the inbox", at)
	case s.TurnLease.Held(), s.SendLease.Held():
		c.failf("%s: a lease is held: %+v %+v", at, s.TurnLease, s.SendLease)
	case s.SendWork():
		c.failf("%s: the outbox is not drained: cursor %d of %d, card %+v", at, s.Outbox.Cursor, s.Seq, s.Outbox.Card)
	case s.WakeAt != nil:
		c.failf("%s: asks to be woken at %s", at, s.WakeAt)
	}
	records := look.Records(c.World, s.ID)
	turns := map[int][]message.Message{}
	for i, m := range records {
		if m.Seq != int64(i+1) {
			c.failf("%s: message %d stands in place %d", at, m.Seq, i+1)
		}
		c.message(at, m)
		if m.Turn > 0 {
			turns[m.Turn] = append(turns[m.Turn], m)
		}
	}
	if int64(len(records)) != s.Seq {
		c.failf("%s: %d messages are stored, its seq is %d", at, len(records), s.Seq)
	}
	for n, all := range turns {
		c.turn(fmt.Sprintf("%s, turn %d", at, n), all)
	}
}

func (c *check) message(at string, m message.Message) {
	ends := map[message.Flow][]message.Status{
		message.FlowInput:  {message.StatusProcessed, message.StatusInterrupted, message.StatusError},
		message.FlowOutput: {message.StatusDelivered, message.StatusError},
		message.FlowStep:   {message.StatusResponded, message.StatusDelivered, message.StatusInterrupted},
		message.FlowNote:   {message.StatusResponded},
	}
	flow := m.Class().Flow()
	if !slices.Contains(ends[flow], m.Status) {
		c.failf("%s: message %d (%s/%s) ended as %s", at, m.Seq, m.Role, m.Type, m.Status)
	}
	if flow == message.FlowInput && m.Turn == 0 {
		c.failf("%s: prompt %d was never taken into a turn", at, m.Seq)
	}
	if id := m.Metadata.PlatformMessageID; id != "" {
		if _, twice := c.byPlatformID[id]; twice {
			c.failf("%s: %s is stored twice as a prompt", at, id)
		}
		c.byPlatformID[id] = m
	}
	if flow == message.FlowOutput && m.Status == message.StatusDelivered {
		c.expected[m.ChannelID] = append(c.expected[m.ChannelID], m.Content)
	}
}

// turn checks how one turn ended: its prompts all alike, and with the one output that goes with it.
func (c *check) turn(at string, all []message.Message) {
	ended := map[message.Status]int{}
	outputs := map[message.Class]int{}
	calls, results := map[string]bool{}, map[string]int{}
	for _, m := range all {
		switch {
		case m.Class().Flow() == message.FlowInput:
			ended[m.Status]++
		case m.Class().Flow() == message.FlowOutput:
			outputs[m.Class()]++
		case m.Type == message.TypeToolCall:
			calls[m.ID] = true
		case m.Type == message.TypeToolResult:
			results[m.ParentID]++
		}
	}
	if len(ended) != 1 {
		c.failf("%s: its prompts ended differently: %v", at, ended)
	}
	want := map[message.Class]int{}
	switch {
	case ended[message.StatusProcessed] > 0:
		want[message.ClassFinalReply] = 1
	case ended[message.StatusError] > 0:
		want[message.ClassCrashNotice] = 1
	default:
		want[message.ClassNotification] = outputs[message.ClassNotification] // of a stop; a pre-emption is silent
	}
	for _, class := range []message.Class{message.ClassFinalReply, message.ClassCrashNotice, message.ClassNotification} {
		if outputs[class] != want[class] || outputs[class] > 1 {
			c.failf("%s: ended %v with outputs %v", at, ended, outputs)
		}
	}
	for call, n := range results {
		if n > 1 || !calls[call] {
			c.failf("%s: call %s has %d results", at, call, n)
		}
	}
}

// events checks that every event is settled, and that every accepted one is a prompt.
func (c *check) events() {
	stored := map[string]bool{}
	for _, e := range look.Events(c.World) {
		stored[e.MessageID] = true
		if e.Pending || e.WakeAt != nil {
			c.failf("event %s of %s is not settled", e.Key, e.MessageID)
		}
		if e.Outcome != "accepted" {
			continue
		}
		if m, ok := c.byPlatformID[e.MessageID]; !ok || m.SessionID != e.SessionID {
			c.failf("event of %s was accepted for session %s, but there is no such prompt", e.MessageID, e.SessionID)
		}
	}
	for _, p := range c.Posts() {
		if p.Heard && !stored[p.Name] {
			c.failf("%s was acknowledged and is not stored", p.Name)
		}
	}
}

// spaces checks that what stands in each space is exactly what was delivered, each once, and that no card still claims to be at work.
func (c *check) spaces() {
	adapter, err := googlechat.New(context.Background(), googlechat.Config{}, option.WithoutAuthentication())
	if err != nil {
		c.failf("make an adapter: %w", err)
		return
	}
	for _, v := range c.Chat.Spaces() {
		var want, have []string
		for _, text := range c.expected[v.Space.Name] {
			want = append(want, render.Split(adapter.Dialect().Render(text), adapter.Features().MaxBytes)...)
		}
		for _, m := range c.Sent(v.Space.Name) {
			if m.Text != "" {
				have = append(have, m.FormattedText)
			}
			for _, shown := range card.Of(m) {
				if shown.Button != "" || claimsWork(shown.Title) {
					c.failf("%s: a card still says %q", v.Space.Name, shown.Title)
				}
			}
		}
		slices.Sort(want)
		slices.Sort(have)
		if !slices.Equal(want, have) {
			c.failf("%s: delivered were %d texts, there stand %d:\n want %q\n have %q", v.Space.Name, len(want), len(have), want, have)
		}
	}
}

func claimsWork(title string) bool {
	for _, l := range []string{"zh", "en"} {
		t := locale.For(l)
		if strings.HasSuffix(title, t.Working()) || strings.HasSuffix(title, t.Thinking()) {
			return true
		}
	}
	return false
}

// order checks that prompts kept the order of messages that were acknowledged before the next was written.
func (c *check) order() {
	last := map[string]message.Message{}
	for _, p := range c.Posts() {
		m, ok := c.byPlatformID[p.Name]
		if !ok {
			continue
		}
		before, seen := last[p.Space]
		if seen && p.After && before.SessionID == m.SessionID && (before.Seq > m.Seq || before.Turn > m.Turn) {
			c.failf("%s: %q (seq %d, turn %d) came behind %q (seq %d, turn %d)", p.Space, before.Content, before.Seq, before.Turn, m.Content, m.Seq, m.Turn)
		}
		last[p.Space] = m
	}
}
