package config_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kesoku.dev/shared/config"
)

// Each complaint names the line of its field, or of what should hold it, and a file that does not decode keeps no other from being read.
func TestComplaintsNameTheirLines(t *testing.T) {
	t.Parallel()
	job := "  - name: %s\n    schedule: 0 9 * * *\n    prompt: p\n    chatbot_id: googlechat\n    channel_id: spaces/A\n"
	tests := map[string]struct {
		files map[string]string
		want  []string // file, field, line
	}{
		"fields of a section": {
			map[string]string{kesoku: "# behaviour\nchat:\n  locale: fr\n\n  session:\n    ownership: mine\n"},
			[]string{kesoku + " chat.locale 3", kesoku + " chat.session.ownership 6"},
		},
		"in braces": {map[string]string{kesoku: "chat: {\n  locale: fr}\n"}, []string{kesoku + " chat.locale 2"}},
		"a missing field is its section's": {
			map[string]string{kesoku: "chat:\n  session:\n    ownership: custom\n"}, []string{kesoku + " chat.session.customKey 2"},
		},
		"jobs": {
			map[string]string{cronjobs: "jobs:\n" + fmt.Sprintf(job, "a") + fmt.Sprintf(job, "B")},
			[]string{cronjobs + " jobs[1].name 7"},
		},
		"a job without its prompt": {
			map[string]string{cronjobs: "jobs:\n  - name: a\n    schedule: 0 9 * * *\n    chatbot_id: googlechat\n    channel_id: spaces/A\n"},
			[]string{cronjobs + " jobs[0].prompt 2"},
		},
		"text beside fields": {
			map[string]string{kesoku: "chat:\n  locale: en\n  tongue: x\n", cronjobs: "jobs:\n" + fmt.Sprintf(job, "A")},
			[]string{kesoku + "  3", cronjobs + " jobs[0].name 2"},
		},
		"unknown file": {map[string]string{kesoku: "chat:\n  locale: fr\n", "x": ""}, []string{"x  0", kesoku + " chat.locale 2"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse(tt.files)
			var got []string
			for _, c := range config.Complaints(err) {
				got = append(got, fmt.Sprintf("%s %s %d", c.File, c.Field, c.Line))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	if got := config.Complaints(errors.New("of no file")); got != nil {
		t.Errorf("%v", got)
	}
}

func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "chat:\n  a: 1", "- x\n- {y: z}", "a: &b {c: *b}", "? x\n: y", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for field, line := range config.Lines(s) {
			if field == "" || line < 1 {
				t.Errorf("%q: line %d", field, line)
			}
		}
	})
}
