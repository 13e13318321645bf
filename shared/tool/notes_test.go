package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/tool"
)

// pad keeps notes in memory, the newest first. Like a store that creates documents, it refuses an id it has.
type pad struct {
	notes map[string][]tool.Note
	err   error
}

func (p *pad) AddNote(_ context.Context, key, id, text string, at time.Time) error {
	if p.err != nil {
		return p.err
	}
	if slices.ContainsFunc(p.notes[key], func(n tool.Note) bool { return n.ID == id }) {
		return fmt.Errorf("note %s: %w", id, errs.ErrExists)
	}
	if p.notes == nil {
		p.notes = map[string][]tool.Note{}
	}
	p.notes[key] = slices.Insert(p.notes[key], 0, tool.Note{ID: id, Text: text, At: at})
	return nil
}

func (p *pad) Notes(_ context.Context, key string, limit int) ([]tool.Note, error) {
	return p.notes[key][:min(limit, len(p.notes[key]))], p.err
}

func remember(t *testing.T, p *pad, scope tool.Scope, note string) (tool.Output, error) {
	t.Helper()
	args, err := json.Marshal(map[string]string{"note": note})
	if err != nil {
		t.Fatal(err)
	}
	return tool.Remember{Notes: p}.Run(t.Context(), scope, args)
}

func TestRememberIsIdempotent(t *testing.T) {
	t.Parallel()
	p := &pad{}
	scope := tool.Scope{SessionID: "s", ConversationKey: "k", CallID: "call-1", Now: time.Date(2026, 5, 27, 0, 0, 0, 0, time.UTC)}
	for range 2 {
		out, err := remember(t, p, scope, " Bo is allergic to peanuts\x00 ")
		if err != nil || out.Content != "Remembered: Bo is allergic to peanuts" || out.Summary != "Bo is allergic to peanuts" {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	if len(p.notes["k"]) != 1 {
		t.Errorf("%d notes of one call", len(p.notes["k"]))
	}
	// A provider without call ids begins to count again in every step.
	if _, err := remember(t, p, scope, "Carol likes tea"); err != nil || len(p.notes["k"]) != 2 {
		t.Errorf("another note under a repeated call id: %d notes, %v", len(p.notes["k"]), err)
	}
	scope.SessionID = "s2"
	if _, err := remember(t, p, scope, "Carol likes tea"); err != nil || len(p.notes["k"]) != 3 {
		t.Errorf("the same call in another session: %d notes, %v", len(p.notes["k"]), err)
	}
	if _, err := remember(t, p, scope, " \x07 "); err == nil {
		t.Error("an empty note was taken")
	}
	p.err = errors.New("down")
	if _, err := remember(t, p, scope, "x"); !errors.Is(err, p.err) {
		t.Errorf("a store's error came as %v", err)
	}
}

func TestRecall(t *testing.T) {
	t.Parallel()
	p := &pad{}
	for i, text := range []string{
		"小波对花生过敏", "Alice flies to Tokyo on Friday", "the password of the guest Wi-Fi is on the fridge", "小波喜欢猫",
		"Tokyo office: 3rd floor, Shibuya", "カレーは辛口が好き", "Größe der Jacke: XL", "Alice likes the office",
	} {
		scope := tool.Scope{ConversationKey: "k", CallID: fmt.Sprint(i), Now: time.Date(2026, 5, i+1, 0, 0, 0, 0, time.UTC)}
		if _, err := remember(t, p, scope, text); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args  string
		head  string
		first string
		n     int
	}{
		{`{"query":"花生"}`, "best match", "- 2026-05-01: 小波对花生过敏", 1},
		{`{"query":"小波喜欢什么"}`, "best match", "- 2026-05-04: 小波喜欢猫", 2},
		{`{"query":"猫"}`, "best match", "- 2026-05-04: 小波喜欢猫", 1},
		{`{"query":"カレー"}`, "best match", "- 2026-05-06: カレーは辛口が好き", 1},
		{`{"query":"GRÖSSE JACKE größe"}`, "best match", "- 2026-05-07: Größe der Jacke: XL", 1},
		{`{"query":"ＴＯＫＹＯ office"}`, "best match", "- 2026-05-05: Tokyo office: 3rd floor, Shibuya", 3}, // full width
		{`{"query":"alice"}`, "best match", "- 2026-05-08: Alice likes the office", 2},                  // the newer of equals
		{`{"query":"alice","limit":1}`, "best match", "- 2026-05-08: Alice likes the office", 1},
		{`{"query":"zebra"}`, "No note contains", "- 2026-05-08: Alice likes the office", 8},
		{`{"query":"?!"}`, "No note contains", "- 2026-05-08: Alice likes the office", 8},
		{`{"limit":3}`, "newest", "- 2026-05-08: Alice likes the office", 3},
	} {
		out, err := tool.Recall{Notes: p}.Run(t.Context(), tool.Scope{ConversationKey: "k"}, json.RawMessage(c.args))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(out.Content, "\n")
		if !strings.Contains(lines[0], c.head) || len(lines) != c.n+1 || lines[1] != c.first {
			t.Errorf("%s: got\n%s", c.args, out.Content)
		}
	}
	out, err := tool.Recall{Notes: p}.Run(t.Context(), tool.Scope{ConversationKey: "other"}, json.RawMessage(`{"query":"Alice"}`))
	if err != nil || !strings.Contains(out.Content, "No notes") {
		t.Errorf("notes leak between conversations: %+v, %v", out, err)
	}
}

func TestRecallOrderIsStable(t *testing.T) {
	t.Parallel()
	p := &pad{}
	for i := range 100 {
		scope := tool.Scope{ConversationKey: "k", CallID: fmt.Sprint(i)}
		if _, err := remember(t, p, scope, fmt.Sprintf("alpha beta gamma delta epsilon zeta eta theta number%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	var first string
	for range 20 {
		out, err := tool.Recall{Notes: p}.Run(t.Context(), tool.Scope{ConversationKey: "k"},
			json.RawMessage(`{"query":"alpha beta gamma delta epsilon zeta eta theta","limit":50}`))
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = out.Content
		}
		if out.Content != first {
			t.Fatal("two recalls of equal notes differ in order")
		}
	}
}
