// Package form is the writing of answers in the forms that the Gemini protocol knows: one object, server-sent events, or a JSON array
// as a stream; enums as names or as numbers. It knows nothing of what the answers say.
package form

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Form is how a request wants its answer written.
type Form struct {
	Stream  bool
	SSE     bool // server-sent events; else a stream is one JSON array
	numbers bool // enums as numbers
}

// Of reads the form off a request's query; stream says whether its method streams.
func Of(r *http.Request, stream bool) Form {
	query := r.URL.Query()
	return Form{
		Stream:  stream,
		SSE:     query.Get("alt") == "sse",
		numbers: strings.Contains(query.Get("$alt"), "enum-encoding=int"),
	}
}

// Refuse writes an error object. A JSON stream wraps it in an array, as the real API does.
func (f Form) Refuse(w http.ResponseWriter, status int, problem any) {
	body, err := json.Marshal(map[string]any{"error": problem})
	if err != nil {
		body = []byte(`{"error":{"code":500,"status":"INTERNAL"}}`) // cannot happen: texts and numbers only
	}
	if f.Stream && !f.SSE {
		body = append(append([]byte{'['}, body...), ']')
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // whoever asked may have gone
}

// Unary writes one object.
func (f Form) Unary(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	body, err := json.Marshal(object)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(body) // whoever asked may have gone
}

// Frame writes the n-th chunk of a stream.
func (f Form) Frame(n int, chunk []byte) []byte {
	chunk = f.Encode(chunk)
	switch {
	case f.SSE:
		return append(append([]byte("data: "), chunk...), "\r\n\r\n"...)
	case n == 0:
		return append([]byte("["), chunk...)
	default:
		return append([]byte(",\r\n"), chunk...)
	}
}

// The numbers of the protocol's enums.
var (
	finishNumbers = map[string]int{
		"FINISH_REASON_UNSPECIFIED": 0, "STOP": 1, "MAX_TOKENS": 2, "SAFETY": 3, "RECITATION": 4, "OTHER": 5, "LANGUAGE": 6, "BLOCKLIST": 7,
		"PROHIBITED_CONTENT": 8, "SPII": 9, "MALFORMED_FUNCTION_CALL": 10, "IMAGE_SAFETY": 11, "UNEXPECTED_TOOL_CALL": 12, "TOO_MANY_TOOL_CALLS": 13,
	}
	blockNumbers = map[string]int{
		"BLOCK_REASON_UNSPECIFIED": 0, "SAFETY": 1, "OTHER": 2, "BLOCKLIST": 3, "PROHIBITED_CONTENT": 4, "IMAGE_SAFETY": 5,
	}
)

// Encode turns named enums into numbers where the request wants them. A chunk that cannot be read, as a script may hold, stays as it is.
func (f Form) Encode(chunk []byte) []byte {
	var object map[string]any
	if !f.numbers || json.Unmarshal(chunk, &object) != nil {
		return chunk
	}
	candidates, _ := object["candidates"].([]any) // absent: nothing to do
	for _, c := range candidates {
		number(c, "finishReason", finishNumbers)
	}
	number(object["promptFeedback"], "blockReason", blockNumbers)
	out, err := json.Marshal(object)
	if err != nil {
		return chunk
	}
	return out
}

// number replaces a named enum of an object, if both are there.
func number(object any, field string, numbers map[string]int) {
	fields, ok := object.(map[string]any)
	if !ok {
		return
	}
	name, ok := fields[field].(string)
	if n, known := numbers[name]; ok && known {
		fields[field] = n
	}
}
