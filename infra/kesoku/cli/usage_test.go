package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"kesoku.dev/infra/kesoku/cli"
	"kesoku.dev/infra/kesoku/cli/app"
	"kesoku.dev/shared/clock"
)

// Whoever asks wrongly is told what is wrong and what to do, on two lines, and gets exit code 2.
func TestMisuse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		says []string
	}{
		"unknown command":    {[]string{"sesions"}, []string{`unknown command "sesions"`, "sessions", "kesoku --help"}},
		"unknown subcommand": {[]string{"config", "pusch"}, []string{`unknown command "pusch"`, "did you mean push?", "kesoku config --help"}},
		"unknown flag":       {[]string{"sweep", "--dry"}, []string{"--dry", "kesoku sweep --help"}},
		"too few arguments":  {[]string{"show"}, []string{"0 arguments", "one session's id"}},
		"too many":           {[]string{"config", "check", "a", "b"}, []string{"2 arguments"}},
		"no project":         {[]string{"sessions"}, []string{"no project", "--project ID", "GOOGLE_CLOUD_PROJECT"}},
		"no route":           {[]string{"config", "explain", "spaces/A"}, []string{"googlechat:spaces/AAAA"}},
		"limit":              {[]string{"sessions", "--limit", "0", "--project", "p"}, []string{"1 to 500"}},
		"two lists":          {[]string{"sessions", "--all", "--outstanding", "--project", "p"}, []string{"say one"}},
		"filter":             {[]string{"logs", "--session", `x" OR "`, "--project", "p"}, []string{"--session"}},
		"option for a value": {[]string{"logs", "--project", "--flags-file=x"}, []string{"--project"}},
		"since":              {[]string{"logs", "--since", "yesterday", "--project", "p"}, []string{"--since", "30m"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := kesoku(t, nil, "", tt.args...)
			r.want(t, 2, tt.says...)
			if lines := strings.Count(r.err, "\n"); lines != 2 || r.out != "" {
				t.Errorf("not two lines beside the result:\n%s", r.transcript())
			}
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"help.txt": {"--help"}, "help-config-push.txt": {"config", "push", "--help"}, "help-doctor.txt": {"doctor", "--help"},
	} {
		golden(t, name, kesoku(t, nil, "", args...).transcript())
	}
	for _, group := range []string{"", "config", "cron", "dead-letters"} {
		kesoku(t, nil, "", strings.Fields(group)...).want(t, 0, "Available Commands")
	}
	kesoku(t, nil, "", "completion", "bash").want(t, 0, "bash completion")
}

// Colours are what the host allows, on each of the two streams by itself; an error is JSON where results are.
func TestErrorsAreShownAsTheHostWants(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		colour, live bool
		args         []string
		want         string
	}{
		"plain":            {false, false, []string{"x"}, "kesoku: unknown command \"x\"\n  → see kesoku --help\n"},
		"result to a pipe": {false, true, []string{"x"}, "\x1b[31mkesoku:\x1b[0m unknown command \"x\"\n  → see kesoku --help\n"},
		"error to a pipe":  {true, false, []string{"x"}, "kesoku: unknown command \"x\"\n  → see kesoku --help\n"},
		"JSON":             {true, true, []string{"--json", "config", "x"}, `{"do":"see kesoku config --help","error":"unknown command \"x\""}` + "\n"},
	} {
		var out, err bytes.Buffer
		cli.Run(t.Context(), app.Host{Out: &out, Err: &err, Colour: tt.colour, Live: tt.live, Clock: clock.System{}}, tt.args)
		if got := strings.ReplaceAll(err.String(), "\r\x1b[K", ""); got != tt.want || out.Len() > 0 {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	golden(t, "logs.txt", kesoku(t, nil, "", "logs", "--project", "my-project", "--session", "6f1c2a9e-4b1d", "--function", "turn", "--severity", "error",
		"--since", "2d").transcript()+kesoku(t, nil, "", "logs", "--project", "my-project", "--event", "3fa9", "--json").transcript())
}

func decode(t *testing.T, r result, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.out), into); err != nil {
		t.Fatalf("%v in\n%s", err, r.transcript())
	}
}
