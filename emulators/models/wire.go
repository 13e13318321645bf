package models

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// The methods of a model.
const (
	methodGenerate = "generateContent"
	methodStream   = "streamGenerateContent"
	methodCount    = "countTokens"
)

// The roles of a content.
const (
	roleUser  = "user"
	roleModel = "model"
)

// bytesPerToken is the rough size of a token.
const bytesPerToken = 4

// request is what the stand-in reads of a request.
type request struct {
	Contents          []content `json:"contents"`
	SystemInstruction content   `json:"systemInstruction"`
	Tools             []struct {
		FunctionDeclarations []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	GenerationConfig struct {
		MaxOutputTokens  int    `json:"maxOutputTokens"`
		ResponseMIMEType string `json:"responseMimeType"`
		ThinkingConfig   struct {
			IncludeThoughts bool `json:"includeThoughts"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
	// GenerateContentRequest is where countTokens may carry all of the above.
	GenerateContentRequest *request `json:"generateContentRequest"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts,omitempty"`
}

type part struct {
	Text             *string           `json:"text,omitempty"`
	Thought          bool              `json:"thought,omitempty"`
	ThoughtSignature string            `json:"thoughtSignature,omitempty"` // base64
	InlineData       *blob             `json:"inlineData,omitempty"`
	FileData         json.RawMessage   `json:"fileData,omitempty"`
	FunctionCall     *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
}

type blob struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type functionCall struct {
	ID   string         `json:"id,omitempty"`
	Name string         `json:"name"`
	Args map[string]any `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string         `json:"id,omitempty"`
	Name     string         `json:"name"`
	Response map[string]any `json:"response"`
}

// offers reports whether the request lets the model call the tool.
func (r *request) offers(tool string) bool {
	for _, t := range r.Tools {
		for _, f := range t.FunctionDeclarations {
			if f.Name == tool {
				return true
			}
		}
	}
	return false
}

// tokens counts a request, roughly and never as nothing.
func (r *request) tokens() int {
	size := 0
	for _, c := range append([]content{r.SystemInstruction}, r.Contents...) {
		for _, p := range c.Parts {
			size += p.size()
		}
	}
	for _, t := range r.Tools {
		for _, f := range t.FunctionDeclarations {
			size += 40 + len(f.Name) // a name, a description and a few parameters
		}
	}
	return size/bytesPerToken + 1
}

func (p part) size() int {
	size := 0
	if p.Text != nil {
		size += len(*p.Text)
	}
	if p.InlineData != nil {
		size += len(p.InlineData.Data)
	}
	if p.FunctionCall != nil {
		size += len(p.FunctionCall.Name) + len(canonical(p.FunctionCall.Args))
	}
	if p.FunctionResponse != nil {
		size += len(p.FunctionResponse.Name) + len(canonical(p.FunctionResponse.Response))
	}
	return size
}

// canonical writes an object with its keys in order.
func canonical(object map[string]any) string {
	if len(object) == 0 {
		return "{}"
	}
	b, err := json.Marshal(object)
	if err != nil {
		return "{}" // cannot happen: it came from JSON, or from texts of our own
	}
	return string(b)
}

// problem is the error object of Google's APIs.
type problem struct {
	Code    int              `json:"code"`
	Message string           `json:"message"`
	Status  string           `json:"status"`
	Details []map[string]any `json:"details,omitempty"`
}

func problemf(code int, status, format string, args ...any) *problem {
	return &problem{Code: code, Status: status, Message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *problem {
	return problemf(http.StatusBadRequest, "INVALID_ARGUMENT", format, args...)
}

// response is a GenerateContentResponse.
type response struct {
	Candidates     []candidate     `json:"candidates,omitempty"`
	PromptFeedback *promptFeedback `json:"promptFeedback,omitempty"`
	UsageMetadata  *usage          `json:"usageMetadata,omitempty"`
	ModelVersion   string          `json:"modelVersion,omitempty"`
}

type candidate struct {
	Content       content `json:"content"`
	FinishReason  string  `json:"finishReason,omitempty"`
	FinishMessage string  `json:"finishMessage,omitempty"`
	Index         int     `json:"index"`
}

type promptFeedback struct {
	BlockReason string `json:"blockReason"`
}

type usage struct {
	Prompt   int `json:"promptTokenCount"`
	Output   int `json:"candidatesTokenCount,omitempty"`
	Thoughts int `json:"thoughtsTokenCount,omitempty"`
	Total    int `json:"totalTokenCount"`
}

func usageOf(req *request, output, thoughts int) *usage {
	prompt := req.tokens()
	return &usage{Prompt: prompt, Output: output, Thoughts: thoughts, Total: prompt + output + thoughts}
}

// encode writes a response.
func encode(r response) []byte {
	b, err := json.Marshal(r)
	if err != nil {
		return []byte("{}") // cannot happen: texts, numbers, and arguments that came from JSON
	}
	return b
}
