package geminiapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"kesoku.dev/shared/model"
)

// maxDetail bounds a provider's words in logs, in bytes.
const maxDetail = 600

// redacted stands where a key stood.
const redacted = "[key]"

const (
	typeRetryInfo = "type.googleapis.com/google.rpc.RetryInfo"
	typeErrorInfo = "type.googleapis.com/google.rpc.ErrorInfo"
)

// tooLong finds the 400 of a request over the model's context in its message: the API gives no code of its own for it.
var tooLong = regexp.MustCompile(`(?i)token count.{0,40} exceeds|payload size exceeds|exceeds the maximum number of tokens`)

// modelName is what may stand in a request's path. Names with a publisher, a project or a tuned model's folder have slashes.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}(/[A-Za-z0-9][A-Za-z0-9._@-]{0,127}){0,7}$`)

// Status is the error object of Google's APIs.
type Status struct {
	Code    int              `json:"code"`
	Status  string           `json:"status"`
	Message string           `json:"message"`
	Details []map[string]any `json:"details"`
}

// ParseStatus reads an error body, an object or the one-element array that a JSON stream wraps it in. What is neither becomes the
// message of a status with the HTTP code.
func ParseStatus(code int, body []byte) Status {
	var one struct {
		Error *Status `json:"error"`
	}
	text := strings.TrimSpace(string(body))
	inner := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if err := json.Unmarshal([]byte(inner), &one); err != nil || one.Error == nil {
		return Status{Code: code, Message: text}
	}
	if one.Error.Code == 0 {
		one.Error.Code = code
	}
	return *one.Error
}

// Fault classifies the error. header is the response's, where it could be reached; secret never appears in the detail.
func (s Status) Fault(header http.Header, secret string, cause error) *model.Fault {
	kind := model.FaultOfStatus(s.Code)
	switch {
	case s.detail(typeErrorInfo, "reason") == "API_KEY_INVALID":
		kind = model.FaultCredentials
	case kind == model.FaultRequest && tooLong.MatchString(s.Message):
		kind = model.FaultContext
	}
	words := s.Status + ": " + s.Message
	if secret != "" {
		words = strings.ReplaceAll(words, secret, redacted)
	}
	return &model.Fault{Kind: kind, RetryAfter: s.retryAfter(header), Detail: Clip(words), Err: cause}
}

// retryAfter prefers the body's RetryInfo to the header.
func (s Status) retryAfter(header http.Header) time.Duration {
	if d, err := time.ParseDuration(s.detail(typeRetryInfo, "retryDelay")); err == nil && d > 0 {
		return min(d, 24*time.Hour)
	}
	return model.RetryAfter(header)
}

// detail returns a text field of the first detail of a type.
func (s Status) detail(typ, field string) string {
	for _, d := range s.Details {
		if d["@type"] == typ {
			text, _ := d[field].(string) // of another type: as if absent
			return text
		}
	}
	return ""
}

// CheckModel refuses a model name that would not be one segment, or known kinds of segments, of a URL's path.
func CheckModel(name string) error {
	if modelName.MatchString(name) {
		return nil
	}
	return &model.Fault{Kind: model.FaultRequest, Detail: Clip("not a model name: " + name)}
}

// Scrub replaces an error whose text holds the secret by one whose text does not.
func Scrub(err error, secret string) error {
	if secret == "" || !strings.Contains(err.Error(), secret) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), secret, redacted))
}

// Clip cuts text for a log, on a rune's edge.
func Clip(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= maxDetail {
		return text
	}
	cut := maxDetail
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
