package models_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"kesoku.dev/emulators/models"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/history"
	"kesoku.dev/shared/model"
)

// tools are what a request offers.
var tools = []model.Tool{
	{Name: "current_time", Parameters: json.RawMessage(`{"type":"object","properties":{"timezone":{"type":"string"}}}`)},
	{Name: "fetch_url", Parameters: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string"}}}`)},
	{Name: "remember", Parameters: json.RawMessage(`{"type":"object","properties":{"note":{"type":"string"}}}`)},
	{Name: "recall", Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}}}`)},
}

// said is what a driver heard.
type said struct {
	text, thought string
	deltas        int
	parts         []history.Part // calls, signed
	usage         model.Usage
	finish        model.Finish
	err           error
}

func (s said) calls() string {
	var out []string
	for _, p := range s.parts {
		out = append(out, p.Call.Name+p.Call.Args)
	}
	return strings.Join(out, " ")
}

func (s said) fault() model.FaultKind {
	var f *model.Fault
	if errors.As(s.err, &f) {
		return f.Kind
	}
	return ""
}

func hear(ctx context.Context, d model.Driver, req model.Request) said {
	var s said
	for delta, err := range d.Generate(ctx, req) {
		s.err = err
		s.deltas++
		s.text += delta.Text
		s.thought += delta.Thought
		if delta.Call != nil {
			s.parts = append(s.parts, history.Part{Call: delta.Call, Signature: delta.Signature})
		}
		if delta.Usage != nil {
			s.usage = *delta.Usage
		}
		s.finish = delta.Finish
	}
	return s
}

func person(text string) history.Turn {
	return history.Turn{Speaker: history.SpeakerUser, Parts: []history.Part{{Text: text}}}
}

// start serves the stand-in and returns the driver and a request for it.
func start(t *testing.T, o models.Options, text string) (model.Driver, model.Request) {
	t.Helper()
	web := httptest.NewServer(models.New(o))
	t.Cleanup(web.Close)
	return newGemini(t, web.URL), model.Request{Model: "gemini-3-flash", Thinking: true, Tools: tools, Turns: []history.Turn{person(text)}}
}

// answered appends the calls and their results to the request.
func answered(req model.Request, s said, results ...history.Result) model.Request {
	var parts []history.Part
	for i, r := range results {
		r.ID, r.Name = s.parts[i].Call.ID, s.parts[i].Call.Name
		parts = append(parts, history.Part{Result: &r})
	}
	req.Turns = append(req.Turns, history.Turn{Speaker: history.SpeakerModel, Parts: s.parts}, history.Turn{Speaker: history.SpeakerUser, Parts: parts})
	return req
}

func TestCallsTools(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"what time is it in Tokyo":                  `current_time{"timezone":"Asia/Tokyo"}`,
		"东京现在几点？":                                   `current_time{"timezone":"Asia/Tokyo"}`,
		"What's the time in Paris and in tokyo?":    `current_time{"timezone":"Europe/Paris"} current_time{"timezone":"Asia/Tokyo"}`,
		"上海、纽约和圣保罗现在的时间":                            `current_time{"timezone":"Asia/Shanghai"} current_time{"timezone":"America/New_York"} current_time{"timezone":"America/Sao_Paulo"}`,
		"time in Europe/Vienna?":                    `current_time{"timezone":"Europe/Vienna"}`,
		"what time is it?":                          `current_time{"timezone":"UTC"}`,
		"现在几点":                                      `current_time{"timezone":"Asia/Shanghai"}`,
		"I was in Tokyo for some time":              ``,
		"remember that tea is green":                `remember{"note":"tea is green"}`,
		"@Kesoku please remember: tea is green":     `remember{"note":"tea is green"}`,
		"记住：茶是绿的":                                   `remember{"note":"茶是绿的"}`,
		"what do you remember?":                     `recall{"query":""}`,
		"What do you remember about tea?":           `recall{"query":"tea"}`,
		"recall tea":                                `recall{"query":"tea"}`,
		"你还记得茶吗？":                                   `recall{"query":"茶"}`,
		"read this page https://example.com/a?b=c.": `fetch_url{"url":"https://example.com/a?b=c"}`,
		"看看http://example.com/路，谢谢":                 `fetch_url{"url":"http://example.com/路"}`,
		"hello":                                     ``,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			d, req := start(t, models.Options{}, text)
			s := hear(t.Context(), d, req)
			if s.calls() != want || s.err != nil || s.finish != model.FinishStop {
				t.Errorf("calls %s, %v; want %s", s.calls(), s.err, want)
			}
			if s.thought == "" || s.usage.Prompt == 0 || s.usage.Total <= s.usage.Prompt {
				t.Errorf("thought %q, usage %+v", s.thought, s.usage)
			}
			if (want == "") != (s.text != "") {
				t.Errorf("text %q beside calls %q", s.text, want)
			}
			for i, p := range s.parts {
				if signed := len(p.Signature) > 0; signed != (i == 0) {
					t.Errorf("call %d signed: %v", i, signed)
				}
			}
			if n, err := d.CountTokens(t.Context(), req); err != nil || n != s.usage.Prompt {
				t.Errorf("count = %d, %v; usage says %d", n, err, s.usage.Prompt)
			}
		})
	}
}

func TestAnswersFromResults(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		results []history.Result
		want    []string
	}{
		"what time is it in Tokyo and Paris": {
			[]history.Result{{Content: "Asia/Tokyo: Wednesday, 2026-05-27 21:50:00, UTC+09:00 (JST)"}, {Content: "no such zone", Failed: true}},
			[]string{"In Tokyo it is 9:50 in the evening, on Wednesday, 27 May 2026.", "did not work: no such zone"},
		},
		"东京现在几点":                     {[]history.Result{{Content: `{"time":"2026-05-27T21:50:00+09:00"}`}}, []string{"东京现在是晚上21:50，2026年5月27日星期三。"}},
		"what time is it in Rome":    {[]history.Result{{Content: "just after lunch"}}, []string{"just after lunch"}},
		"read https://example.com":   {[]history.Result{{Content: "\n# Example\n\nOne line.\n"}}, []string{"begins", "> # Example\n> One line."}},
		"remember that tea is green": {[]history.Result{{Content: "Remembered."}}, []string{"I will remember it: tea is green"}},
		"你还记得什么？":                    {[]history.Result{{Content: "- 2026-05-27: 茶是绿的"}}, []string{"我记得这些", "茶是绿的"}},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			d, req := start(t, models.Options{}, text)
			first := hear(t.Context(), d, req)
			if len(first.parts) != len(c.results) {
				t.Fatalf("calls %s, %v; want %d", first.calls(), first.err, len(c.results))
			}
			s := hear(t.Context(), d, answered(req, first, c.results...))
			for _, want := range c.want {
				if !strings.Contains(s.text, want) {
					t.Errorf("text %q, %v; want %q in it", s.text, s.err, want)
				}
			}
			if len(s.parts) > 0 {
				t.Errorf("it calls again: %s", s.calls())
			}
		})
	}
}

// case B59
func TestAnswersEveryMergedMessage(t *testing.T) {
	t.Parallel()
	d, req := start(t, models.Options{}, "`Alice` at `2026-05-27 20:50:00 UTC`:\nwhat time is it in Tokyo?")
	req.Turns[0].Parts = append(req.Turns[0].Parts,
		history.Part{Text: "`Bob` <@11> at `2026-05-27 20:50:01 SGT`:\n东京现在几点\n`Eve` at `2026-05-27 20:50:02 UTC`:\nremember that tea is green"},
		history.Part{Text: "[System Notification]\nA job has ended: what time is it in Rome?"})
	first := hear(t.Context(), d, req)
	if want := `current_time{"timezone":"Asia/Tokyo"} remember{"note":"tea is green"}`; first.calls() != want {
		t.Fatalf("calls %s, want %s", first.calls(), want)
	}
	s := hear(t.Context(), d, answered(req, first, history.Result{Content: "2026-05-27 21:50"}, history.Result{Content: "ok"}))
	for _, want := range []string{"**Alice**: In Tokyo it is", "**Bob**: In Tokyo it is", "**Eve**: I will remember it"} {
		if !strings.Contains(s.text, want) {
			t.Errorf("text %q, want %q in it", s.text, want)
		}
	}
}

// case B50
func TestWordsThatComeBesideResults(t *testing.T) {
	t.Parallel()
	d, req := start(t, models.Options{}, "what time is it in Tokyo?")
	first := hear(t.Context(), d, req)
	req = answered(req, first, history.Result{Content: "2026-05-27 21:50"})
	req.Turns[2].Parts = append(req.Turns[2].Parts, history.Part{Text: "and what time is it in Paris?"})
	second := hear(t.Context(), d, req)
	if want := `current_time{"timezone":"Europe/Paris"}`; second.calls() != want {
		t.Fatalf("calls %s, %v; want %s", second.calls(), second.err, want)
	}
	s := hear(t.Context(), d, answered(req, second, history.Result{Content: "2026-05-27 14:50"}))
	if !strings.Contains(s.text, "Tokyo it is 9:50 in the evening") || !strings.Contains(s.text, "Paris it is 2:50 in the afternoon") {
		t.Errorf("text %q, %v", s.text, s.err)
	}
}

// case B53, B54, B55, B57
func TestFailsOnDemand(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]model.FaultKind{
		"500": model.FaultOverloaded, "blocked": model.FaultBlocked, "empty": model.FaultEmpty, "malformed": model.FaultMalformedCall,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			d, req := start(t, models.Options{}, "please fail with "+how)
			if s := hear(t.Context(), d, req); s.fault() != want {
				t.Errorf("error = %v, want %s", s.err, want)
			}
		})
	}
	t.Run("429 once", func(t *testing.T) {
		t.Parallel()
		d, req := start(t, models.Options{}, "fail with 429")
		var f *model.Fault
		if s := hear(t.Context(), d, req); !errors.As(s.err, &f) || f.Kind != model.FaultRateLimited || f.RetryAfter != 2*time.Second {
			t.Errorf("error = %v, want a rate limit of 2 s", s.err)
		}
		if s := hear(t.Context(), d, req); s.err != nil || s.text == "" {
			t.Errorf("the second time: %q, %v", s.text, s.err)
		}
	})
}

func TestSpeaks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"hello there":          {"stand-in", "hello there", "fail with 429"},
		"你好":                   {"替身", "东京"},
		"write a long text":    {"## 2. ", "- first", "```go", "| --- |", "> "},
		"写一篇长文":                {"## 2. ", "- 第一项", "```go", "| --- |", "> "},
		"fetch me something":   {"stand-in"},
		"think hard about tea": {"it depends"},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			d, req := start(t, models.Options{}, text)
			s := hear(t.Context(), d, req)
			for _, part := range want {
				if !strings.Contains(s.text, part) {
					t.Errorf("text %q, %v; want %q in it", s.text, s.err, part)
				}
			}
			if s.deltas < 10 {
				t.Errorf("it came in %d deltas", s.deltas)
			}
		})
	}
	t.Run("longer than any platform takes", func(t *testing.T) {
		t.Parallel()
		d, req := start(t, models.Options{}, "write a very long text")
		if s := hear(t.Context(), d, req); len(s.text) < 33_000 || s.deltas > 400 {
			t.Errorf("%d bytes in %d deltas, %v", len(s.text), s.deltas, s.err)
		}
	})
	t.Run("no more than asked for", func(t *testing.T) {
		t.Parallel()
		d, req := start(t, models.Options{}, "写一篇长文")
		req.MaxTokens = 10
		if s := hear(t.Context(), d, req); s.finish != model.FinishLength || len(s.text) > 40 || s.text == "" {
			t.Errorf("text %q, finish %q, %v", s.text, s.finish, s.err)
		}
	})
	t.Run("no tools", func(t *testing.T) {
		t.Parallel()
		d, req := start(t, models.Options{}, "what time is it in Tokyo?")
		req.Tools = nil
		if s := hear(t.Context(), d, req); len(s.parts) > 0 || !strings.Contains(s.text, "current_time") {
			t.Errorf("calls %s, text %q, %v", s.calls(), s.text, s.err)
		}
	})
	t.Run("no thoughts unless asked for", func(t *testing.T) {
		t.Parallel()
		d, req := start(t, models.Options{}, "hello")
		req.Thinking = false
		if s := hear(t.Context(), d, req); s.thought != "" || s.text == "" {
			t.Errorf("thought %q, text %q, %v", s.thought, s.text, s.err)
		}
	})
	t.Run("a summary", func(t *testing.T) {
		t.Parallel()
		d, req := start(t, models.Options{}, "`Alice` at `2026-05-27 20:50:00 UTC`:\nTea is green.")
		req.Tools, req.System = nil, "Summarise the conversation."
		if s := hear(t.Context(), d, req); !strings.Contains(s.text, "- Alice: Tea is green.") {
			t.Errorf("text %q, %v", s.text, s.err)
		}
	})
	t.Run("a file", func(t *testing.T) {
		t.Parallel()
		d, req := start(t, models.Options{}, "look at this")
		req.Turns[0].Parts = append(req.Turns[0].Parts, history.Part{File: &history.File{MIMEType: "image/png", Data: []byte("12345")}})
		if s := hear(t.Context(), d, req); !strings.Contains(s.text, "image/png, 5 bytes") {
			t.Errorf("text %q, %v", s.text, s.err)
		}
	})
}

// A slow thought comes piece by piece, and ends at once when the caller hangs up.
func TestThinksSlowly(t *testing.T) {
	t.Parallel()
	steps := clock.NewManual(time.Date(2026, 5, 27, 20, 50, 0, 0, time.UTC))
	d, req := start(t, models.Options{Clock: steps, Pace: models.Pace{Thought: time.Second}}, "think hard")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	thoughts := make(chan string)
	ended := make(chan error, 1)
	go func() {
		var failure error
		for delta, err := range d.Generate(ctx, req) {
			if failure = err; err == nil && delta.Thought != "" {
				thoughts <- delta.Thought
			}
		}
		ended <- failure
	}()
	for range 3 {
		for steps.Sleepers() == 0 {
			select {
			case err := <-ended:
				t.Fatalf("ended early: %v", err)
			default:
			}
		}
		steps.Advance(time.Second)
		if piece := <-thoughts; piece == "" {
			t.Error("an empty thought")
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v, want context.Canceled", err)
	}
}

// What the real API refuses. case B47, B51, B52
func TestRefuses(t *testing.T) {
	t.Parallel()
	const call, result = `{"functionCall":{"name":"f","args":{}}}`, `{"functionResponse":{"name":"f","response":{"output":"x"}}}`
	const user, signed = `{"role":"user","parts":[{"text":"hi"}]}`, `{"functionCall":{"name":"f","args":{}},"thoughtSignature":"cHJvb2Y="}`
	model := func(parts string) string { return `{"role":"model","parts":[` + parts + `]}` }
	people := func(parts string) string { return `{"role":"user","parts":[` + parts + `]}` }
	for name, c := range map[string]struct {
		model, contents string
		want            string // "" is accepted
	}{
		"plain":                       {"m", user, ""},
		"round trip":                  {"m", user + "," + model(call) + "," + people(result), ""},
		"nothing":                     {"m", "", "not specified"},
		"model first":                 {"m", model(`{"text":"x"}`), "alternate"},
		"twice the user":              {"m", user + "," + user, "alternate"},
		"model last":                  {"m", user + "," + model(`{"text":"x"}`), "end with a user role"},
		"odd role":                    {"m", `{"role":"system","parts":[{"text":"x"}]}`, "valid role"},
		"no parts":                    {"m", `{"role":"user"}`, "must not be empty"},
		"empty part":                  {"m", people(`{}`), "one initialized field"},
		"two things in a part":        {"m", people(`{"text":"x","inlineData":{"mimeType":"a/b","data":"eA=="}}`), "one initialized field"},
		"call by the user":            {"m", people(call), "not for role"},
		"call without result":         {"m", user + "," + model(call) + "," + user, "number of function response parts"},
		"two calls, one result":       {"m", user + "," + model(call+","+call) + "," + people(result), "number of function response parts"},
		"one call, two results":       {"m", user + "," + model(call) + "," + people(result+","+result), "number of function response parts"},
		"result without call":         {"m", people(result), "immediately after a function call turn"},
		"result of another name":      {"m", user + "," + model(call) + "," + people(strings.ReplaceAll(result, `"f"`, `"g"`)), "does not match"},
		"result of another id":        {"m", user + "," + model(call) + "," + people(strings.ReplaceAll(result, `"name"`, `"id":"1","name"`)), "does not match"},
		"unsigned call, generation 3": {"gemini-3-pro", user + "," + model(call) + "," + people(result), "missing a thought_signature"},
		"signed call, generation 3":   {"gemini-3-pro", user + "," + model(signed) + "," + people(result), ""},
		"only the first is signed":    {"gemini-3-pro", user + "," + model(signed+","+call) + "," + people(result+","+result), ""},
		"second step unsigned": {"gemini-3-pro", user + "," + model(signed) + "," + people(result) + "," + model(call) + "," + people(result),
			"missing a thought_signature"},
		"unsigned in an earlier turn": {"gemini-3-pro", user + "," + model(call) + "," + people(result) + "," + model(`{"text":"x"}`) + "," + user, ""},
		"signature of another call": {"m", user + "," + model(strings.Replace(signed, "cHJvb2Y=", "c3RhbmQtaW46MDAwMA==", 1)) + "," + people(result),
			"Corrupted"},
		"signature that is no base64": {"m", user + "," + model(strings.Replace(signed, "cHJvb2Y=", "%", 1)) + "," + people(result), "Corrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, body := post(t, "/v1beta/models/"+c.model+":generateContent", `{"contents":[`+c.contents+`]}`, "key")
			var got struct {
				Error struct {
					Code            int
					Message, Status string
				}
			}
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatalf("%s is no JSON: %v", body, err)
			}
			if c.want == "" && status != http.StatusOK {
				t.Errorf("refused: %d %s", status, body)
			}
			if c.want != "" && (status != 400 || got.Error.Code != 400 || got.Error.Status != "INVALID_ARGUMENT" ||
				!strings.Contains(got.Error.Message, c.want)) {
				t.Errorf("answer %d %s, want %q", status, body, c.want)
			}
		})
	}
}

// post sends a body to a new stand-in.
func post(t *testing.T, path, body, key string) (int, []byte) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	if key != "" {
		req.Header.Set("X-Goog-Api-Key", key)
	}
	w := httptest.NewRecorder()
	models.New(models.Options{}).ServeHTTP(w, req)
	out, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, out
}

func TestProtocol(t *testing.T) {
	t.Parallel()
	const hi = `{"contents":[{"parts":[{"text":"hi"}]}]}`
	big := fmt.Sprintf(`{"contents":[{"parts":[{"text":%q}]}]}`, strings.Repeat("x", 20<<20))
	for name, c := range map[string]struct {
		path, body, key string
		status          int
		start           string
	}{
		"unary":             {"/v1beta/models/any-name:generateContent", hi, "k", 200, `{"candidates":[{"content":`},
		"events":            {"/v1beta/models/any-name:streamGenerateContent?alt=sse", hi, "k", 200, `data: {"candidates":`},
		"array":             {"/v1beta/models/any-name:streamGenerateContent", hi, "k", 200, `[{"candidates":`},
		"key in the query":  {"/v1beta/models/m:generateContent?key=k", hi, "", 200, `{`},
		"count":             {"/v1beta/models/m:countTokens", hi, "k", 200, `{"totalTokens":1}`},
		"count of a whole":  {"/v1beta/models/m:countTokens", `{"generateContentRequest":` + hi + `}`, "k", 200, `{"totalTokens":1}`},
		"no key":            {"/v1beta/models/m:generateContent", hi, "", 403, `{"error":{"code":403,`},
		"no key, array":     {"/v1beta/models/m:streamGenerateContent", hi, "", 403, `[{"error":{"code":403,`},
		"no key, events":    {"/v1beta/models/m:streamGenerateContent?alt=sse", hi, "", 403, `{"error":{"code":403,`},
		"unknown method":    {"/v1beta/models/m:predict", hi, "k", 404, `{"error":{"code":404,`},
		"no method":         {"/v1beta/models/m", hi, "k", 404, `{"error":{"code":404,`},
		"elsewhere":         {"/v1/chat/completions", hi, "k", 404, `{"error":{"code":404,`},
		"not JSON":          {"/v1beta/models/m:generateContent", `{`, "k", 400, `{"error":{"code":400,`},
		"wrong types":       {"/v1beta/models/m:generateContent", `{"contents":"x"}`, "k", 400, `{"error":{"code":400,`},
		"more than 20 MiB":  {"/v1beta/models/m:generateContent", big, "k", 400, `{"error":{"code":400,"message":"Request payload size exceeds`},
		"Vertex AI's paths": {"/v1beta1/projects/p/locations/l/publishers/google/models/m:generateContent", hi, "k", 200, `{"candidates":`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, body := post(t, c.path, c.body, c.key)
			if status != c.status || !strings.HasPrefix(string(body), c.start) {
				t.Errorf("answer %d %.200s, want %d %s", status, body, c.status, c.start)
			}
		})
	}
	t.Run("an array is one JSON value with numbers", func(t *testing.T) {
		t.Parallel()
		_, body := post(t, "/v1beta/models/m:streamGenerateContent?%24alt=json%3Benum-encoding%3Dint", hi, "k")
		var chunks []struct {
			Candidates []struct{ FinishReason int }
		}
		if err := json.Unmarshal(body, &chunks); err != nil || chunks[len(chunks)-1].Candidates[0].FinishReason != 1 {
			t.Errorf("%s: %v", body, err)
		}
	})
	t.Run("one answer holds all pieces", func(t *testing.T) {
		t.Parallel()
		_, body := post(t, "/v1beta/models/m:generateContent", hi, "k")
		var whole struct {
			Candidates []struct {
				Content      struct{ Parts []struct{ Text string } }
				FinishReason string
			}
			UsageMetadata struct{ TotalTokenCount int }
		}
		if err := json.Unmarshal(body, &whole); err != nil {
			t.Fatal(err)
		}
		var text string
		for _, p := range whole.Candidates[0].Content.Parts {
			text += p.Text
		}
		if !strings.Contains(text, "stand-in") || whole.Candidates[0].FinishReason != "STOP" || whole.UsageMetadata.TotalTokenCount == 0 {
			t.Errorf("answer %s", body)
		}
	})
}

// Nothing that comes in brings it down, and every answer is JSON.
func FuzzRequest(f *testing.F) {
	f.Add(`{"contents":[{"parts":[{"text":"what time is it in Tokyo"}]}],"tools":[{"functionDeclarations":[{"name":"current_time"}]}]}`)
	f.Add(`{"contents":[{"role":"user","parts":[{"text":"` + "`A` at `x`:\\nfail with 429" + `"}]}]}`)
	f.Add(`{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"functionCall":{"name":"f"}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"f","response":null}}]}]}`)
	f.Add(`{"contents":null,"generateContentRequest":{}}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, method := range []string{"generateContent", "streamGenerateContent", "countTokens"} {
			status, out := post(t, "/v1beta/models/gemini-3:"+method, body, "key")
			if status == 0 || !json.Valid(out) {
				t.Errorf("%s answered %d %s", method, status, out)
			}
		}
	})
}
