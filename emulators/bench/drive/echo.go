package drive

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"kesoku.dev/shared/clock"
)

// token marks a message. The model repeats the tokens of all messages that a prompt was merged of, which tells what a reply answers.
var token = regexp.MustCompile(`\bbench-\d{7}\b`)

func tokenOf(n int) string { return fmt.Sprintf("bench-%07d", n) }

// maxPrompt bounds what is read of a request, in bytes; the API's own limit.
const maxPrompt = 20 << 20

// echo is a model in the Gemini protocol that takes its time and then repeats the tokens of the live prompt, in their order, in one piece.
type echo struct{ delay time.Duration }

// ServeHTTP answers streamGenerateContent as server-sent events.
func (e echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, ":streamGenerateContent") || r.URL.Query().Get("alt") != "sse" {
		http.Error(w, "only streamGenerateContent as server-sent events", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPrompt))
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	answer, err := answerTo(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if (clock.System{}).Sleep(r.Context(), e.delay) != nil {
		return // whoever asked has gone
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: %s\r\n\r\n", answer) // whoever asked may have gone
}

type part struct {
	Text string `json:"text"`
}

type content struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

// answerTo is the one chunk of the answer to a request.
func answerTo(request []byte) ([]byte, error) {
	var asked struct {
		Contents []content `json:"contents"`
	}
	if err := json.Unmarshal(request, &asked); err != nil {
		return nil, fmt.Errorf("read a request to the model: %w", err)
	}
	var live []string
	for _, c := range asked.Contents {
		if c.Role == "model" {
			live = nil
			continue
		}
		for _, p := range c.Parts {
			live = append(live, token.FindAllString(p.Text, -1)...)
		}
	}
	type candidate struct {
		Content      content `json:"content"`
		FinishReason string  `json:"finishReason"`
	}
	said := content{Role: "model", Parts: []part{{"You said " + strings.Join(live, " ")}}}
	in, out := len(request)/4, 4*len(live) // tokens, roughly
	return json.Marshal(map[string]any{
		"candidates":    []candidate{{Content: said, FinishReason: "STOP"}},
		"usageMetadata": map[string]int{"promptTokenCount": in, "candidatesTokenCount": out, "totalTokenCount": in + out},
		"modelVersion":  "echo",
	})
}
