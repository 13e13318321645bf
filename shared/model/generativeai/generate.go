package generativeai

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/google/generative-ai-go/genai"
	"google.golang.org/api/iterator"

	"kesoku.dev/shared/history"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/model/internal/geminiapi"
)

// countTimeout bounds a count, which the SDK repeats on a 503 for as long as its context lets it.
const countTimeout = 10 * time.Second

// Generate streams one answer. See model.Driver for its errors.
func (d *Driver) Generate(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		m, contents, err := d.prepare(req)
		if err != nil {
			yield(model.Delta{}, err)
			return
		}
		// The SDK leaves bodies open, of refusals always and of answers that are not read to their end: the context closes them.
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		chat := m.StartChat()
		chat.History = contents[:len(contents)-1]
		stream := chat.SendMessageStream(inner, contents[len(contents)-1].Parts...)
		a := &answer{ids: geminiapi.NewIDs(req.Turns)}
		for {
			chunk, err := next(stream)
			if errors.Is(err, iterator.Done) {
				break
			}
			if err != nil {
				yield(model.Delta{}, d.fail(ctx, "generate", req.Model, err))
				return
			}
			deltas, err := a.read(chunk)
			if err != nil {
				yield(model.Delta{}, err)
				return
			}
			for _, delta := range deltas {
				if !yield(delta, nil) {
					return
				}
			}
		}
		finish, err := a.ending.Finish()
		if err != nil {
			yield(model.Delta{}, d.fail(ctx, "generate", req.Model, err))
			return
		}
		yield(model.Delta{Finish: finish, Usage: a.usage}, nil)
	}
}

// next reads a chunk. The SDK panics over a part of a kind that is younger than itself.
func next(stream *genai.GenerateContentResponseIterator) (chunk *genai.GenerateContentResponse, err error) {
	defer func() {
		if r := recover(); r != nil {
			chunk, err = nil, unsupported("cannot read the answer: %v", r)
		}
	}()
	return stream.Next()
}

// answer gathers what a stream tells besides its deltas.
type answer struct {
	ids    *geminiapi.IDs
	ending geminiapi.Ending
	usage  *model.Usage
}

// finishReasons names the protocol's numbers, most of which are younger than the SDK.
var finishReasons = map[genai.FinishReason]string{
	1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION", 5: "OTHER", 6: "LANGUAGE", 7: "BLOCKLIST", 8: "PROHIBITED_CONTENT",
	9: "SPII", 10: "MALFORMED_FUNCTION_CALL", 11: "IMAGE_SAFETY", 12: "UNEXPECTED_TOOL_CALL", 13: "TOO_MANY_TOOL_CALLS",
}

func reasonName(r genai.FinishReason) string {
	if r == genai.FinishReasonUnspecified {
		return ""
	}
	if name, ok := finishReasons[r]; ok {
		return name
	}
	return fmt.Sprintf("number %d", r)
}

func (a *answer) read(chunk *genai.GenerateContentResponse) ([]model.Delta, error) {
	a.ending.Chunks++
	if u := chunk.UsageMetadata; u != nil {
		// The SDK drops the count of thoughts; what the total has above the prompt includes them.
		prompt, total := int(u.PromptTokenCount), int(u.TotalTokenCount)
		a.usage = &model.Usage{Prompt: prompt, Output: max(total-prompt, int(u.CandidatesTokenCount)), Total: total}
	}
	if len(chunk.Candidates) == 0 || chunk.Candidates[0] == nil {
		return nil, nil
	}
	candidate := chunk.Candidates[0]
	if name := reasonName(candidate.FinishReason); name != "" {
		a.ending.Reason = name
	}
	if candidate.Content == nil {
		return nil, nil
	}
	var deltas []model.Delta
	for _, part := range candidate.Content.Parts {
		delta, err := a.part(part)
		if err != nil {
			return nil, err
		}
		if delta.Call != nil || delta.Text != "" {
			deltas = append(deltas, delta)
		}
	}
	return deltas, nil
}

// part reads one part. Kinds that the driver asks for in no request, such as executed code, are passed over.
func (a *answer) part(p genai.Part) (model.Delta, error) {
	switch p := p.(type) {
	case genai.Text:
		a.ending.Spoke = a.ending.Spoke || p != ""
		return model.Delta{Text: string(p)}, nil
	case genai.FunctionCall:
		return a.call(p)
	default:
		return model.Delta{}, nil
	}
}

func (a *answer) call(c genai.FunctionCall) (model.Delta, error) {
	if c.Name == "" {
		return model.Delta{}, &model.Fault{Kind: model.FaultMalformedCall, Detail: "a call without a name"}
	}
	args, err := geminiapi.EncodeArgs(c.Args)
	if err != nil {
		return model.Delta{}, &model.Fault{Kind: model.FaultMalformedCall, Detail: "arguments of " + c.Name, Err: err}
	}
	a.ending.Spoke = true
	return model.Delta{Call: &history.Call{ID: a.ids.Take(""), Name: c.Name, Args: args}}, nil
}
