package models

import (
	"fmt"
	"strings"

	"kesoku.dev/emulators/models/internal/persona"
)

// scene is everything since the model's last words, with each result beside its call.
func (r *request) scene() persona.Scene {
	s := persona.Scene{Offers: r.offers}
	from := len(r.Contents)
	for from > 0 && !r.Contents[from-1].isAnswer() {
		from--
	}
	var calls []*functionCall
	for _, c := range r.Contents[from:] {
		made, responses := c.functions()
		for i, response := range responses {
			if i < len(calls) {
				s.Done = append(s.Done, done(calls[i], response))
			}
		}
		calls = made
		for _, p := range c.Parts {
			switch {
			case c.Role == roleModel:
			case p.Text != nil:
				s.Messages = append(s.Messages, persona.Messages(*p.Text)...)
			case p.InlineData != nil:
				s.Files = append(s.Files, fmt.Sprintf("%s, %d bytes", p.InlineData.MIMEType, len(p.InlineData.Data)))
			}
		}
	}
	s.Summarise = len(r.Tools) == 0 && persona.WantsSummary(r.SystemInstruction.text(), r.Contents[len(r.Contents)-1].text())
	for _, c := range r.Contents {
		s.Story = append(s.Story, c.text())
	}
	return s
}

// isAnswer reports whether a content is the model's last word of an exchange.
func (c content) isAnswer() bool {
	calls, _ := c.functions()
	return c.Role == roleModel && len(calls) == 0
}

// text joins what a content says aloud.
func (c content) text() string {
	var b strings.Builder
	for _, p := range c.Parts {
		if p.Text != nil && !p.Thought {
			b.WriteString(*p.Text)
		}
	}
	return b.String()
}

// done pairs a call with its response: an object with output or error, else anything.
func done(c *functionCall, r *functionResponse) persona.Done {
	d := persona.Done{Call: persona.Call{Tool: c.Name, Args: c.Args}}
	if reason, failed := r.Response["error"]; failed {
		d.Content, d.Failed = fmt.Sprint(reason), true
		return d
	}
	if output, ok := r.Response["output"].(string); ok {
		d.Content = output
		return d
	}
	d.Content = canonical(r.Response)
	return d
}
