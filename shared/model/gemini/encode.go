package gemini

import (
	"google.golang.org/genai"

	"kesoku.dev/shared/history"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/model/internal/geminiapi"
)

// encodeTurns writes turns as contents. Turns of one speaker in a row become one content, so that a batch of calls stays together and
// so do its results: the API counts one against the other, content by content.
func encodeTurns(turns []history.Turn) ([]*genai.Content, error) {
	var out []*genai.Content
	for _, turn := range turns {
		parts, err := encodeParts(turn.Parts)
		if err != nil {
			return nil, err
		}
		role := string(genai.RoleUser)
		if turn.Speaker == history.SpeakerModel {
			role = genai.RoleModel
		}
		switch {
		case len(parts) == 0: // the API refuses a content without parts
		case len(out) > 0 && out[len(out)-1].Role == role:
			out[len(out)-1].Parts = append(out[len(out)-1].Parts, parts...)
		default:
			out = append(out, &genai.Content{Role: role, Parts: parts})
		}
	}
	return out, nil
}

func encodeParts(parts []history.Part) ([]*genai.Part, error) {
	var out []*genai.Part
	for _, p := range parts {
		part, err := encodePart(p)
		if err != nil {
			return nil, err
		}
		if part != nil {
			out = append(out, part)
		}
	}
	return out, nil
}

// encodePart returns nil for a part without content, which the API would refuse.
func encodePart(p history.Part) (*genai.Part, error) {
	switch {
	case p.Call != nil:
		return &genai.Part{ThoughtSignature: p.Signature, FunctionCall: &genai.FunctionCall{
			ID: geminiapi.OnWire(p.Call.ID), Name: p.Call.Name, Args: geminiapi.DecodeArgs(p.Call.Args),
		}}, nil
	case p.Result != nil:
		return &genai.Part{FunctionResponse: &genai.FunctionResponse{
			ID: geminiapi.OnWire(p.Result.ID), Name: p.Result.Name, Response: geminiapi.Response(p.Result),
		}}, nil
	case p.File != nil:
		return encodeFile(p.File)
	case p.Text != "":
		return &genai.Part{Text: p.Text, Thought: p.Thought, ThoughtSignature: p.Signature}, nil
	default:
		return nil, nil
	}
}

func encodeFile(f *history.File) (*genai.Part, error) {
	if f.Data == nil {
		return nil, &model.Fault{Kind: model.FaultRequest, Detail: "file " + f.Name + " was not loaded from the staging area"}
	}
	if len(f.Data) == 0 {
		return &genai.Part{Text: "[Empty file: " + f.Name + "]"}, nil
	}
	mime := f.MIMEType
	if mime == "" {
		mime = "application/octet-stream"
	}
	return &genai.Part{InlineData: &genai.Blob{MIMEType: mime, Data: f.Data}}, nil
}

func encodeSystem(text string) *genai.Content {
	if text == "" {
		return nil
	}
	return &genai.Content{Parts: []*genai.Part{{Text: text}}}
}

func encodeTools(tools []model.Tool) []*genai.Tool {
	if len(tools) == 0 {
		return nil
	}
	all := &genai.Tool{}
	for _, t := range tools {
		decl := &genai.FunctionDeclaration{Name: t.Name, Description: t.Description}
		if len(t.Parameters) > 0 {
			decl.ParametersJsonSchema = t.Parameters
		}
		all.FunctionDeclarations = append(all.FunctionDeclarations, decl)
	}
	return []*genai.Tool{all}
}

func encodeConfig(req model.Request) *genai.GenerateContentConfig {
	c := &genai.GenerateContentConfig{
		SystemInstruction: encodeSystem(req.System),
		Tools:             encodeTools(req.Tools),
		MaxOutputTokens:   geminiapi.MaxTokens(req.MaxTokens),
	}
	if len(req.Schema) > 0 {
		c.ResponseMIMEType, c.ResponseJsonSchema = "application/json", req.Schema
	}
	if req.Thinking {
		c.ThinkingConfig = &genai.ThinkingConfig{IncludeThoughts: true}
	}
	return c
}
