package inference_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/history"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/turn/inference"
)

// files is a staging area of names and contents.
type files map[string]string

func (f files) Get(_ context.Context, name string) ([]byte, string, error) {
	data, ok := f[name]
	if !ok {
		return nil, "", fmt.Errorf("get %s: %w", name, errs.ErrNotFound)
	}
	return []byte(data), "text/csv", nil
}

var author = message.Author{SessionID: "s1", ChatbotID: "googlechat", ChannelID: "spaces/A", Now: time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC)}

// prompt is a person's message in a turn.
func prompt(turn int, seq int64, text string, attachments ...message.Attachment) message.Message {
	m := author.UserPrompt("Ann", text, author.Now, message.Metadata{Attachments: attachments})
	m.Turn, m.Seq, m.Status = turn, seq, message.StatusProcessing
	return m
}

func ask(t *testing.T, p inference.Prompt, f files) model.Request {
	t.Helper()
	req, err := p.Request(t.Context(), "flash", f, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func live(turn int) *session.Session {
	return &session.Session{ID: "s1", ChatbotID: "googlechat", ChannelID: "spaces/A", Turn: &session.Turn{Number: turn},
		Settings: session.Settings{Model: "gemini:flash", Thinking: true}}
}

// A3, M5.8: persona, then the workspace, then the staging area with the live turn's attachments; nothing that changes from call to call.
func TestSystemInstruction(t *testing.T) {
	t.Parallel()
	p := inference.Prompt{Persona: "  You are a pirate.\n", Session: live(2), Messages: []message.Message{
		prompt(1, 1, "old", message.Attachment{Name: "old.csv", StagedAs: "sessions/s1/attachments/o/old.csv"}),
		prompt(2, 2, "new", message.Attachment{Name: "new.csv", MIMEType: "text/csv", Size: 3, StagedAs: "sessions/s1/attachments/n/new.csv"}),
	}, Tools: []model.Tool{{Name: "current_time"}}}
	req := ask(t, p, files{"sessions/s1/attachments/n/new.csv": "a,b"})
	last := -1
	for _, part := range []string{"You are a pirate.", "# Workspace", "googlechat", "several people", "spaces/A", "# Staging area", "sessions/s1/",
		"new.csv (text/csv, 3 bytes)"} {
		at := strings.Index(req.System, part)
		if at <= last {
			t.Errorf("%q stands at %d, behind which %d came:\n%s", part, at, last, req.System)
		}
		last = at
	}
	if strings.HasPrefix(req.System, " ") || strings.Contains(req.System, "old.csv") || strings.Contains(req.System, "2026") {
		t.Errorf("system instruction:\n%s", req.System)
	}
	if req.Model != "flash" || len(req.Tools) != 1 {
		t.Errorf("request %+v", req)
	}
	p.Session.Direct = true
	if got := ask(t, p, nil).System; !strings.Contains(got, "direct conversation") {
		t.Errorf("direct:\n%s", got)
	}
}

// H3, L1: the live turn's attachments are shown, past ones are named, and what cannot be had is told instead of failing the turn.
func TestAttachments(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	p := inference.Prompt{Session: live(2), Messages: []message.Message{
		prompt(1, 1, "old", message.Attachment{Name: "old.csv", StagedAs: "old"}),
		prompt(2, 2, "new", message.Attachment{Name: "new.csv", MIMEType: "text/csv", StagedAs: "new"},
			message.Attachment{Name: "gone.csv", StagedAs: "gone"}, message.Attachment{Name: "never.csv"}),
	}}
	req, err := p.Request(t.Context(), "flash", files{"new": "a,b", "old": "secret"}, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprint(texts(req.Turns))
	for _, w := range []string{"[Attachments stripped from history: old.csv]", `"gone.csv" could not be shown`, `"never.csv" could not be shown`} {
		if !strings.Contains(said, w) {
			t.Errorf("%s\ndoes not say %q", said, w)
		}
	}
	var shown []string
	for _, turn := range req.Turns {
		for _, part := range turn.Parts {
			if part.File != nil {
				shown = append(shown, part.File.Name+"="+string(part.File.Data))
			}
		}
	}
	if fmt.Sprint(shown) != "[new.csv=a,b]" || strings.Count(log.String(), "left out") != 2 {
		t.Errorf("shown %v, log:\n%s", shown, &log)
	}
}

// A request never outgrows what a provider takes: 12 MiB of attachments, the rest is named.
func TestAttachmentsAreBounded(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 5<<20)
	var all []message.Attachment
	for i := range 4 {
		all = append(all, message.Attachment{Name: fmt.Sprintf("%d.bin", i), StagedAs: "big"})
	}
	all = append(all, message.Attachment{Name: "small.bin", StagedAs: "small"})
	req := ask(t, inference.Prompt{Session: live(1), Messages: []message.Message{prompt(1, 1, "all", all...)}}, files{"big": big, "small": "x"})
	size, shown := 0, 0
	for _, part := range req.Turns[0].Parts {
		if part.File != nil {
			size, shown = size+len(part.File.Data), shown+1
		}
	}
	if size > 12<<20 || shown != 3 || !strings.Contains(fmt.Sprint(texts(req.Turns)), `"3.bin" could not be shown`) {
		t.Errorf("%d bytes in %d files, want two big ones and the small one", size, shown)
	}
}

// The staging area's failure is one attachment's; the end of the call's own time is the call's.
func TestAttachmentsUnderEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := inference.Prompt{Session: live(1), Messages: []message.Message{prompt(1, 1, "x", message.Attachment{Name: "a", StagedAs: "gone"})}}
	if _, err := p.Request(ctx, "flash", files{}, slog.New(slog.DiscardHandler)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's end", err)
	}
}

func texts(turns []history.Turn) []string {
	var out []string
	for _, turn := range turns {
		for _, part := range turn.Parts {
			out = append(out, part.Text)
		}
	}
	return out
}
