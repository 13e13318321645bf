package gemini

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/genai"

	"kesoku.dev/shared/history"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/model/internal/geminiapi"
)

// Generate streams one answer. See model.Driver for its errors.
func (d *Driver) Generate(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		contents, err := d.prepare(req)
		if err != nil {
			yield(model.Delta{}, err)
			return
		}
		ctx, header := awaitHeader(ctx)
		a := &answer{ids: geminiapi.NewIDs(req.Turns)}
		next, stop := iter.Pull2(d.models.GenerateContentStream(ctx, req.Model, contents, encodeConfig(req)))
		defer stop()
		for {
			chunk, more, err := safely(next)
			if !more {
				break
			}
			if err != nil {
				yield(model.Delta{}, d.fail(ctx, "generate", req.Model, header, err))
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
			yield(model.Delta{}, d.fail(ctx, "generate", req.Model, header, err))
			return
		}
		yield(model.Delta{Finish: finish, Usage: a.usage}, nil)
	}
}

// safely reads a chunk. The SDK panics over some answers, such as one with null for a candidate; what the caller does with a chunk
// must panic as ever, so the chunk is pulled out of the SDK's loop first.
func safely(next func() (*genai.GenerateContentResponse, error, bool)) (chunk *genai.GenerateContentResponse, more bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			chunk, more, err = nil, true, fmt.Errorf("the SDK cannot read the answer: %v", r)
		}
	}()
	chunk, err, more = next()
	return chunk, more, err
}

// prepare checks and converts what both calls send.
func (d *Driver) prepare(req model.Request) ([]*genai.Content, error) {
	if err := geminiapi.CheckModel(req.Model); err != nil {
		return nil, err
	}
	return encodeTurns(req.Turns)
}

// answer gathers what a stream tells besides its deltas.
type answer struct {
	ids    *geminiapi.IDs
	ending geminiapi.Ending
	usage  *model.Usage
}

func (a *answer) read(chunk *genai.GenerateContentResponse) ([]model.Delta, error) {
	a.ending.Chunks++
	if u := chunk.UsageMetadata; u != nil {
		a.usage = &model.Usage{
			Prompt: int(u.PromptTokenCount), Output: int(u.CandidatesTokenCount + u.ThoughtsTokenCount), Total: int(u.TotalTokenCount),
		}
	}
	if f := chunk.PromptFeedback; f != nil && f.BlockReason != "" {
		a.ending.Blocked, a.ending.Message = string(f.BlockReason), f.BlockReasonMessage
	}
	if len(chunk.Candidates) == 0 || chunk.Candidates[0] == nil {
		return nil, nil
	}
	candidate := chunk.Candidates[0]
	if r := candidate.FinishReason; r != "" && r != genai.FinishReasonUnspecified {
		a.ending.Reason, a.ending.Message = string(r), candidate.FinishMessage
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
		if delta.Call != nil || delta.Text != "" || delta.Thought != "" || len(delta.Signature) > 0 {
			deltas = append(deltas, delta)
		}
	}
	return deltas, nil
}

// part reads one part. Kinds that the driver asks for in no request, such as executed code, are passed over.
func (a *answer) part(p *genai.Part) (model.Delta, error) {
	switch {
	case p == nil:
		return model.Delta{}, nil
	case p.FunctionCall != nil:
		return a.call(p)
	case p.Thought:
		return model.Delta{Thought: p.Text, Signature: p.ThoughtSignature}, nil
	default:
		a.ending.Spoke = a.ending.Spoke || p.Text != ""
		return model.Delta{Text: p.Text, Signature: p.ThoughtSignature}, nil
	}
}

func (a *answer) call(p *genai.Part) (model.Delta, error) {
	if p.FunctionCall.Name == "" {
		return model.Delta{}, &model.Fault{Kind: model.FaultMalformedCall, Detail: "a call without a name"}
	}
	args, err := geminiapi.EncodeArgs(p.FunctionCall.Args)
	if err != nil {
		return model.Delta{}, &model.Fault{Kind: model.FaultMalformedCall, Detail: "arguments of " + p.FunctionCall.Name, Err: err}
	}
	a.ending.Spoke = true
	call := &history.Call{ID: a.ids.Take(p.FunctionCall.ID), Name: p.FunctionCall.Name, Args: args}
	return model.Delta{Call: call, Signature: p.ThoughtSignature}, nil
}
