package models

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"kesoku.dev/emulators/models/internal/persona"
)

const (
	retryDelay = "2s" // what a refusal for quota asks for
	maxRefused = 1024 // how many refusals are remembered
	slowPieces = 6    // in how many pieces a slow thought comes
)

// respond lets the persona act and puts the act into the protocol.
func (s *server) respond(req *request) outcome {
	if req.GenerationConfig.ResponseMIMEType == "application/json" {
		return s.perform(req, persona.Act{Text: persona.Decide(req.Contents[len(req.Contents)-1].text())})
	}
	act := persona.Play(req.scene())
	switch act.Fail {
	case persona.FailQuota:
		if s.refuseOnce(req) {
			p := problemf(http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "You exceeded your current quota. Please retry in %s.", retryDelay)
			p.Details = []map[string]any{{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": retryDelay}}
			return outcome{problem: p}
		}
	case persona.FailServer:
		p := problemf(http.StatusInternalServerError, "INTERNAL", "An internal error has occurred. Please retry.")
		return outcome{problem: p}
	case persona.FailBlocked:
		return outcome{chunks: []chunk{{body: encode(response{
			PromptFeedback: &promptFeedback{BlockReason: "PROHIBITED_CONTENT"}, UsageMetadata: usageOf(req, 0, 0),
		})}}}
	case persona.FailEmpty:
		return last(req, candidate{Content: content{Role: roleModel}, FinishReason: "STOP"})
	case persona.FailMalformed:
		return last(req, candidate{FinishReason: "MALFORMED_FUNCTION_CALL", FinishMessage: "Malformed function call: print(default_api."})
	}
	return s.perform(req, act)
}

// last is an answer that ends as soon as it begins.
func last(req *request, c candidate) outcome {
	return outcome{chunks: []chunk{{body: encode(response{Candidates: []candidate{c}, UsageMetadata: usageOf(req, 0, 0)})}}}
}

// refuseOnce reports whether the prompt comes for the first time.
func (s *server) refuseOnce(req *request) bool {
	prompt, err := json.Marshal(req.Contents)
	if err != nil {
		return false // cannot happen: it came from JSON
	}
	key := sha256.Sum256(prompt)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused[key] {
		delete(s.refused, key)
		return false
	}
	if len(s.refused) >= maxRefused {
		clear(s.refused)
	}
	s.refused[key] = true
	return true
}

// performance gathers the chunks of an answer.
type performance struct {
	req    *request
	chunks []chunk
	delay  time.Duration // thinking that nobody sees, before the next chunk
}

func (p *performance) add(wait time.Duration, parts ...part) {
	body := encode(response{Candidates: []candidate{{Content: content{Role: roleModel, Parts: parts}}}, ModelVersion: "stand-in"})
	p.chunks = append(p.chunks, chunk{body: body, wait: wait + p.delay})
	p.delay = 0
}

// perform streams thoughts where the request asks to see them, then calls or text, and last of all the usage.
func (s *server) perform(req *request, act persona.Act) outcome {
	p := &performance{req: req}
	thoughts := s.think(p, act)
	output, reason := 0, "STOP"
	for i, call := range act.Calls {
		c := part{FunctionCall: &functionCall{Name: call.Tool, Args: call.Args}}
		if i == 0 {
			c.ThoughtSignature = sign(c.FunctionCall)
		}
		output += c.size()
		p.add(s.pace.Chunk, c)
	}
	if len(act.Calls) == 0 {
		text := act.Text
		if limit := req.GenerationConfig.MaxOutputTokens; limit > 0 && len(text)/bytesPerToken > limit {
			text, reason = persona.Clip(text, limit*bytesPerToken), "MAX_TOKENS"
		}
		output = len(text)
		for _, piece := range persona.Pieces(text) {
			p.add(s.pace.Chunk, part{Text: &piece})
		}
	}
	empty := ""
	end := candidate{Content: content{Role: roleModel, Parts: []part{{Text: &empty}}}, FinishReason: reason}
	usage := usageOf(req, output/bytesPerToken+1, thoughts)
	p.chunks = append(p.chunks, chunk{body: encode(response{Candidates: []candidate{end}, UsageMetadata: usage, ModelVersion: "stand-in"})})
	return outcome{chunks: p.chunks}
}

// think shows the thought, or only takes its time, and returns its tokens.
func (s *server) think(p *performance, act persona.Act) int {
	size, wait := 2, s.pace.Chunk
	if act.Slow {
		size, wait = len(persona.Pieces(act.Thought))/slowPieces+1, s.pace.Thought
	}
	words := persona.Pieces(act.Thought)
	for i := 0; i < len(words); i += size {
		if !p.req.GenerationConfig.ThinkingConfig.IncludeThoughts {
			p.delay += wait
			continue
		}
		text := strings.Join(words[i:min(i+size, len(words))], "")
		p.add(wait, part{Text: &text, Thought: true})
	}
	return len(act.Thought)/bytesPerToken + 1
}
