package models

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// The rules that the real API enforces, in its words as far as they are public.
const (
	sayNoContents = "* GenerateContentRequest.contents: contents is not specified"
	sayRole       = "Please use a valid role: user, model."
	sayAlternate  = "Please ensure that multiturn requests alternate between user and model."
	sayEnd        = "Please ensure that multiturn requests end with a user role or a function response."
	sayNoCallTurn = "Please ensure that function response turn comes immediately after a function call turn."
	sayCount      = "Please ensure that the number of function response parts is equal to the number of function call parts of the " +
		"function call turn."
	sayNoData  = "* GenerateContentRequest.contents[%d].parts[%d].data: required oneof field 'data' must have one initialized field"
	sayNoProof = "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, " +
		"and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s`, position %d"
	sayBadProof = "Corrupted thought signature."
)

// validate applies the rules; model decides about signatures.
func (r *request) validate(model string) *problem {
	if len(r.Contents) == 0 {
		return invalid(sayNoContents)
	}
	want := roleUser
	for i, c := range r.Contents {
		role := c.Role
		if role == "" || role == "function" { // both are the user's to the API
			role = roleUser
		}
		switch {
		case role != roleUser && role != roleModel:
			return invalid(sayRole)
		case role != want:
			return invalid(sayAlternate)
		}
		if p := c.validateParts(i, role); p != nil {
			return p
		}
		want = map[string]string{roleUser: roleModel, roleModel: roleUser}[role]
	}
	if want == roleUser {
		return invalid(sayEnd)
	}
	if p := r.validateCalls(); p != nil {
		return p
	}
	return r.validateSignatures(strings.HasPrefix(model, "gemini-3"))
}

func (c content) validateParts(at int, role string) *problem {
	if len(c.Parts) == 0 {
		return invalid("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty", at)
	}
	for i, p := range c.Parts {
		things := 0
		for _, there := range []bool{
			p.Text != nil, p.InlineData != nil, p.FileData != nil, p.FunctionCall != nil, p.FunctionResponse != nil,
		} {
			if there {
				things++
			}
		}
		switch {
		case things != 1:
			return invalid(sayNoData, at, i)
		case p.FunctionCall != nil && (role != roleModel || p.FunctionCall.Name == ""),
			p.FunctionResponse != nil && (role != roleUser || p.FunctionResponse.Name == ""):
			return invalid("* GenerateContentRequest.contents[%d].parts[%d]: function part has no name or is not for role %s", at, i, role)
		}
	}
	return nil
}

// validateCalls wants each content with calls to be followed by one with as many responses, of the same names in the same order and
// with the same ids where they have any.
func (r *request) validateCalls() *problem {
	var open []*functionCall
	for _, c := range r.Contents {
		calls, responses := c.functions()
		switch {
		case len(responses) > 0 && len(open) == 0:
			return invalid(sayNoCallTurn)
		case len(responses) != len(open):
			return invalid(sayCount)
		}
		for i, response := range responses {
			if response.Name != open[i].Name || response.ID != open[i].ID {
				return invalid("function response %q with id %q does not match function call %q with id %q",
					response.Name, response.ID, open[i].Name, open[i].ID)
			}
		}
		open = calls
	}
	return nil
}

func (c content) functions() (calls []*functionCall, responses []*functionResponse) {
	for _, p := range c.Parts {
		if p.FunctionCall != nil {
			calls = append(calls, p.FunctionCall)
		}
		if p.FunctionResponse != nil {
			responses = append(responses, p.FunctionResponse)
		}
	}
	return calls, responses
}

// validateSignatures looks at the first call of each step. Any of our own signatures must be that call's; with strict, as for models of
// the third generation, the steps of the current turn must have one. The current turn begins with the latest content of the user's that
// has more than responses.
func (r *request) validateSignatures(strict bool) *problem {
	current := 0
	for i, c := range r.Contents {
		for _, p := range c.Parts {
			if c.Role != roleModel && p.FunctionResponse == nil {
				current = i
			}
		}
	}
	for i, c := range r.Contents {
		for j, p := range c.Parts {
			if p.FunctionCall == nil {
				continue
			}
			if strict && i > current && p.ThoughtSignature == "" {
				return invalid(sayNoProof, p.FunctionCall.Name, j)
			}
			if !genuine(p.ThoughtSignature, p.FunctionCall) {
				return invalid(sayBadProof)
			}
			break // only the first call of a batch is signed
		}
	}
	return nil
}

// ownSignature marks the signatures that sign makes.
const ownSignature = "stand-in:"

// sign makes the signature of a call, in base64 as it stands on the wire.
func sign(c *functionCall) string {
	sum := sha256.Sum256([]byte(c.Name + canonical(c.Args)))
	return base64.StdEncoding.EncodeToString([]byte(ownSignature + hex.EncodeToString(sum[:8])))
}

// genuine reports whether a signature is the call's, or not one of ours.
func genuine(signature string, c *functionCall) bool {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return false
	}
	return !strings.HasPrefix(string(raw), ownSignature) || signature == sign(c)
}
