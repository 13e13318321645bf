package googlechat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/option"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/platform/googlechat"
	"kesoku.dev/shared/platform/platformtest"
	"kesoku.dev/shared/render"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	platformtest.Run(t, func(t *testing.T) platformtest.Harness {
		t.Helper()
		return harness{newStandIn(t)}
	})
}

// case B67, case B69: what goes over the wire.
func TestCreateQuery(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		post platform.Post
		want url.Values
	}{
		"top level": {
			platform.Post{To: platform.Address{ChannelID: space}, Key: "k", ID: "a-1", Text: "x"},
			url.Values{"requestId": {"k"}, "messageId": {"client-kesoku-a-1"}},
		},
		"thread": {
			platform.Post{To: platform.Address{ChannelID: space, ThreadID: knownReply}, Key: "k", Text: "x"},
			url.Values{"requestId": {"k"}, "messageReplyOption": {"REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStandIn(t)
			if _, err := s.adapter.Create(t.Context(), tt.post); err != nil {
				t.Fatal(err)
			}
			got, err := url.ParseQuery(s.queries[0])
			if err != nil {
				t.Fatal(err)
			}
			got.Del("alt")
			got.Del("prettyPrint")
			if got.Encode() != tt.want.Encode() {
				t.Errorf("query %v, want %v", got, tt.want)
			}
			if s.messages[0].MarkupSyntax != "MARKUP_SYNTAX_CHAT" {
				t.Errorf("the markup is left to the app's configuration")
			}
		})
	}
}

// Ids that Google's rules do not allow are hashed, and stay distinct and findable.
func TestForeignIDs(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	for i, id := range []string{"UPPER", "upper", strings.Repeat("a", 64), strings.Repeat("a", 65), "a/../b", "消息"} {
		p := platform.Post{To: platform.Address{ChannelID: space}, Key: fmt.Sprint(i), ID: id, Card: &render.Card{Title: "a"}}
		if _, err := s.adapter.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if err := s.adapter.Edit(t.Context(), space, id, &render.Card{Title: id + "!"}); err != nil {
			t.Fatal(err)
		}
		m := s.messages[i]
		if len(m.ClientAssignedMessageId) > 63 || !strings.HasSuffix(m.CardsV2[0].Card.Header.Title, id+"!") {
			t.Errorf("id %q became %q", id, m.ClientAssignedMessageId)
		}
	}
}

// case B69: the key is forgotten by Google after a while, the id is not.
func TestCreateFindsItsMessageByID(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	p := platform.Post{To: platform.Address{ChannelID: space}, Key: "k", ID: "a", Text: "x"}
	first, err := s.adapter.Create(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	clear(s.requests)
	second, err := s.adapter.Create(t.Context(), p)
	if err != nil || first != second || len(s.messages) != 1 {
		t.Errorf("%+v, then %+v, %v", first, second, err)
	}
}

func TestBadPostsAreRefusedHere(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	to := platform.Address{ChannelID: space}
	for name, p := range map[string]platform.Post{
		"no channel":          {Key: "k", Text: "x"},
		"path for a channel":  {To: platform.Address{ChannelID: "spaces/a/../b"}, Key: "k", Text: "x"},
		"no key":              {To: to, Text: "x"},
		"nothing to say":      {To: to, Key: "k"},
		"thread of elsewhere": {To: platform.Address{ChannelID: space, ThreadID: "spaces/other/threads/a"}, Key: "k", Text: "x"},
	} {
		if _, err := s.adapter.Create(t.Context(), p); errs.KindOf(err) != errs.KindPermanent {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(s.queries) != 0 {
		t.Errorf("%d requests went out", len(s.queries))
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	const invalid = `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"whatever"}}`
	const retryInfo = `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"54s"}]}}`
	tests := map[string]struct {
		code   int
		body   string
		header map[string]string
		text   string
		kind   errs.Kind
		after  time.Duration
		is     error
	}{
		"long text, invalid argument":  {code: 400, body: invalid, text: strings.Repeat("a", 4001), kind: errs.KindPermanent, is: platform.ErrTooLong},
		"short text, invalid argument": {code: 400, body: invalid, text: "a", kind: errs.KindPermanent},
		"long text, another fault":     {code: 400, body: `{"error":{"code":400,"status":"FAILED_PRECONDITION"}}`, text: strings.Repeat("a", 4001), kind: errs.KindPermanent},
		"too large":                    {code: 413, body: "<html>", text: "a", kind: errs.KindPermanent, is: platform.ErrTooLong},
		"delay in seconds":             {code: 429, body: "{}", header: map[string]string{"Retry-After": "9"}, kind: errs.KindRetryable, after: 9 * time.Second},
		"delay as a date": {code: 503, header: map[string]string{
			"Retry-After": "Mon, 02 Jan 2006 15:04:25 GMT", "Date": "Mon, 02 Jan 2006 15:04:05 GMT",
		}, kind: errs.KindRetryable, after: 20 * time.Second},
		"delay in the past": {code: 503, header: map[string]string{
			"Retry-After": "Mon, 02 Jan 2006 15:04:05 GMT", "Date": "Mon, 02 Jan 2006 15:04:25 GMT",
		}, kind: errs.KindRetryable},
		"delay in the details": {code: 429, body: retryInfo, kind: errs.KindRetryable, after: 54 * time.Second}, // case B57
		"delay without end":    {code: 429, header: map[string]string{"Retry-After": "999999999"}, kind: errs.KindRetryable, after: time.Hour},
		"server's fault":       {code: 500, body: "oops", kind: errs.KindRetryable},
		"no permission":        {code: 403, body: "{}", kind: errs.KindPermanent},
		"no credentials":       {code: 401, body: "{}", kind: errs.KindRetryable},
		"no such space":        {code: 404, body: "{}", kind: errs.KindPermanent},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range tt.header {
					w.Header().Set(k, v)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.code)
				_, _ = io.WriteString(w, tt.body)
			}))
			defer server.Close()
			a, err := googlechat.New(t.Context(), googlechat.Config{Endpoint: server.URL}, option.WithoutAuthentication())
			if err != nil {
				t.Fatal(err)
			}
			text := tt.text
			if text == "" {
				text = "x"
			}
			_, err = a.Create(t.Context(), platform.Post{To: platform.Address{ChannelID: space}, Key: "k", Text: text})
			if errs.KindOf(err) != tt.kind || errs.After(err) != tt.after {
				t.Errorf("%v is %s after %s", err, errs.KindOf(err), errs.After(err))
			}
			if tooLong := errors.Is(err, platform.ErrTooLong); tooLong != (tt.is != nil) {
				t.Errorf("too long: %v (%v)", tooLong, err)
			}
			if errors.Is(err, errs.ErrNotFound) {
				t.Errorf("a missing space looks like a missing message: %v", err)
			}
		})
	}
}

func earlier(n int) string { return fmt.Sprintf("… %d earlier steps", n) }

func TestCard(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := &render.Card{
		State: render.StateRunning, Title: "A & <b>", Fold: "Steps <3", Footer: "a\nb", Earlier: earlier,
		Steps: []render.Step{
			{Kind: render.StepThought, State: render.StateDone, Title: "Thought", Detail: "if a < b"},
			{Kind: render.StepTool, State: render.StateRunning, Title: "grep", Detail: "<users/all>", Result: "2 > 1"},
		},
		Button: &render.Button{Label: "Stop", Action: "stop", Params: map[string]string{"turn": "3", "session": "s"}},
	}
	if _, err := s.adapter.Create(t.Context(), platform.Post{To: platform.Address{ChannelID: space}, Key: "k", ID: "a", Card: c}); err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(s.messages[0].CardsV2, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/card.golden", string(got)+"\n")
}

// case B65: a card has at most 100 widgets and a message 32,000 bytes; the newest steps stay.
func TestCardIsBounded(t *testing.T) {
	t.Parallel()
	for name, detail := range map[string]string{"many": "", "long": strings.Repeat("<汉\n", 5000)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStandIn(t)
			c := &render.Card{
				State: render.StateRunning, Title: strings.Repeat("&", 1000), Fold: strings.Repeat("<", 1000), Footer: strings.Repeat("<", 5000),
				Earlier: earlier, Button: &render.Button{Label: "Stop", Action: "stop"},
			}
			for i := range 500 {
				c.Steps = append(c.Steps, render.Step{Kind: render.StepTool, Title: fmt.Sprintf("step %d.", i), Detail: detail, Result: detail})
			}
			p := platform.Post{To: platform.Address{ChannelID: space}, Key: "k", ID: "a", Card: c, Text: strings.Repeat("\"", 2000)}
			if _, err := s.adapter.Create(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(s.messages[0])
			if err != nil {
				t.Fatal(err)
			}
			fold := s.messages[0].CardsV2[0].Card.Sections[0].Widgets
			if len(b) > 32_000 || len(fold) > 98 || len(fold) < 2 {
				t.Errorf("%d bytes, %d widgets", len(b), len(fold))
			}
			if first := fold[0].TextParagraph; first == nil || first.Text != fmt.Sprintf("… %d earlier steps", 501-len(fold)) {
				t.Errorf("first widget %+v", first)
			}
			if last := fold[len(fold)-1].DecoratedText.Text; !strings.Contains(last, "step 499.") {
				t.Errorf("last step %q", last)
			}
		})
	}
}

// An add-on's button calls the webhook and says what it is by a parameter.
func TestButtonOfAnAddOn(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	server := httptest.NewServer(http.HandlerFunc(s.create))
	defer server.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/spaces/{space}/messages", s.create)
	server.Config.Handler = mux
	a, err := googlechat.New(t.Context(), googlechat.Config{Endpoint: server.URL, ActionURL: "https://hook.example/"}, option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	c := &render.Card{Title: "t", Button: &render.Button{Label: "Stop", Action: "stop"}}
	if _, err := a.Create(t.Context(), platform.Post{To: platform.Address{ChannelID: space}, Key: "k", Card: c}); err != nil {
		t.Fatal(err)
	}
	action := s.messages[0].CardsV2[0].Card.Sections[0].Widgets[0].ButtonList.Buttons[0].OnClick.Action
	if action.Function != "https://hook.example/" || action.Parameters[0].Value != "stop" {
		t.Errorf("action %+v", action)
	}
}

// L1: attachments are fetched once, within bounds.
func TestDownload(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	s.files["Clx=/a"] = "twelve bytes"
	s.files["chunked"] = "chunked body"
	tests := map[string]struct {
		source string
		limit  int64
		want   string
		kind   errs.Kind
		is     error
	}{
		"whole":              {source: "media/Clx=/a", limit: 12, want: "twelve bytes"},
		"too large":          {source: "media/Clx=/a", limit: 11, kind: errs.KindPermanent, is: googlechat.ErrTooLarge},
		"too large, unsaid":  {source: "media/chunked", limit: 11, kind: errs.KindPermanent, is: googlechat.ErrTooLarge},
		"unsaid, but fits":   {source: "media/chunked", limit: 12, want: "chunked body"},
		"gone":               {source: "media/none", limit: 12, kind: errs.KindPermanent, is: errs.ErrNotFound},
		"file in Drive":      {source: "drive/1", limit: 12, kind: errs.KindPermanent},
		"way out of the API": {source: "media/a/../../spaces", limit: 12, kind: errs.KindPermanent},
		"query":              {source: "media/a?alt=json", limit: 12, kind: errs.KindPermanent},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := s.adapter.Download(t.Context(), tt.source, tt.limit)
			var got []byte
			if err == nil {
				got, err = io.ReadAll(body)
				if closed := body.Close(); closed != nil {
					t.Error(closed)
				}
			}
			if tt.kind == "" {
				if err != nil || string(got) != tt.want {
					t.Errorf("%q, %v", got, err)
				}
				return
			}
			if err == nil || errs.KindOf(err) != tt.kind || (tt.is != nil && !errors.Is(err, tt.is)) {
				t.Errorf("error %v", err)
			}
		})
	}
}
