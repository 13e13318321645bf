// Package inference is one model call: what the model is shown, what it answered, and what to do when it did not. It knows history and the
// model contract; it must not know leases, stores or topics.
package inference

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"kesoku.dev/shared/message"
	"kesoku.dev/shared/model"
)

// Answer is a model's whole reply. One without text and calls is blank, and no error.
type Answer struct {
	Text             string
	TextSignature    []byte
	Thought          string
	ThoughtSignature []byte
	Calls            []message.Call
	Usage            model.Usage
	Finish           model.Finish // empty where the provider named no reason
	Truncated        bool         // cut at the token limit, or by Cut
}

// Blank reports whether a person would see nothing. White space counts as nothing.
func (a *Answer) Blank() bool { return strings.TrimSpace(a.Text) == "" }

// maxReply is how many bytes of a reply are stored, short of the 256 KiB of which a store keeps but a preview: people get what is stored.
const maxReply = 250 << 10

// Cut shortens a text that is too long for a reply, on a rune's edge, and ends it with a note in people's language.
func (a *Answer) Cut(note string) {
	if len(a.Text) <= maxReply {
		return
	}
	n := maxReply
	for n > 0 && !utf8.RuneStart(a.Text[n]) {
		n--
	}
	a.Text, a.Truncated = a.Text[:n]+"\n\n"+note, true
	a.TextSignature = nil // it was of the whole
}

// Bounds of what a model may write in one answer; what is beyond them is an answer gone wrong.
const (
	maxAnswer = 1 << 20   // bytes, arguments included
	maxArgs   = 256 << 10 // bytes of one call's arguments, which must fit into its message's document
	maxCalls  = 256       // a turn runs far fewer; this bounds memory
)

// Ask makes the call and gathers the streamed answer.
func Ask(ctx context.Context, driver model.Driver, req model.Request) (Answer, error) {
	var a Answer
	for delta, err := range driver.Generate(ctx, req) {
		if err != nil && len(a.Calls) == 0 && isEmpty(err) {
			return a, nil
		}
		if err != nil {
			return a, err
		}
		if err := a.add(delta); err != nil {
			return a, err
		}
	}
	return a, nil
}

func isEmpty(err error) bool {
	var f *model.Fault
	return errors.As(err, &f) && f.Kind == model.FaultEmpty
}

// add takes one delta in.
func (a *Answer) add(d model.Delta) error {
	a.Text += d.Text
	a.Thought += d.Thought
	switch {
	case d.Call != nil:
		a.Calls = append(a.Calls, message.Call{ID: d.Call.ID, Name: d.Call.Name, Arguments: message.Arguments(d.Call.Args), Signature: d.Signature})
	case len(d.Signature) > 0 && d.Thought != "":
		a.ThoughtSignature = d.Signature
	case len(d.Signature) > 0:
		a.TextSignature = d.Signature
	}
	if d.Usage != nil {
		a.Usage = *d.Usage
	}
	if d.Finish != "" {
		a.Finish = d.Finish
	}
	a.Truncated = a.Truncated || d.Finish == model.FinishLength
	return a.bounded()
}

func (a *Answer) bounded() error {
	size := len(a.Text) + len(a.Thought)
	for _, c := range a.Calls {
		size += len(c.Arguments)
		if len(c.Arguments) > maxArgs {
			return gone("arguments of %q exceed %d bytes", c.Name, maxArgs)
		}
	}
	switch {
	case size > maxAnswer:
		return gone("answer exceeds %d bytes", maxAnswer)
	case len(a.Calls) > maxCalls:
		return gone("answer exceeds %d calls", maxCalls)
	default:
		return nil
	}
}

// gone is an answer gone wrong.
func gone(format string, args ...any) error {
	return &model.Fault{Kind: model.FaultMalformedCall, Detail: fmt.Sprintf(format, args...)}
}
