package model

import (
	"net/http"
	"strconv"
	"time"
)

// maxRetryAfter bounds the delay that a provider may ask for: beyond a day it is no delay but an outage.
const maxRetryAfter = 24 * time.Hour

// FaultOfStatus classifies an HTTP status where the provider's body says nothing more exact.
func FaultOfStatus(status int) FaultKind {
	switch {
	case status == http.StatusTooManyRequests:
		return FaultRateLimited
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return FaultCredentials
	case status == http.StatusRequestEntityTooLarge:
		return FaultContext
	case status == http.StatusRequestTimeout || status >= http.StatusInternalServerError:
		return FaultOverloaded
	default:
		return FaultRequest
	}
}

// RetryAfter reads the Retry-After header in both of its forms, seconds and date. A date counts from the response's own Date
// header, so that neither side's clock matters. It is 0 where there is none or it is not understood, and at most a day.
func RetryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	sent, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(at.Sub(sent), 0), maxRetryAfter)
}
