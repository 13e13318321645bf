package generativeai

import (
	"fmt"
	"strings"

	"github.com/google/generative-ai-go/genai"

	"kesoku.dev/shared/history"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/model/internal/geminiapi"
)

// The roles of the protocol.
const (
	roleUser  = "user"
	roleModel = "model"
)

// unsupported is the fault of a request that this SDK cannot carry.
func unsupported(format string, args ...any) error {
	detail := "generative-ai-go, whose support ended in 2025, " + fmt.Sprintf(format, args...) + "; use the gemini driver"
	return &model.Fault{Kind: model.FaultUnsupported, Detail: geminiapi.Clip(detail)}
}

// prepare checks what both calls send and returns the model, the earlier contents and the last one, which is the user's.
func (d *Driver) prepare(req model.Request) (*genai.GenerativeModel, []*genai.Content, error) {
	if err := geminiapi.CheckModel(req.Model); err != nil {
		return nil, nil, err
	}
	if req.Thinking {
		return nil, nil, unsupported("returns no thoughts")
	}
	if len(req.Schema) > 0 {
		return nil, nil, unsupported("takes no JSON schema of an answer")
	}
	contents, err := encodeTurns(req.Turns)
	if err != nil {
		return nil, nil, err
	}
	if len(contents) == 0 || contents[len(contents)-1].Role != roleUser {
		return nil, nil, &model.Fault{Kind: model.FaultRequest, Detail: "the last turn is not the user's"}
	}
	m := d.client.GenerativeModel(req.Model)
	if req.System != "" {
		m.SystemInstruction = &genai.Content{Parts: []genai.Part{genai.Text(strings.ToValidUTF8(req.System, "\uFFFD"))}}
	}
	if req.MaxTokens > 0 {
		m.SetMaxOutputTokens(geminiapi.MaxTokens(req.MaxTokens))
	}
	m.Tools, err = encodeTools(req.Tools)
	return m, contents, err
}

// encodeTurns writes turns as contents; turns of one speaker in a row become one, as the API counts results against calls content
// by content.
func encodeTurns(turns []history.Turn) ([]*genai.Content, error) {
	var out []*genai.Content
	for _, turn := range turns {
		role := roleUser
		if turn.Speaker == history.SpeakerModel {
			role = roleModel
		}
		for _, p := range turn.Parts {
			part, err := encodePart(p)
			if err != nil {
				return nil, err
			}
			if part == nil {
				continue
			}
			if len(out) == 0 || out[len(out)-1].Role != role {
				out = append(out, &genai.Content{Role: role})
			}
			last := out[len(out)-1]
			last.Parts = append(last.Parts, part)
		}
	}
	return out, nil
}

// encodePart returns nil for a part without content, which the API would refuse.
func encodePart(p history.Part) (genai.Part, error) {
	switch {
	case len(p.Signature) > 0:
		return nil, unsupported("cannot send thought signatures back")
	case p.Thought:
		return nil, unsupported("cannot send thoughts back")
	case p.Call != nil:
		return genai.FunctionCall{Name: p.Call.Name, Args: geminiapi.DecodeArgs(p.Call.Args)}, nil
	case p.Result != nil:
		return genai.FunctionResponse{Name: p.Result.Name, Response: geminiapi.Response(p.Result)}, nil
	case p.File != nil:
		return encodeFile(p.File)
	case p.Text != "":
		return genai.Text(strings.ToValidUTF8(p.Text, "\uFFFD")), nil // the SDK marshals a protobuf, which takes nothing else
	default:
		return nil, nil
	}
}

func encodeFile(f *history.File) (genai.Part, error) {
	if f.Data == nil {
		return nil, &model.Fault{Kind: model.FaultRequest, Detail: "file " + f.Name + " was not loaded from the staging area"}
	}
	if len(f.Data) == 0 {
		return genai.Text("[Empty file: " + f.Name + "]"), nil
	}
	mime := f.MIMEType
	if mime == "" {
		mime = "application/octet-stream"
	}
	return genai.Blob{MIMEType: mime, Data: f.Data}, nil
}

func encodeTools(tools []model.Tool) ([]*genai.Tool, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	all := &genai.Tool{}
	for _, t := range tools {
		schema, err := encodeSchema(t.Parameters)
		if err != nil {
			return nil, unsupported("cannot describe tool %s: %v", t.Name, err)
		}
		all.FunctionDeclarations = append(all.FunctionDeclarations, &genai.FunctionDeclaration{
			Name: t.Name, Description: t.Description, Parameters: schema,
		})
	}
	return []*genai.Tool{all}, nil
}
