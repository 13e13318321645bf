package drive

import (
	"encoding/json"
	"strings"
	"testing"
)

// prompt is a request to the model: a conversation with an answered message, and two that were merged.
const prompt = `{"systemInstruction":{"parts":[{"text":"bench-0000009"}]},"contents":[
	{"role":"user","parts":[{"text":"please repeat bench-0000001"}]},
	{"role":"model","parts":[{"text":"You said bench-0000001"}]},
	{"role":"user","parts":[{"text":"please repeat bench-0000002"},{"text":"please repeat bench-0000003"}]}]}`

func TestEcho(t *testing.T) {
	t.Parallel()
	got, err := answerTo([]byte(prompt))
	if err != nil {
		t.Fatal(err)
	}
	if want := `"text":"You said bench-0000002 bench-0000003"`; !strings.Contains(string(got), want) {
		t.Errorf("answer %s, want %s", got, want)
	}
}

func FuzzEcho(f *testing.F) {
	f.Add([]byte(prompt))
	f.Add([]byte(`{"contents":[{"parts":[{}]}]}`))
	f.Fuzz(func(t *testing.T, request []byte) {
		if got, err := answerTo(request); err == nil && !json.Valid(got) {
			t.Errorf("answer is not JSON: %q", got)
		}
	})
}
