package geminiapi

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"kesoku.dev/shared/history"
	"kesoku.dev/shared/model"
)

// case B58
func TestIDs(t *testing.T) {
	t.Parallel()
	ids := NewIDs([]history.Turn{{Parts: []history.Part{
		{Call: &history.Call{ID: "call-1"}}, {Call: &history.Call{ID: "given"}}, {Text: "x"},
	}}})
	var got []string
	for _, given := range []string{"", "", "new", "given", ""} {
		got = append(got, ids.Take(given))
	}
	if want := "call-2 call-3 new call-4 call-5"; strings.Join(got, " ") != want {
		t.Errorf("ids = %v, want %s", got, want)
	}
	for id, want := range map[string]string{"call-7": "", "call_7": "call_7", "given": "given", "call-7a": "call-7a", "": ""} {
		if got := OnWire(id); got != want {
			t.Errorf("OnWire(%q) = %q, want %q", id, got, want)
		}
	}
}

func TestArgs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                  `{}`,
		"null":              `{}`,
		`{"a":[1,{"b":2}]}`: `{"a":[1,{"b":2}]}`,
		`[1]`:               `{"arguments":"[1]"}`,
		`{"a":`:             `{"arguments":"{\"a\":"}`,
	} {
		got, err := EncodeArgs(DecodeArgs(in))
		if err != nil || got != want {
			t.Errorf("args %q came back as %q, %v; want %q", in, got, err, want)
		}
	}
	if got, err := EncodeArgs(nil); got != "{}" || err != nil {
		t.Errorf("EncodeArgs(nil) = %q, %v", got, err)
	}
}

// case B53, B54, B55
func TestEndingFinish(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ending Ending
		want   model.Finish
		fault  model.FaultKind
		err    error
	}{
		"stop":                  {Ending{Chunks: 2, Spoke: true, Reason: "STOP"}, model.FinishStop, "", nil},
		"cut":                   {Ending{Chunks: 2, Spoke: true, Reason: "MAX_TOKENS"}, model.FinishLength, "", nil},
		"cut in its thoughts":   {Ending{Chunks: 2, Reason: "MAX_TOKENS"}, "", model.FaultEmpty, nil},
		"empty":                 {Ending{Chunks: 1, Reason: "STOP"}, "", model.FaultEmpty, nil},
		"no candidate, no word": {Ending{Chunks: 1}, "", model.FaultEmpty, nil},
		"broke off":             {Ending{Chunks: 1, Spoke: true}, "", "", io.ErrUnexpectedEOF},
		"nothing came":          {Ending{}, "", "", io.ErrUnexpectedEOF},
		"blocked":               {Ending{Chunks: 1, Blocked: "OTHER"}, "", model.FaultBlocked, nil},
		"later blocked":         {Ending{Chunks: 3, Spoke: true, Reason: "SPII"}, "", model.FaultBlocked, nil},
		"malformed":             {Ending{Chunks: 1, Reason: "MALFORMED_FUNCTION_CALL"}, "", model.FaultMalformedCall, nil},
		"unknown reason":        {Ending{Chunks: 1, Spoke: true, Reason: "TIRED"}, "", model.FaultOverloaded, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.ending.Finish()
			var fault *model.Fault
			kind := model.FaultKind("")
			if errors.As(err, &fault) {
				kind = fault.Kind
			}
			if got != c.want || kind != c.fault || (c.err != nil && !errors.Is(err, c.err)) || (c.fault == "" && c.err == nil && err != nil) {
				t.Errorf("Finish() = %q, %v; want %q, fault %q, error %v", got, err, c.want, c.fault, c.err)
			}
		})
	}
}

// case B57
func TestStatusFault(t *testing.T) {
	t.Parallel()
	body := `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota of key s3cret","details":[
		{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"54.5s"}]}}`
	header := http.Header{"Retry-After": {"7"}}
	detail := func(code int, fields map[string]any) Status {
		return Status{Code: code, Details: []map[string]any{fields}}
	}
	const tooMany = "The input token count (1091639) exceeds the maximum number of tokens allowed (1048576)."
	const tooBig = "Request payload size exceeds the limit: 20971520 bytes."
	for name, c := range map[string]struct {
		status Status
		kind   model.FaultKind
		after  time.Duration
	}{
		"object":          {ParseStatus(429, []byte(body)), model.FaultRateLimited, 54500 * time.Millisecond},
		"array":           {ParseStatus(429, []byte("["+body+"\n]")), model.FaultRateLimited, 54500 * time.Millisecond},
		"plain text":      {ParseStatus(502, []byte("<html>bad gateway s3cret")), model.FaultOverloaded, 7 * time.Second},
		"no body":         {ParseStatus(404, nil), model.FaultRequest, 7 * time.Second},
		"odd details":     {detail(429, map[string]any{"@type": typeRetryInfo, "retryDelay": 3}), model.FaultRateLimited, 7 * time.Second},
		"absurd delay":    {detail(429, map[string]any{"@type": typeRetryInfo, "retryDelay": "90000h"}), model.FaultRateLimited, 24 * time.Hour},
		"context":         {Status{Code: 400, Message: tooMany}, model.FaultContext, 7 * time.Second},
		"payload":         {Status{Code: 400, Message: tooBig}, model.FaultContext, 7 * time.Second},
		"key in a 400":    {detail(400, map[string]any{"@type": typeErrorInfo, "reason": "API_KEY_INVALID"}), model.FaultCredentials, 7 * time.Second},
		"plain bad input": {Status{Code: 400, Message: "Invalid value"}, model.FaultRequest, 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := c.status.Fault(header, "s3cret", nil)
			if f.Kind != c.kind || f.RetryAfter != c.after || strings.Contains(f.Error(), "s3cret") {
				t.Errorf("fault = %v after %v; want %s after %v and no key", f, f.RetryAfter, c.kind, c.after)
			}
		})
	}
}

func TestCheckModel(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"gemini-2.5-flash": true, "tunedModels/mine-1": true, "publishers/google/models/gemini-3-pro": true, "gemini-2.0-flash@001": true,
		"": false, "..": false, "a/../b": false, "a//b": false, "/a": false, "a?key=x": false, "a b": false, "a:countTokens": false,
		strings.Repeat("a", 200): false,
	} {
		if err := CheckModel(name); (err == nil) != ok {
			t.Errorf("CheckModel(%q) = %v", name, err)
		}
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add(500, []byte(`[{"error":{"code":500}}]`))
	f.Add(400, []byte(`{"error":null}`))
	f.Fuzz(func(t *testing.T, code int, body []byte) {
		fault := ParseStatus(code, body).Fault(nil, "s3cret", nil)
		if fault.Kind == "" || strings.Contains(fault.Detail, "s3cret") || len(fault.Detail) > maxDetail+len("…") {
			t.Errorf("fault = %+v", fault)
		}
		if utf8.Valid(body) && !utf8.ValidString(fault.Detail) {
			t.Errorf("detail was cut inside a rune: %q", fault.Detail)
		}
	})
}
