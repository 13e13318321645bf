package inference

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/history"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/session"
)

// Files reads the staging area.
type Files interface {
	Get(ctx context.Context, name string) (data []byte, contentType string, err error)
}

// Prompt is what a model is shown for the live turn's next step.
type Prompt struct {
	Persona  string
	Session  *session.Session
	Messages []message.Message // by seq
	Tools    []model.Tool
}

// Request builds the call (A3): persona, workspace and staging area as the system instruction, then the conversation. A history that breaks
// the providers' rules is a permanent error: it is ours.
func (p Prompt) Request(ctx context.Context, name string, files Files, log *slog.Logger) (model.Request, error) {
	turns := history.Build(p.Messages, p.Session.Turn.Number)
	if err := history.Check(turns); err != nil {
		return model.Request{}, errs.Permanentf("session %s: history is not sound: %w", p.Session.ID, err)
	}
	if err := loadFiles(ctx, turns, files, log); err != nil {
		return model.Request{}, err
	}
	return model.Request{Model: name, System: p.system(), Turns: turns, Tools: p.Tools, Thinking: p.Session.Settings.Thinking}, nil
}

// system is M5.8, made anew for each call and never stored. It holds no time, so that providers can cache it.
func (p Prompt) system() string {
	s := p.Session
	var b strings.Builder
	b.WriteString(strings.TrimSpace(p.Persona))
	place := "a channel with several people"
	if s.Direct {
		place = "a direct conversation with one person"
	}
	fmt.Fprintf(&b, "\n\n# Workspace\nYou are on %s, in %s (%s). Every message is headed by its sender and time. What is marked (%s) was not said to you: it is context, not to be answered.\n", s.ChatbotID, place, s.ChannelID, history.Overheard)
	fmt.Fprintf(&b, "\n# Staging area\nFiles of this conversation are kept under sessions/%s/.", s.ID)
	for _, m := range p.Messages {
		if m.Turn != s.Turn.Number {
			continue
		}
		for _, a := range m.Metadata.Attachments {
			fmt.Fprintf(&b, "\n- %s (%s, %d bytes): %s", a.Name, a.MIMEType, a.Size, a.StagedAs)
		}
	}
	return message.Author{SessionID: s.ID}.SystemPrompt(b.String()).Content
}

// maxInline is how many bytes of attachments go into one request, within the 20 MB that the Gemini API takes.
const maxInline = 12 << 20

// loadFiles puts the live prompts' attachments into the request. One that cannot be had is named instead, so that the model can say so.
func loadFiles(ctx context.Context, turns []history.Turn, files Files, log *slog.Logger) error {
	left := maxInline
	for _, t := range turns {
		for i := range t.Parts {
			f := t.Parts[i].File
			if f == nil {
				continue
			}
			data, err := load(ctx, f, files)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil || len(data) > left {
				log.WarnContext(ctx, "attachment left out", "name", f.Name, "size", len(data), "error", err)
				t.Parts[i] = history.Part{Text: fmt.Sprintf("[Attachment %q could not be shown to you.]", f.Name)}
				continue
			}
			left -= len(data)
			f.Data = data
		}
	}
	return nil
}

func load(ctx context.Context, f *history.File, files Files) ([]byte, error) {
	if f.StagedAs == "" {
		return nil, errors.New("it was not copied to the staging area")
	}
	data, _, err := files.Get(ctx, f.StagedAs)
	return data, err
}
