package geminiapi

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"kesoku.dev/shared/history"
)

// EncodeArgs writes a call's arguments as a JSON object; none are {}.
func EncodeArgs(args map[string]any) (string, error) {
	if args == nil {
		return "{}", nil
	}
	b, err := json.Marshal(args)
	if err != nil {
		return "", fmt.Errorf("encode the arguments of a call: %w", err)
	}
	return string(b), nil
}

// DecodeArgs reads a stored call's arguments. Text that is no JSON object, which another provider's model may have written, goes
// along as {"arguments": text}: refusing it would wedge the session for ever. Numbers are float64, since the protocol has no other.
func DecodeArgs(args string) map[string]any {
	var out map[string]any
	if err := json.Unmarshal([]byte(args), &out); err != nil || out == nil {
		if args == "" || args == "null" {
			return map[string]any{}
		}
		return map[string]any{"arguments": args}
	}
	return out
}

// Response is a tool's result as the protocol wants it: an object with the key output, or error if the tool failed.
func Response(r *history.Result) map[string]any {
	content := strings.ToValidUTF8(r.Content, "\uFFFD")
	if r.Failed {
		return map[string]any{"error": content}
	}
	return map[string]any{"output": content}
}

// MaxTokens fits a bound on an answer into the protocol's 32 bits; 0 stays no bound.
func MaxTokens(n int) int32 {
	return int32(min(max(n, 0), math.MaxInt32)) //nolint:gosec // G115: clamped in the same expression
}
