package generativeai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/generative-ai-go/genai"

	"kesoku.dev/shared/model"
)

// CountTokens asks the provider how many tokens the request is, system instruction and tools included. The SDK counts one content
// only, so all turns go into it, with calls and results as text: the count is off by the few tokens that mark turns.
func (d *Driver) CountTokens(ctx context.Context, req model.Request) (int, error) {
	m, contents, err := d.prepare(req)
	if err != nil {
		return 0, err
	}
	var parts []genai.Part
	for _, c := range contents {
		for _, p := range c.Parts {
			part, err := asText(p)
			if err != nil {
				return 0, err
			}
			parts = append(parts, part)
		}
	}
	inner, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	resp, err := m.CountTokens(inner, parts...)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return 0, &model.Fault{Kind: model.FaultOverloaded, Detail: "no count within " + countTimeout.String(), Err: err}
	}
	if err != nil {
		return 0, d.fail(ctx, "count tokens", req.Model, err)
	}
	return int(resp.TotalTokens), nil
}

// asText writes a call or a result as text; other parts stay what they are.
func asText(p genai.Part) (genai.Part, error) {
	var body map[string]any
	switch p := p.(type) {
	case genai.FunctionCall:
		body = map[string]any{p.Name: p.Args}
	case genai.FunctionResponse:
		body = map[string]any{p.Name: p.Response}
	default:
		return p, nil
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("count tokens: %w", err)
	}
	return genai.Text(b), nil
}
