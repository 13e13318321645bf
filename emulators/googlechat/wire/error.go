package wire

import (
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf8"
)

// MaxText is the documented size of a message's text in bytes.
const MaxText = 32_000

// Error is a failure in the form in which Google's APIs tell it. Code is the HTTP status.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
	Details []any  `json:"details,omitempty"`
	// RetryAfter in seconds becomes a header; 0 sends none.
	RetryAfter int `json:"-"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d): %s", e.Status, e.Code, e.Message) }

var statuses = map[int]string{
	http.StatusBadRequest: "INVALID_ARGUMENT", http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "PERMISSION_DENIED",
	http.StatusNotFound: "NOT_FOUND", http.StatusConflict: "ALREADY_EXISTS", http.StatusTooManyRequests: "RESOURCE_EXHAUSTED",
	http.StatusInternalServerError: "INTERNAL", http.StatusServiceUnavailable: "UNAVAILABLE",
}

// Errorf makes an Error of an HTTP status.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Status: statuses[code], Message: fmt.Sprintf(format, args...)}
}

// TooLong is how Google refuses a text: the wording is that of its public 4096-character refusals, with today's limit in bytes.
func TooLong() *Error {
	const field = "apps.dynamite.CreateMessageInfo.text_body"
	e := Errorf(http.StatusBadRequest, "Maximum length of the field is %d. Field: %s", MaxText, field)
	e.Details = []any{map[string]any{
		"@type":           "type.googleapis.com/google.rpc.BadRequest",
		"fieldViolations": []map[string]string{{"field": field, "description": e.Message}},
	}}
	return e
}

// Exhausted is the refusal of one write too many. A retryAfter above 0, in seconds, is told as a header and as RetryInfo.
func Exhausted(retryAfter int) *Error {
	e := Errorf(http.StatusTooManyRequests, "Quota exceeded for quota metric 'Message writes' and limit 'Message writes per second per space'.")
	e.RetryAfter = retryAfter
	e.Details = []any{map[string]any{
		"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RATE_LIMIT_EXCEEDED", "domain": "googleapis.com",
		"metadata": map[string]string{"service": "chat.googleapis.com"},
	}}
	if retryAfter > 0 {
		e.Details = append(e.Details, map[string]any{
			"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": strconv.Itoa(retryAfter) + "s",
		})
	}
	return e
}

// CheckText fails on a text that no message can have.
func CheckText(text string, emptyIsFine bool) error {
	switch {
	case len(text) > MaxText:
		return TooLong()
	case !utf8.ValidString(text):
		return Errorf(http.StatusBadRequest, "The text is not valid UTF-8.")
	case text == "" && !emptyIsFine:
		return Errorf(http.StatusBadRequest, "Message cannot be empty.")
	}
	return nil
}
