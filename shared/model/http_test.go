package model

import (
	"net/http"
	"testing"
	"time"
)

// case B57
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header http.Header
		want   time.Duration
	}{
		"none":              {http.Header{}, 0},
		"seconds":           {http.Header{"Retry-After": {"54"}}, 54 * time.Second},
		"far too long":      {http.Header{"Retry-After": {"4000000000"}}, 24 * time.Hour},
		"negative":          {http.Header{"Retry-After": {"-3"}}, 0},
		"nonsense":          {http.Header{"Retry-After": {"soon"}}, 0},
		"date without Date": {http.Header{"Retry-After": {"Wed, 27 May 2026 20:50:30 GMT"}}, 0},
		"date": {http.Header{
			"Date":        {"Wed, 27 May 2026 20:50:00 GMT"},
			"Retry-After": {"Wed, 27 May 2026 20:50:30 GMT"},
		}, 30 * time.Second},
		"date gone by": {http.Header{
			"Date":        {"Wed, 27 May 2026 20:50:00 GMT"},
			"Retry-After": {"Wed, 27 May 2026 20:49:00 GMT"},
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := RetryAfter(c.header); got != c.want {
				t.Errorf("RetryAfter(%v) = %v, want %v", c.header, got, c.want)
			}
		})
	}
}

func TestFaultOfStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]FaultKind{
		400: FaultRequest, 401: FaultCredentials, 403: FaultCredentials, 404: FaultRequest, 408: FaultOverloaded,
		413: FaultContext, 429: FaultRateLimited, 500: FaultOverloaded, 503: FaultOverloaded, 529: FaultOverloaded,
	} {
		if got := FaultOfStatus(status); got != want {
			t.Errorf("FaultOfStatus(%d) = %s, want %s", status, got, want)
		}
	}
}

// P13
func TestRegistryLookup(t *testing.T) {
	t.Parallel()
	known := Registry{"gemini": nil}
	for name, want := range map[string]string{
		"gemini:gemini-2.5-flash": "gemini-2.5-flash",
		"gemini:a:b":              "a:b",
		"gemini:":                 "",
		":x":                      "",
		"gemini":                  "",
		"nobody:x":                "",
	} {
		_, got, err := known.Lookup(name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Lookup(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
}
