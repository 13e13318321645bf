package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"kesoku.dev/shared/message"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/tool"
)

// fn is a tool made of a function.
type fn struct {
	name   string
	schema string
	run    func(ctx context.Context, s tool.Scope, args json.RawMessage) (tool.Output, error)
}

func (f fn) Spec() model.Tool {
	if f.schema == "" {
		f.schema = `{"type":"object"}`
	}
	return model.Tool{Name: f.name, Parameters: json.RawMessage(f.schema)}
}

func (f fn) Run(ctx context.Context, s tool.Scope, args json.RawMessage) (tool.Output, error) {
	return f.run(ctx, s, args)
}

// says is a tool that answers text.
func says(name, text string) fn {
	return fn{name: name, run: func(context.Context, tool.Scope, json.RawMessage) (tool.Output, error) {
		return tool.Output{Content: text}, nil
	}}
}

// shelf is a staging area in memory.
type shelf struct {
	mu   sync.Mutex
	err  error
	data map[string]string
}

func (s *shelf) Put(_ context.Context, name string, data []byte, contentType string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return "", s.err
	}
	if s.data == nil {
		s.data = map[string]string{}
	}
	s.data[name] = contentType + "\n" + string(data)
	return name, nil
}

func newRunner(t *testing.T, cfg tool.RunnerConfig, tools ...tool.Tool) *tool.Runner {
	t.Helper()
	reg, err := tool.NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Registry = reg
	if cfg.Staging == nil {
		cfg.Staging = &shelf{}
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	r, err := tool.NewRunner(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func call(id, name, args string) message.Call {
	return message.Call{ID: id, Name: name, Arguments: message.Arguments(args)}
}

func TestRunKeepsTheCallsOrder(t *testing.T) { // A5, H2
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		nap := fn{name: "nap", run: func(_ context.Context, s tool.Scope, args json.RawMessage) (tool.Output, error) {
			if now := running.Add(1); now > most.Load() {
				most.Store(now)
			}
			defer running.Add(-1)
			var a struct{ Seconds int }
			if err := json.Unmarshal(args, &a); err != nil {
				return tool.Output{}, err
			}
			time.Sleep(time.Duration(a.Seconds) * time.Second)
			return tool.Output{Content: s.CallID + " in " + s.SessionID, Summary: "slept"}, nil
		}}
		r := newRunner(t, tool.RunnerConfig{Parallel: 3}, nap)
		var calls []message.Call
		for i := range 6 {
			calls = append(calls, call("c"+strconv.Itoa(i), "nap", `{"Seconds":`+strconv.Itoa(10-i)+`}`))
		}
		for i, o := range r.Run(t.Context(), tool.Scope{SessionID: "s1"}, calls) {
			want := message.Outcome{CallID: calls[i].ID, Name: "nap", Content: calls[i].ID + " in s1", Summary: "slept"}
			if o != want {
				t.Errorf("outcome %d = %+v, want %+v", i, o, want)
			}
		}
		if most.Load() != 3 {
			t.Errorf("%d ran at once, want 3", most.Load())
		}
	})
}

func TestRunFailures(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	strict := fn{name: "strict", schema: `{"type":"object","properties":{"n":{"type":"integer","minimum":1},"w":{"enum":["a","b"]}},
		"required":["n"],"additionalProperties":false}`,
		run: func(context.Context, tool.Scope, json.RawMessage) (tool.Output, error) {
			ran.Add(1)
			return tool.Output{Content: "ok"}, nil
		}}
	r := newRunner(t, tool.RunnerConfig{}, strict, says("empty", " \n"),
		fn{name: "fails", run: func(context.Context, tool.Scope, json.RawMessage) (tool.Output, error) {
			return tool.Output{Content: "half", Summary: "half"}, errors.New("the far side said no")
		}},
		fn{name: "panics", run: func(context.Context, tool.Scope, json.RawMessage) (tool.Output, error) {
			panic("key=hunter2")
		}},
		fn{name: "exits", run: func(context.Context, tool.Scope, json.RawMessage) (tool.Output, error) {
			runtime.Goexit()
			return tool.Output{}, nil
		}})
	for _, c := range []struct {
		name, tool, args string
		failed           bool
		has              []string
	}{
		{name: "fits", tool: "strict", args: `{"n":1,"w":"a"}`, has: []string{"ok"}},
		{name: "type and extra and enum at once", tool: "strict", args: `{"n":"1","x":2,"w":"c"}`, failed: true,
			has: []string{"n: got string, want integer", "'x'", "w: ", `"minimum":1`, "strict was not run"}},
		{name: "missing", tool: "strict", args: `{}`, failed: true, has: []string{"'n'"}},
		{name: "no arguments", tool: "strict", args: "", failed: true, has: []string{"'n'"}},
		{name: "array", tool: "strict", args: `[1]`, failed: true, has: []string{"want object"}},
		{name: "null", tool: "strict", args: `null`, failed: true, has: []string{"want object"}},
		{name: "broken JSON", tool: "strict", args: `{"n":`, failed: true, has: []string{"not one JSON object"}},
		{name: "two objects", tool: "strict", args: `{"n":1}{"n":2}`, failed: true, has: []string{"not one JSON object"}},
		{name: "huge", tool: "strict", args: `{"n":1,"x":"` + strings.Repeat("a", 300<<10) + `"}`, failed: true, has: []string{"at most"}},
		{name: "unknown tool", tool: "strcit", failed: true, has: []string{`"strcit"`, "empty, exits, fails, panics, strict"}},
		{name: "own error", tool: "fails", failed: true, has: []string{"the far side said no"}},
		{name: "panic", tool: "panics", failed: true, has: []string{"crashed"}},
		{name: "goexit", tool: "exits", failed: true, has: []string{"without a result"}},
		{name: "nothing said", tool: "empty", args: "", has: []string{"(no output)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := r.Run(t.Context(), tool.Scope{SessionID: "s"}, []message.Call{call("c", c.tool, c.args)})[0]
			if out.Failed != c.failed {
				t.Errorf("failed = %v, want %v: %s", out.Failed, c.failed, out.Content)
			}
			for _, want := range c.has {
				if !strings.Contains(out.Content, want) {
					t.Errorf("content %q lacks %q", out.Content, want)
				}
			}
			if strings.Contains(out.Content, "hunter2") {
				t.Errorf("content %q tells a panic's value", out.Content)
			}
			if out.Failed && out.Summary != "" {
				t.Errorf("people see %q of a failure", out.Summary)
			}
			if out.CallID != "c" || out.Name != c.tool {
				t.Errorf("outcome of %q %q", out.CallID, out.Name)
			}
		})
	}
	if ran.Load() != 1 {
		t.Errorf("the strict tool ran %d times, want once: for the arguments that fit", ran.Load())
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newRunner(t, tool.RunnerConfig{Timeout: 30 * time.Second},
			fn{name: "obeys", run: func(ctx context.Context, _ tool.Scope, _ json.RawMessage) (tool.Output, error) {
				<-ctx.Done()
				return tool.Output{}, ctx.Err()
			}},
			fn{name: "late", run: func(ctx context.Context, _ tool.Scope, _ json.RawMessage) (tool.Output, error) {
				<-ctx.Done()
				time.Sleep(time.Second)
				return tool.Output{Content: "done after all"}, nil
			}},
			fn{name: "deaf", run: func(context.Context, tool.Scope, json.RawMessage) (tool.Output, error) {
				<-release
				return tool.Output{}, nil
			}})
		begin := time.Now()
		out := r.Run(t.Context(), tool.Scope{}, []message.Call{call("1", "obeys", ""), call("2", "late", ""), call("3", "deaf", "")})
		if took := time.Since(begin); took != 35*time.Second {
			t.Errorf("took %s, want the time and the grace: 35 s", took)
		}
		if !out[0].Failed || !strings.Contains(out[0].Content, "did not end within 30s") {
			t.Errorf("obeys: %+v", out[0])
		}
		if out[1].Failed || out[1].Content != "done after all" { // a result that came is a result
			t.Errorf("late: %+v", out[1])
		}
		if !out[2].Failed || !strings.Contains(out[2].Content, "did not end within 30s") {
			t.Errorf("deaf: %+v", out[2])
		}
		close(release)
	})
}

func TestEndOfContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var ran atomic.Int32
		r := newRunner(t, tool.RunnerConfig{Parallel: 1},
			fn{name: "waits", run: func(ctx context.Context, _ tool.Scope, _ json.RawMessage) (tool.Output, error) {
				ran.Add(1)
				cancel()
				<-ctx.Done()
				return tool.Output{}, ctx.Err()
			}})
		out := r.Run(ctx, tool.Scope{}, []message.Call{call("1", "waits", ""), call("2", "waits", "")})
		if ran.Load() != 1 {
			t.Errorf("%d ran, want 1: the second had not begun when the context ended", ran.Load())
		}
		if !out[0].Failed || !strings.Contains(out[0].Content, "cut off before it ended") {
			t.Errorf("first: %+v", out[0])
		}
		if !out[1].Failed || !strings.Contains(out[1].Content, "not run") {
			t.Errorf("second: %+v", out[1])
		}
	})
}

func TestLargeResults(t *testing.T) { // case B39
	t.Parallel()
	long := "first line\n" + strings.Repeat("汉字🎩", 1000) + "\nlast line"
	stage := &shelf{}
	r := newRunner(t, tool.RunnerConfig{Staging: stage, Inline: 1000}, says("read/it", long), says("small", strings.Repeat("x", 1000)))
	scope := tool.Scope{SessionID: "s1"}
	out := r.Run(t.Context(), scope, []message.Call{call("a/b", "read/it", ""), call("c", "small", ""), call("d", "read/it", "")})
	got := out[0]
	if !strings.HasPrefix(got.Content, "first line\n") || !strings.HasSuffix(got.Content, "last line") || !utf8.ValidString(got.Content) {
		t.Errorf("preview lost an end or tore a rune: %q", got.Content)
	}
	if len(got.Content) > 1300 || !strings.Contains(got.Content, got.StagedAs) || got.StagedAs == "" {
		t.Errorf("preview of %d bytes, staged as %q", len(got.Content), got.StagedAs)
	}
	if got.Summary != "first line" {
		t.Errorf("summary %q", got.Summary)
	}
	if kept := stage.data[got.StagedAs]; kept != "text/plain; charset=utf-8\n"+long {
		t.Errorf("staged %d bytes, want the whole", len(kept))
	}
	if n := strings.Count(got.StagedAs, "/"); n != 4 {
		t.Errorf("name %q has %d slashes, want 4", got.StagedAs, n)
	}
	if out[1].StagedAs != "" || len(out[1].Content) != 1000 {
		t.Errorf("a result of exactly the limit was staged: %+v", out[1])
	}
	if out[2].StagedAs == got.StagedAs {
		t.Error("two calls share a staged name")
	}
	again := r.Run(t.Context(), scope, []message.Call{call("a/b", "read/it", "")})[0]
	if again.StagedAs != got.StagedAs {
		t.Errorf("the same result has two names: %q, %q", again.StagedAs, got.StagedAs)
	}
}

func TestStagingThatFails(t *testing.T) {
	t.Parallel()
	stage := &shelf{err: errors.New("bucket is gone")}
	r := newRunner(t, tool.RunnerConfig{Staging: stage, Inline: 100}, says("long", strings.Repeat("y", 500)))
	out := r.Run(t.Context(), tool.Scope{}, []message.Call{call("1", "long", "")})[0]
	if out.Failed || out.StagedAs != "" || !strings.Contains(out.Content, "could not be kept") {
		t.Errorf("%+v", out)
	}
}

func TestInvalidUTF8AndSummaries(t *testing.T) {
	t.Parallel()
	r := newRunner(t, tool.RunnerConfig{}, says("bytes", "\n\n \x1b[31mok\xff\t done \nnext"), says("wide", strings.Repeat("长", 500)))
	out := r.Run(t.Context(), tool.Scope{}, []message.Call{call("1", "bytes", ""), call("2", "wide", "")})
	if !utf8.ValidString(out[0].Content) || out[0].Summary != "[31mok\uFFFD done" {
		t.Errorf("%+v", out[0])
	}
	if n := utf8.RuneCountInString(out[1].Summary); n != 200 || !strings.HasSuffix(out[1].Summary, "…") {
		t.Errorf("summary of %d runes", n)
	}
}

func TestNewRunnerRefuses(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	for name, schema := range map[string]string{
		"not JSON":       `{`,
		"no object":      `{"type":"string"}`,
		"bad keyword":    `{"type":"object","properties":3}`,
		"file reference": `{"type":"object","$ref":"file:///etc/passwd"}`,
		"web reference":  `{"type":"object","properties":{"a":{"$ref":"https://example.com/schema.json"}}}`,
		"bad pattern":    `{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}`,
	} {
		reg := tool.Registry{"x": fn{name: "x", schema: schema}}
		if _, err := tool.NewRunner(tool.RunnerConfig{Registry: reg, Staging: &shelf{}, Logger: log}); err == nil {
			t.Errorf("%s: schema %s was taken", name, schema)
		}
	}
	if _, err := tool.NewRunner(tool.RunnerConfig{}); err == nil {
		t.Error("missing parts were taken")
	}
	if _, err := tool.NewRegistry(says("a", ""), says("a", "")); err == nil {
		t.Error("two tools with one name were taken")
	}
}

// TestOwnTools runs every tool of this package through the runner: their schemas compile, and Specs lists them.
func TestOwnTools(t *testing.T) {
	t.Parallel()
	reg, err := tool.NewRegistry(tool.CurrentTime{}, &tool.FetchURL{}, tool.Remember{}, tool.Recall{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.NewRunner(tool.RunnerConfig{Registry: reg, Staging: &shelf{}, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range reg.Specs() {
		names = append(names, s.Name)
		if s.Description == "" {
			t.Errorf("%s has no description", s.Name)
		}
	}
	if got := strings.Join(names, " "); got != "current_time fetch_url recall remember" {
		t.Errorf("tools: %s", got)
	}
}
