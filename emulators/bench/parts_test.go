package bench

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kesoku.dev/emulators/bench/drive"
	"kesoku.dev/emulators/bench/meter"
)

func TestPick(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		names             string
		clients, messages int
		want              int // profiles; -1 is an error
	}{{"", 0, 0, 7}, {"a", 0, 0, 2}, {"b,c-quota", 5, 9, 3}, {"d", 0, 0, -1}, {"a,d", 0, 0, -1}, {"a", -1, 0, -1}, {"", 0, 1 << 40, -1}} {
		got, err := Pick(Profiles(false), c.names, c.clients, c.messages)
		if (err != nil) != (c.want < 0) || (err == nil && len(got) != c.want) {
			t.Errorf("Pick(%q, %d, %d) = %d profiles, %v; want %d", c.names, c.clients, c.messages, len(got), err, c.want)
		}
		for _, p := range got {
			if err == nil && c.clients != 0 && (p.Clients != c.clients || p.Messages != c.messages) {
				t.Errorf("Pick(%q) left %+v", c.names, p)
			}
		}
	}
}

func TestProcessNumbers(t *testing.T) {
	t.Parallel()
	if kb, ok := peakOf([]byte("Name:\tturn\nVmPeak:\t  900 kB\nVmHWM:\t  51234 kB\nThreads:\t9\n")); !ok || kb != 51234 {
		t.Errorf("peak = %d, %v; want 51234", kb, ok)
	}
	if used, ok := cpuIn([]byte("7 (a (b) c) S 1 7 7 0 -1 4194560 100 0 0 0 150 25 0 0 20 0 9 0 1")); !ok || used != 1750*time.Millisecond {
		t.Errorf("processor time = %v, %v; want 1.75s", used, ok)
	}
	for _, s := range []string{"", "VmHWM:", "VmHWM:\tmany kB", "7 (x"} {
		if _, ok := peakOf([]byte(s)); ok {
			t.Errorf("peak found in %q", s)
		}
		if _, ok := cpuIn([]byte(s)); ok {
			t.Errorf("processor time found in %q", s)
		}
	}
}

// A result tells percentiles and what each turn cost; what was lost makes the report fail.
func TestResult(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	r := resultOf(Profile{Name: "a", Model: time.Second}, drive.Outcome{
		Messages: 4, Turns: 2, Unanswered: 2, Refused: 1, Took: time.Second, Acks: []time.Duration{30 * ms, 10 * ms},
		Replies: []time.Duration{100 * ms, 500 * ms},
	}, meter.Counts{Reads: 10, Writes: 26, Published: 6, Calls: map[string]int{"Commit": 9}})
	if r.Messages != 4 || r.Replies != 2 || r.Unanswered != 2 || r.Refused != 1 || r.Seconds != 1 || r.Rate != 2 {
		t.Errorf("counts: %+v", r)
	}
	if r.AckP50 != 10 || r.AckP99 != 30 || r.ReplyP50 != 100 || r.ReplyP99 != 500 || r.Model != 1000 {
		t.Errorf("times: %+v", r)
	}
	if r.Reads != 5 || r.Writes != 13 || r.Published != 3 || r.Calls["Commit"] != 4.5 {
		t.Errorf("operations: %+v", r)
	}
	for want, result := range map[error]Result{ErrBroken: r, nil: {Messages: 3}} {
		if err := (&Report{Profiles: []Result{result}}).Err(); !errors.Is(err, want) {
			t.Errorf("Err() = %v, want %v", err, want)
		}
	}
	if err := (&Report{Profiles: []Result{{Reordered: 1}}}).Err(); !errors.Is(err, ErrBroken) {
		t.Errorf("Err() = %v for a reordered message", err)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var hundred []time.Duration
	for i := 100; i > 0; i-- {
		hundred = append(hundred, time.Duration(i))
	}
	for _, c := range []struct {
		all   []time.Duration
		share float64
		want  time.Duration
	}{{nil, 0.5, 0}, {hundred[:1], 0.99, 100}, {hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100}, {hundred[98:], 0.5, 1}} {
		if got := percentile(c.all, c.share); got != c.want {
			t.Errorf("percentile %v of %d values = %d, want %d", c.share, len(c.all), got, c.want)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	memory := map[string]int64{"turn": 50 << 20, "cron": 30 << 20}
	r := &Report{Go: "go1.26", CPUs: 2, Profiles: []Result{{Profile: "c-quota", Rate: 19.5, Memory: memory}},
		Functions: []Function{{Name: "turn", Zip: 99 << 10, Size: 44 << 20, Start: 41}}}
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"c-quota", "19.5", "80", "99.0", "44.0", "41", "go1.26, 2 CPUs"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	file := filepath.Join(t.TempDir(), "bench.json")
	if err := r.Save(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back.Profiles[0].Rate != 19.5 || back.Functions[0].Size != 44<<20 {
		t.Errorf("JSON gives back %+v", back)
	}
}

// A function that does not build says which and why.
func TestBuildTellsWhy(t *testing.T) {
	t.Parallel()
	_, err := Build(t.Context(), t.TempDir(), "nosuch")
	if err == nil || !strings.Contains(err.Error(), "functions/nosuch") {
		t.Errorf("Build = %v, want the compiler's words", err)
	}
}
