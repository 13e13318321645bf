package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"kesoku.dev/shared/history"
)

// Protocol is one provider's wire format: where the bytes of its replies are and how its requests are read.
type Protocol struct {
	folder, body, contentType string
	read                      func(body []byte) (Seen, error)
}

// GeminiSSE is the Gemini protocol as server-sent events with named enums.
func GeminiSSE() Protocol {
	return Protocol{folder: "gemini", body: "sse", contentType: "text/event-stream", read: readGemini}
}

// GeminiArray is the Gemini protocol as one JSON array with numbered enums.
func GeminiArray() Protocol {
	return Protocol{folder: "gemini", body: "array", contentType: "application/json; charset=UTF-8", read: readGemini}
}

// Seen is what a request says, in no provider's words. The ids of calls and results are those on the wire, which may be empty.
type Seen struct {
	System    string
	Turns     []history.Turn
	Tools     []string
	Thinking  bool
	MaxTokens int
	Schema    string // of the answer, where it is to be JSON
}

// geminiRequest is what the suite looks at in a request of the Gemini protocol.
type geminiRequest struct {
	Contents          []geminiContent `json:"contents"`
	SystemInstruction geminiContent   `json:"systemInstruction"`
	Tools             []struct {
		FunctionDeclarations []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	GenerationConfig struct {
		MaxOutputTokens    int             `json:"maxOutputTokens"`
		ResponseMIMEType   string          `json:"responseMimeType"`
		ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
		ThinkingConfig     struct {
			IncludeThoughts bool `json:"includeThoughts"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
	// GenerateContentRequest is where countTokens carries the rest.
	GenerateContentRequest *geminiRequest `json:"generateContentRequest"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text             *string `json:"text"`
	Thought          bool    `json:"thought"`
	ThoughtSignature []byte  `json:"thoughtSignature"`
	InlineData       *struct {
		MIMEType string `json:"mimeType"`
		Data     []byte `json:"data"`
	} `json:"inlineData"`
	FunctionCall *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		ID       string            `json:"id"`
		Name     string            `json:"name"`
		Response map[string]string `json:"response"`
	} `json:"functionResponse"`
}

func readGemini(body []byte) (Seen, error) {
	var req geminiRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return Seen{}, fmt.Errorf("not a Gemini request: %w", err)
	}
	if req.GenerateContentRequest != nil {
		req = *req.GenerateContentRequest
	}
	seen := Seen{Thinking: req.GenerationConfig.ThinkingConfig.IncludeThoughts, MaxTokens: req.GenerationConfig.MaxOutputTokens}
	if req.GenerationConfig.ResponseMIMEType == "application/json" {
		seen.Schema = string(req.GenerationConfig.ResponseJSONSchema)
	}
	for _, p := range req.SystemInstruction.Parts {
		if p.Text != nil {
			seen.System += *p.Text
		}
	}
	for _, tool := range req.Tools {
		for _, f := range tool.FunctionDeclarations {
			seen.Tools = append(seen.Tools, f.Name)
		}
	}
	for i, c := range req.Contents {
		turn := history.Turn{Speaker: history.Speaker(c.Role)}
		if len(c.Parts) == 0 {
			return Seen{}, fmt.Errorf("content %d has no parts", i)
		}
		for j, p := range c.Parts {
			part, err := p.part()
			if err != nil {
				return Seen{}, fmt.Errorf("content %d, part %d: %w", i, j, err)
			}
			turn.Parts = append(turn.Parts, part)
		}
		seen.Turns = append(seen.Turns, turn)
	}
	return seen, nil
}

// part reads one part, which must hold exactly one thing, as the API itself demands.
func (p geminiPart) part() (history.Part, error) {
	out := history.Part{Thought: p.Thought, Signature: p.ThoughtSignature}
	things := 0
	if p.Text != nil {
		things++
		out.Text = *p.Text
	}
	if p.InlineData != nil {
		things++
		out.File = &history.File{MIMEType: p.InlineData.MIMEType, Data: p.InlineData.Data}
	}
	if c := p.FunctionCall; c != nil {
		things++
		args := c.Args
		if len(bytes.TrimSpace(args)) == 0 {
			args = json.RawMessage("{}")
		}
		out.Call = &history.Call{ID: c.ID, Name: c.Name, Args: string(args)}
	}
	if r := p.FunctionResponse; r != nil {
		things++
		output, ok := r.Response["output"]
		failure, failed := r.Response["error"]
		if ok == failed {
			return out, fmt.Errorf("response %v has not exactly one of output and error", r.Response)
		}
		out.Result = &history.Result{ID: r.ID, Name: r.Name, Content: output + failure, Failed: failed}
	}
	if things != 1 {
		return out, fmt.Errorf("holds %d things", things)
	}
	return out, nil
}
