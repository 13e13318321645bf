package persona

import (
	"encoding/json"
	"strings"
)

// Decide answers in JSON whether to speak up in a room whose last messages are given as JSON lines with a text each: it does if the last one
// asks something of nobody in particular, the more so the longer the question is.
func Decide(room string) string {
	lines := strings.Split(strings.TrimSpace(room), "\n")
	var last struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal([]byte(lines[len(lines)-1]), &last) // what is no such line asks nothing
	text := strings.TrimSpace(last.Text)
	verdict := map[string]any{"speak": false, "urge": 0.1, "wait_ms": 0, "reason": "nobody asks anything"}
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.HasSuffix(text, "吗") {
		verdict = map[string]any{"speak": true, "urge": min(1, 0.4+float64(len([]rune(text)))/60), "wait_ms": 1500, "reason": "a question to the room"}
	}
	out, err := json.Marshal(verdict)
	if err != nil {
		return "{}" // cannot happen: it is made of plain values
	}
	return string(out)
}
