// Package model is the contract between a turn and the providers of language models. It knows history's turns and nothing of
// any SDK; the drivers live in folders of their own, so that a function links only those it serves.
package model

import (
	"context"
	"encoding/json"
	"iter"

	"kesoku.dev/shared/history"
)

// Request is one model call.
type Request struct {
	Model  string // without the provider, e.g. "gemini-2.5-flash"
	System string // the system instruction
	Turns  []history.Turn
	Tools  []Tool
	// Thinking asks for the model's thoughts. A driver whose provider has none refuses with FaultUnsupported.
	Thinking bool
	// MaxTokens bounds the answer; 0 leaves it to the provider.
	MaxTokens int
	// Schema, if set, is a JSON schema that the answer's text follows. A driver whose SDK has none refuses with FaultUnsupported.
	Schema json.RawMessage
}

// Tool is a function the model may call.
type Tool struct {
	Name        string
	Description string
	// Parameters is a JSON schema of type object.
	Parameters json.RawMessage
}

// Delta is one piece of a streamed answer. Text, thought and calls arrive in any number of deltas; Usage and Finish in the last.
type Delta struct {
	Text    string
	Thought string
	Call    *history.Call
	// Signature belongs to the call, text or thought of this delta.
	Signature []byte
	Usage     *Usage
	Finish    Finish
}

// Usage counts tokens.
type Usage struct {
	Prompt int
	Output int // thoughts included
	Total  int
}

// Finish says why a model stopped.
type Finish string

// The reasons that are no fault.
const (
	FinishStop   Finish = "stop"
	FinishLength Finish = "length" // the answer was cut at MaxTokens; what came is valid
)

// Driver talks to one provider. Errors of Generate and CountTokens are *Fault values where the provider answered, and plain
// errors where the network did not. The sequence ends after its first error.
type Driver interface {
	Generate(ctx context.Context, req Request) iter.Seq2[Delta, error]
	CountTokens(ctx context.Context, req Request) (int, error)
}
