package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/history"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/model"
)

// answer is a model's whole reply.
type answer struct {
	text      string
	thought   string
	textSig   []byte
	thinkSig  []byte
	calls     []message.Call
	usage     model.Usage
	truncated bool
}

// blank reports whether a person would see nothing. White space counts as nothing.
func (a *answer) blank() bool { return strings.TrimSpace(a.text) == "" }

// maxAnswer bounds what a model may write in one answer, in bytes; what is beyond it is an answer gone wrong.
const maxAnswer = 1 << 20

// infer asks the model for the live turn's next step. The lease is kept meanwhile, and an interruption ends it.
func (r *run) infer(ctx context.Context) (answer, error) {
	driver, name, err := r.Models.Lookup(r.s.Settings.Model)
	if err != nil {
		return answer{}, &model.Fault{Kind: model.FaultRequest, Detail: err.Error(), Err: err}
	}
	req, err := r.request(ctx, name)
	if err != nil {
		return answer{}, err
	}
	var a answer
	err = r.watched(ctx, true, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, r.cfg.ModelTimeout)
		defer cancel()
		for delta, err := range driver.Generate(ctx, req) {
			if err != nil {
				return err
			}
			if err := a.add(delta); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && len(a.calls) == 0 && isEmptyFault(err) {
		return a, nil // an empty answer is for the nudge
	}
	return a, err
}

func isEmptyFault(err error) bool {
	var f *model.Fault
	return errors.As(err, &f) && f.Kind == model.FaultEmpty
}

// add takes one delta in.
func (a *answer) add(d model.Delta) error {
	a.text += d.Text
	a.thought += d.Thought
	switch {
	case d.Call != nil:
		a.calls = append(a.calls, message.Call{ID: d.Call.ID, Name: d.Call.Name, Arguments: message.Arguments(d.Call.Args), Signature: d.Signature})
	case len(d.Signature) > 0 && d.Thought != "":
		a.thinkSig = d.Signature
	case len(d.Signature) > 0:
		a.textSig = d.Signature
	}
	if d.Usage != nil {
		a.usage = *d.Usage
	}
	a.truncated = a.truncated || d.Finish == model.FinishLength
	if len(a.text)+len(a.thought) > maxAnswer {
		return &model.Fault{Kind: model.FaultMalformedCall, Detail: fmt.Sprintf("answer exceeds %d bytes", maxAnswer)}
	}
	return nil
}

// request builds what the model is shown: persona, workspace and staging area as the system instruction, then the conversation.
func (r *run) request(ctx context.Context, name string) (model.Request, error) {
	system, err := r.system(ctx)
	if err != nil {
		return model.Request{}, err
	}
	turns := history.Build(r.inOrder(), r.s.Turn.Number)
	if err := history.Check(turns); err != nil {
		return model.Request{}, errs.Permanentf("session %s: history is not sound: %w", r.id, err)
	}
	if err := r.loadFiles(ctx, turns); err != nil {
		return model.Request{}, err
	}
	return model.Request{Model: name, System: system, Turns: turns, Tools: r.tools(), Thinking: r.thinks()}, nil
}

// thinks reports whether the route's provider can show thoughts.
func (r *run) thinks() bool { return !strings.HasPrefix(r.s.Settings.Model, "generativeai:") }

// tools lists what the route allows.
func (r *run) tools() []model.Tool {
	if len(r.s.Settings.Tools) == 0 {
		return r.Specs
	}
	var out []model.Tool
	for _, spec := range r.Specs {
		for _, name := range r.s.Settings.Tools {
			if spec.Name == name {
				out = append(out, spec)
			}
		}
	}
	return out
}

// system is M5.8, made anew for each call and never stored.
func (r *run) system(ctx context.Context) (string, error) {
	intro, err := r.Roles.Intro(ctx, r.s.Settings.Role)
	if err != nil {
		return "", fmt.Errorf("persona of role %q: %w", r.s.Settings.Role, err)
	}
	var b strings.Builder
	b.WriteString(strings.TrimSpace(intro))
	place := "a channel with several people"
	if r.s.Direct {
		place = "a direct conversation with one person"
	}
	fmt.Fprintf(&b, "\n\n# Workspace\nYou are on %s, in %s (%s). Every message is headed by its sender and time.\n", r.s.ChatbotID, place, r.s.ChannelID)
	fmt.Fprintf(&b, "\n# Staging area\nFiles of this conversation are kept under sessions/%s/.", r.id)
	for _, m := range r.inOrder() {
		if m.Turn != r.s.Turn.Number {
			continue
		}
		for _, a := range m.Metadata.Attachments {
			fmt.Fprintf(&b, "\n- %s (%s, %d bytes): %s", a.Name, a.MIMEType, a.Size, a.StagedAs)
		}
	}
	return r.author().SystemPrompt(b.String()).Content, nil
}

// maxInline is how many bytes of attachments go into one request, within the 20 MB that the Gemini API takes.
const maxInline = 12 << 20

// loadFiles puts the live prompts' attachments into the request. One that cannot be had is named instead, so that the model can say so.
func (r *run) loadFiles(ctx context.Context, turns []history.Turn) error {
	left := maxInline
	for _, t := range turns {
		for i := range t.Parts {
			f := t.Parts[i].File
			if f == nil {
				continue
			}
			data, err := r.file(ctx, f)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil || len(data) > left {
				r.log.WarnContext(ctx, "attachment left out", "name", f.Name, "size", len(data), "error", err)
				t.Parts[i] = history.Part{Text: fmt.Sprintf("[Attachment %q could not be shown to you.]", f.Name)}
				continue
			}
			left -= len(data)
			f.Data = data
		}
	}
	return nil
}

func (r *run) file(ctx context.Context, f *history.File) ([]byte, error) {
	if f.StagedAs == "" {
		return nil, errors.New("it was not copied to the staging area")
	}
	data, _, err := r.Files.Get(ctx, f.StagedAs)
	return data, err
}
