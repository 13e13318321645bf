package config_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kesoku.dev/shared/config"
	"kesoku.dev/shared/config/yamlfile"
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
		"rules": {
			map[string]string{kesoku: "locked:\n  - chat.model\n  - chat.modle\nrules:\n  - id: a\n    filter:\n      kind: or\n      operands:\n" +
				"        - kind: direct\n        - kind: scope\n          field: name\n          values: [x]\n    values:\n      chat:\n" +
				"        engine: on\n        session:\n          ownership: custom\n  - id: a\n    filter: {kind: direct}\n    createdAt: -1\n"},
			[]string{
				kesoku + " locked[1] 3", kesoku + " rules[0].filter.operands[1].field 11", kesoku + " rules[1].id 18",
				kesoku + " rules[1].createdAt 20", kesoku + " rules[0].values.chat.engine 15", kesoku + " rules[0].values.chat.session.customKey 16",
			},
		},
		"a rule's text beside its fields": {
			map[string]string{kesoku: "rules:\n  - id: a\n    filter: {kind: direct}\n    values:\n      chat:\n        tongue: x\n" +
				"      render:\n        thoughts: loud\n  - id: b\n    values:\n      chat: {locale: fr}\n"},
			[]string{kesoku + "  6", kesoku + " rules[1].filter 9", kesoku + " rules[1].values.chat.locale 11"},
		},
		"a clash of the global rule is told once": {
			map[string]string{kesoku: "chat:\n  merge: {quiet: 20000}\nrules:\n  - {id: a, filter: {kind: direct}}\n" +
				"  - {id: b, filter: {kind: direct}, values: {chat: {activation: {use: [judge]}}}}\n"},
			[]string{kesoku + " chat.merge.quiet 2", kesoku + " rules[1].values.chat.activation.judge.model 5"},
		},
		"a rule's unknown namespace": {map[string]string{kesoku: "rules:\n  - id: a\n    values:\n      chta: {}\n"}, []string{kesoku + "  4"}},
		"unknown file":               {map[string]string{kesoku: "chat:\n  locale: fr\n", "x": ""}, []string{"x  0", kesoku + " chat.locale 2"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse(tt.files)
			var got []string
			for _, c := range yamlfile.Complaints(err) {
				got = append(got, fmt.Sprintf("%s %s %d", c.File, c.Field, c.Line))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	if got := yamlfile.Complaints(errors.New("of no file")); got != nil {
		t.Errorf("%v", got)
	}
}
