package gemini

import (
	"context"
	"fmt"

	"google.golang.org/genai"

	"kesoku.dev/shared/model"
)

// CountTokens asks the provider how many tokens the request is, system instruction and tools included.
func (d *Driver) CountTokens(ctx context.Context, req model.Request) (int, error) {
	contents, err := d.prepare(req)
	if err != nil {
		return 0, err
	}
	config := &genai.CountTokensConfig{}
	if d.vertex {
		config.SystemInstruction, config.Tools = encodeSystem(req.System), encodeTools(req.Tools)
	} else {
		config.HTTPOptions = &genai.HTTPOptions{ExtrasRequestProvider: wholeRequest(req)}
	}
	ctx, header := awaitHeader(ctx)
	resp, err := d.models.CountTokens(ctx, req.Model, contents, config)
	if err != nil {
		return 0, d.fail(ctx, "count tokens", req.Model, header, err)
	}
	return int(resp.TotalTokens), nil
}

// wholeRequest moves the contents into a generateContentRequest, where the Gemini API takes the system instruction and tools along:
// its countTokens has no other place for them, and the SDK refuses to send them beside the contents.
func wholeRequest(req model.Request) genai.ExtrasRequestProvider {
	return func(body map[string]any) map[string]any {
		whole := map[string]any{"model": fmt.Sprintf("models/%s", req.Model), "contents": body["contents"]}
		if system := encodeSystem(req.System); system != nil {
			whole["systemInstruction"] = system
		}
		if tools := encodeTools(req.Tools); tools != nil {
			whole["tools"] = tools
		}
		return map[string]any{"generateContentRequest": whole}
	}
}
