package inference_test

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"

	"kesoku.dev/shared/history"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/turn/inference"
)

// script is a model that streams what is written here.
type script struct {
	deltas []model.Delta
	err    error
	taken  int
}

func (s *script) Generate(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		for _, d := range s.deltas {
			s.taken++
			if !yield(d, nil) {
				return
			}
		}
		if s.err != nil {
			yield(model.Delta{}, s.err)
		}
	}
}

func (s *script) CountTokens(context.Context, model.Request) (int, error) { return 0, nil }

// A8, case B52: a stream becomes one answer; each signature stays with what it came with.
func TestAskGathers(t *testing.T) {
	t.Parallel()
	s := &script{deltas: []model.Delta{
		{Thought: "let me "}, {Thought: "see", Signature: []byte("of thought")},
		{Text: "The "}, {Text: "answer"}, {Signature: []byte("of text")},
		{Call: &history.Call{ID: "a", Name: "one", Args: `{"x":1}`}, Signature: []byte("of call")},
		{Call: &history.Call{ID: "b", Name: "two", Args: `{}`}},
		{Usage: &model.Usage{Prompt: 1, Total: 2}},
		{Usage: &model.Usage{Prompt: 10, Output: 5, Total: 15}, Finish: model.FinishStop},
	}}
	got, err := inference.Ask(t.Context(), s, model.Request{})
	want := inference.Answer{
		Text: "The answer", TextSignature: []byte("of text"), Thought: "let me see", ThoughtSignature: []byte("of thought"),
		Calls: []message.Call{{ID: "a", Name: "one", Arguments: `{"x":1}`, Signature: []byte("of call")}, {ID: "b", Name: "two", Arguments: `{}`}},
		Usage: model.Usage{Prompt: 10, Output: 5, Total: 15}, Finish: model.FinishStop,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
}

func TestAskEnds(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	for name, tt := range map[string]struct {
		script    script
		wantErr   bool
		blank     bool
		truncated bool
	}{
		"cut at the limit":          {script: script{deltas: []model.Delta{{Text: "half a sent", Finish: model.FinishLength}}}, truncated: true},
		"empty, told as a fault":    {script: script{err: &model.Fault{Kind: model.FaultEmpty}}, blank: true}, // A9: a nudge, no retry
		"empty, told by nothing":    {script: script{}, blank: true},
		"white space alone":         {script: script{deltas: []model.Delta{{Text: " \n\t "}}}, blank: true},
		"a thought alone":           {script: script{deltas: []model.Delta{{Thought: "hm"}}, err: &model.Fault{Kind: model.FaultEmpty}}, blank: true},
		"empty after a call":        {script: script{deltas: []model.Delta{{Call: &history.Call{Name: "x"}}}, err: &model.Fault{Kind: model.FaultEmpty}}, wantErr: true, blank: true},
		"broken off":                {script: script{deltas: []model.Delta{{Text: "half"}}, err: broken}, wantErr: true},
		"blocked":                   {script: script{err: &model.Fault{Kind: model.FaultBlocked}}, wantErr: true, blank: true},
		"malformed after some text": {script: script{deltas: []model.Delta{{Text: "x"}}, err: &model.Fault{Kind: model.FaultMalformedCall}}, wantErr: true},
	} {
		got, err := inference.Ask(t.Context(), &tt.script, model.Request{})
		if (err != nil) != tt.wantErr || got.Blank() != tt.blank || got.Truncated != tt.truncated {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if tt.script.err != nil && tt.wantErr && !errors.Is(err, tt.script.err) {
			t.Errorf("%s: %v, want the driver's own error", name, err)
		}
	}
}

// case B39: an answer without end is given up in mid-stream, whatever it is made of, and counts as one gone wrong. No document could hold
// the arguments of such a call.
func TestAskIsBounded(t *testing.T) {
	t.Parallel()
	chunk := strings.Repeat("x", 64<<10)
	for name, d := range map[string]model.Delta{
		"text":       {Text: chunk},
		"thought":    {Thought: chunk},
		"calls":      {Call: &history.Call{Name: "x", Args: `{"x":"` + chunk + `"}`}},
		"small ones": {Call: &history.Call{Name: "x", Args: `{}`}},
	} {
		s := &script{}
		for range 100_000 {
			s.deltas = append(s.deltas, d)
		}
		_, err := inference.Ask(t.Context(), s, model.Request{})
		var f *model.Fault
		if !errors.As(err, &f) || f.Kind != model.FaultMalformedCall {
			t.Errorf("%s: %v, want a malformed answer", name, err)
		}
		if s.taken > 2000 {
			t.Errorf("%s: %d pieces taken before it was given up", name, s.taken)
		}
	}
	one := &script{deltas: []model.Delta{{Call: &history.Call{Name: "x", Args: `{"x":"` + strings.Repeat("x", 300<<10) + `"}`}}}}
	if _, err := inference.Ask(t.Context(), one, model.Request{}); err == nil {
		t.Error("one call of 300 KiB was taken")
	}
}
