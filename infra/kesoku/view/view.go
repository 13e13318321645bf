// Package view puts sessions and their messages on the screen. It reads nothing itself and decides nothing.
package view

import (
	"fmt"
	"strings"
	"time"

	"kesoku.dev/infra/kesoku/screen"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
)

// shortID is how much of an id is shown in lists; show takes it in place of the whole.
const shortID = 8

// Sessions shows a page of sessions, one a line.
func Sessions(s *screen.Screen, page []session.Session, now time.Time) {
	rows := make([][]string, len(page))
	for i := range page {
		one := &page[i]
		rows[i] = []string{
			one.ID[:min(len(one.ID), shortID)], screen.Cut(screen.OneLine(one.ChannelID), 24), fmt.Sprint(one.Turns), Ago(now, one.UpdatedAt), strings.Join(outstanding(one, now), ", "),
		}
	}
	s.Table([]string{"SESSION", "CHANNEL", "TURNS", "CHANGED", "OUTSTANDING"}, rows)
}

// outstanding says in a few words what a session waits for, and who holds it.
func outstanding(one *session.Session, now time.Time) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if t := one.Turn; t != nil {
		add("turn %d.%d", t.Number, t.Step)
	}
	if n := len(one.Inbox); n > 0 {
		add("%d waiting", n)
	}
	if n := one.Seq - one.Outbox.Cursor; n > 0 {
		add("%d to send", n)
	} else if one.CardDue() {
		add("card to change")
	}
	for _, l := range []struct {
		name  string
		lease session.Lease
	}{{"turn", one.TurnLease}, {"send", one.SendLease}} {
		switch {
		case l.lease.Live(now):
			add("%s lease %s", l.name, span(l.lease.Until.Sub(now)))
		case l.lease.Held():
			add("%s lease expired", l.name)
		}
	}
	if one.WakeAt != nil && !now.Before(*one.WakeAt) {
		add("overdue %s", span(now.Sub(*one.WakeAt)))
	}
	return all
}

// Session shows how a session stands: what waits, who holds it, what is on the platform.
func Session(s *screen.Screen, one *session.Session, now time.Time) {
	tools := "all tools"
	if len(one.Settings.Tools) > 0 {
		tools = "tools " + strings.Join(one.Settings.Tools, " ")
	}
	lines := [][2]string{
		{"session", one.ID},
		{"route", one.RouteID},
		{"conversation", one.ConversationKey},
		{"settings", fmt.Sprintf("%s, role %s, %s, %s", one.Settings.Model, one.Settings.Role, one.Settings.Locale, tools)},
		{"so far", fmt.Sprintf("%s, %s; begun %s, changed %s ago", screen.Count(int(one.Seq), "message"), screen.Count(one.Turns, "turn"), stamp(one.CreatedAt), Ago(now, one.UpdatedAt))},
		{"inbox", inbox(one, now)},
		{"turn", turn(one.Turn, now)},
		{"turn lease", lease(one.TurnLease, now)},
		{"outbox", outbox(one)},
		{"send lease", lease(one.SendLease, now)},
		{"sweep", wake(one.WakeAt, now)},
	}
	for _, l := range lines {
		s.Say("%s  %s", s.Paint(screen.Dim, fmt.Sprintf("%-12s", l[0])), screen.Cut(screen.OneLine(l[1]), s.Width()-14))
	}
}

func inbox(one *session.Session, now time.Time) string {
	if len(one.Inbox) == 0 {
		return "empty"
	}
	refs := make([]string, len(one.Inbox))
	for i, r := range one.Inbox {
		refs[i] = fmt.Sprintf("%d (%s, %s ago)", r.Seq, r.When, Ago(now, r.At))
	}
	return strings.Join(refs, ", ")
}

func turn(t *session.Turn, now time.Time) string {
	if t == nil {
		return "none runs"
	}
	text := fmt.Sprintf("%d, step %d, for %s, prompts %s, %s, %d tokens", t.Number, t.Step, Ago(now, t.StartedAt),
		strings.Trim(fmt.Sprint(t.Prompts), "[]"), screen.Count(t.ToolCalls, "call"), t.Tokens)
	for _, extra := range []struct {
		is   bool
		says string
	}{
		{t.Stopped, "stopped by " + t.StoppedBy},
		{t.Recoveries > 0, "taken over " + screen.Count(t.Recoveries, "time")},
		{t.Retries > 0, "put off " + screen.Count(t.Retries, "time") + " by the provider"},
		{now.Before(t.NotBefore), "not before " + stamp(t.NotBefore)},
	} {
		if extra.is {
			text += ", " + extra.says
		}
	}
	return text
}

func lease(l session.Lease, now time.Time) string {
	switch {
	case l.Live(now):
		return fmt.Sprintf("held for %s more by %s, epoch %d, wake-up %s", span(l.Until.Sub(now)), l.Holder, l.Epoch, l.EventID)
	case l.Held():
		return fmt.Sprintf("expired %s ago, was held by %s, epoch %d, wake-up %s", Ago(now, l.Until), l.Holder, l.Epoch, l.EventID)
	default:
		return fmt.Sprintf("free, epoch %d", l.Epoch)
	}
}

func outbox(one *session.Session) string {
	text := fmt.Sprintf("%d of %d dealt with", one.Outbox.Cursor, one.Seq)
	if c := one.Outbox.Card; c.Turn > 0 {
		text += fmt.Sprintf(", card of turn %d at revision %d", c.Turn, c.Revision)
	}
	if p := one.Outbox.Sending; p.Chunks > 0 {
		text += fmt.Sprintf(", %d chunks of message %d sent", p.Chunks, p.Seq)
	}
	if !one.Outbox.NotBefore.IsZero() {
		text += ", not before " + stamp(one.Outbox.NotBefore)
	}
	return text
}

func wake(at *time.Time, now time.Time) string {
	switch {
	case at == nil:
		return "nothing is outstanding"
	case now.Before(*at):
		return "would look in " + span(at.Sub(now))
	default:
		return "should have looked " + Ago(now, *at) + " ago"
	}
}

// Timeline shows messages in their order, one a line, under the columns' heads if heads is set. Its columns are as wide every time, so that
// what comes later stands under what came before.
func Timeline(s *screen.Screen, all []message.Message, heads bool) {
	rows := make([][]string, 0, len(all))
	for i := range all {
		m := &all[i]
		rows = append(rows, []string{
			fmt.Sprintf("%3d", m.Seq), stamp(m.Timestamp), fmt.Sprintf("%-4s", fmt.Sprintf("%d.%d", m.Turn, m.Step)), fmt.Sprintf("%-12s", Class(m)),
			status(s, m.Status), text(m),
		})
		for _, more := range below(m) {
			rows = append(rows, []string{"", "", "", "", "", more})
		}
	}
	var names []string
	if heads {
		names = []string{"SEQ", fmt.Sprintf("%-14s", "TIME (UTC)"), "TURN", fmt.Sprintf("%-12s", "CLASS"), fmt.Sprintf("%-13s", "STATUS"), "TEXT"}
	}
	s.Table(names, rows)
}

func text(m *message.Message) string {
	switch m.Class() {
	case message.ClassToolCall:
		return screen.OneLine(m.Metadata.ToolName + " " + string(m.Metadata.ToolArguments))
	case message.ClassToolResult:
		result := m.Metadata.ToolResult
		if result == "" {
			result = m.Content
		}
		return screen.OneLine(m.Metadata.ToolName + ": " + result)
	default:
		return screen.OneLine(m.Sender + ": " + m.Content)
	}
}

// below lists what stands under a message.
func below(m *message.Message) []string {
	var all []string
	if t := m.Metadata.TurnMetrics; t != nil {
		all = append(all, fmt.Sprintf("↳ %.1f s, %d tokens, %s; context %d", t.TurnTime, t.TurnTokens, screen.Count(t.TurnToolCalls, "call"), t.ContextTokens))
	}
	for _, a := range m.Metadata.Attachments {
		all = append(all, screen.OneLine(fmt.Sprintf("↳ file %s (%d bytes)", a.Name, a.Size)))
	}
	if m.Metadata.StagedAs != "" {
		all = append(all, screen.OneLine("↳ whole text at "+m.Metadata.StagedAs))
	}
	if m.Metadata.DeliveryError != "" {
		all = append(all, screen.OneLine("↳ not delivered: "+m.Metadata.DeliveryError))
	}
	return all
}

func status(s *screen.Screen, st message.Status) string {
	text := fmt.Sprintf("%-13s", st)
	switch st {
	case message.StatusProcessed, message.StatusDelivered:
		return s.Paint(screen.Green, text)
	case message.StatusError:
		return s.Paint(screen.Red, text)
	case message.StatusInterrupted:
		return s.Paint(screen.Yellow, text)
	default:
		return text
	}
}

// Class names a message's class.
func Class(m *message.Message) string {
	names := [...]string{"unknown", "user prompt", "cron prompt", "compaction", "thought", "final reply", "tool call", "tool result", "system prompt",
		"alert", "nudge", "notification", "crash notice"}
	return names[m.Class()]
}

func stamp(t time.Time) string { return t.UTC().Format("01-02 15:04:05") }

// Ago is how long ago t was, in its two largest units.
func Ago(now, t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return span(now.Sub(t))
}

func span(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}
