package geminiapi

import (
	"fmt"
	"io"

	"kesoku.dev/shared/model"
)

// finishReasons maps the protocol's reasons other than STOP and MAX_TOKENS to faults. OTHER and whatever comes later is taken as a
// passing trouble of the provider: it stopped, it does not say why, and what it said so far is no answer.
var finishReasons = map[string]model.FaultKind{
	"SAFETY":                  model.FaultBlocked,
	"RECITATION":              model.FaultBlocked,
	"LANGUAGE":                model.FaultBlocked,
	"BLOCKLIST":               model.FaultBlocked,
	"PROHIBITED_CONTENT":      model.FaultBlocked,
	"SPII":                    model.FaultBlocked,
	"IMAGE_SAFETY":            model.FaultBlocked,
	"MALFORMED_FUNCTION_CALL": model.FaultMalformedCall,
	"UNEXPECTED_TOOL_CALL":    model.FaultMalformedCall,
	"TOO_MANY_TOOL_CALLS":     model.FaultMalformedCall,
}

// Ending is what the chunks of an answer told of its end.
type Ending struct {
	Chunks  int    // how many came
	Spoke   bool   // text or a call was among them
	Reason  string // the candidate's finishReason
	Blocked string // promptFeedback.blockReason
	Message string // the provider's words on either
}

// Finish turns the ending into a reason to stop, a *model.Fault, or io.ErrUnexpectedEOF where the answer just broke off.
func (e Ending) Finish() (model.Finish, error) {
	fault := func(kind model.FaultKind, what string) (model.Finish, error) {
		return "", &model.Fault{Kind: kind, Detail: Clip(fmt.Sprintf("%s %s", what, e.Message))}
	}
	kind, bad := finishReasons[e.Reason]
	stopped := e.Reason == "STOP" || e.Reason == "MAX_TOKENS"
	switch {
	case e.Blocked != "":
		return fault(model.FaultBlocked, "prompt blocked: "+e.Blocked)
	case bad:
		return fault(kind, "finish reason "+e.Reason)
	case e.Chunks == 0, e.Reason == "" && e.Spoke:
		return "", fmt.Errorf("the answer broke off: %w", io.ErrUnexpectedEOF)
	case !e.Spoke && (stopped || e.Reason == ""):
		return fault(model.FaultEmpty, "neither text nor call; finish reason "+e.Reason)
	case e.Reason == "STOP":
		return model.FinishStop, nil
	case e.Reason == "MAX_TOKENS":
		return model.FinishLength, nil
	default:
		return fault(model.FaultOverloaded, "finish reason "+e.Reason)
	}
}
