package deployment

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"kesoku.dev/infra/kesoku/cli/app"
	"kesoku.dev/infra/kesoku/doctor"
)

// logQuery says which log entries to read.
type logQuery struct {
	session, event, function, severity, since string
	limit                                     int
}

var (
	// logValue is what an id, a function or a severity may be: nothing that could end a quoted string of the filter or be an option, and of a
	// pattern's signs only the dot, which stands for itself too.
	logValue = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,199}$`)
	logSince = regexp.MustCompile(`^[1-9][0-9]{0,4}[smhdw]$`)
)

func (a commands) logs() *cobra.Command {
	var q logQuery
	var run bool
	c := &cobra.Command{
		Use: "logs", Short: "Print, or run, the gcloud command that reads the log of a session, event or function", Args: app.Between(0, 0, "none"),
		Long: `Prints a gcloud command; --exec runs it, which needs gcloud and roles/logging.viewer.

"nacked" in a log comes again by itself; "buried" needs a person: see kesoku dead-letters.`,
		Example: `  kesoku logs --session 6f1c2a9e
  kesoku logs --function turn --severity ERROR --since 1d --exec`,
	}
	f := c.Flags()
	f.StringVar(&q.session, "session", "", "entries about the session whose `id` begins so")
	f.StringVar(&q.event, "event", "", "entries about the event whose `key` begins so, or about the wake-up whose id does")
	f.StringVar(&q.function, "function", "", "entries of this function: "+strings.Join(doctor.Functions, ", "))
	f.StringVar(&q.severity, "severity", "", "entries from this `severity` on: INFO, WARNING, ERROR")
	f.StringVar(&q.since, "since", "1h", "how far `back`: 30m, 1h, 2d")
	f.IntVar(&q.limit, "limit", 200, "how many entries at most")
	f.BoolVar(&run, "exec", false, "run the command")
	for flag, values := range map[string][]string{"function": doctor.Functions, "severity": {"INFO", "WARNING", "ERROR"}} {
		_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // it fails for unknown flags alone
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := a.NeedProject(); err != nil {
			return err
		}
		args, err := a.gcloud(q)
		if err != nil {
			return app.Misuse(c, "%w", err)
		}
		if run {
			return a.execute(c, args)
		}
		if a.Screen.JSON {
			return a.Screen.Data(map[string]any{"filter": args[2], "command": append([]string{"gcloud"}, args...)})
		}
		if a.Local {
			a.Screen.Note("the local stack has no Cloud Logging: its functions log beside make run, with VERBOSE=1")
		}
		a.Screen.Say("%s", shell(append([]string{"gcloud"}, args...)))
		return nil
	}
	return c
}

// gcloud makes the arguments of the command.
func (a commands) gcloud(q logQuery) ([]string, error) {
	parts := []string{`resource.type="cloud_run_revision"`}
	for _, p := range []struct{ name, value, form string }{
		{"--function", q.function, `(resource.labels.service_name="%[1]s" OR jsonPayload.function="%[1]s")`},
		{"--session", q.session, `jsonPayload.session=~"^%[1]s"`},
		{"--event", q.event, `(jsonPayload.event=~"^%[1]s" OR jsonPayload.event_id=~"^%[1]s")`},
		{"--severity", strings.ToUpper(q.severity), `severity>=%[1]s`},
	} {
		if p.value == "" {
			continue
		}
		if !logValue.MatchString(p.value) {
			return nil, fmt.Errorf("%s: %q is none; write letters, digits and -_.:/", p.name, p.value)
		}
		parts = append(parts, fmt.Sprintf(p.form, p.value))
	}
	switch {
	case !logValue.MatchString(a.Project):
		return nil, fmt.Errorf("--project: %q is none", a.Project)
	case !logSince.MatchString(q.since):
		return nil, fmt.Errorf("--since: %q is none; write for example 30m, 1h or 2d", q.since)
	case q.limit < 1 || q.limit > 10_000:
		return nil, errors.New("--limit takes 1 to 10000")
	}
	format := "value(timestamp,severity,jsonPayload.function,jsonPayload.message,jsonPayload.error)"
	if a.Screen.JSON {
		format = "json"
	}
	return []string{
		"logging", "read", strings.Join(parts, " AND "), "--project=" + a.Project, "--freshness=" + q.since, fmt.Sprintf("--limit=%d", q.limit),
		"--order=asc", "--format=" + format,
	}, nil
}

// shell writes a command so that a shell takes it as it is.
func shell(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if strings.ContainsAny(arg, " \"'()<>&|;$`\\*?") {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func (a commands) execute(c *cobra.Command, args []string) error {
	gcloud, err := exec.LookPath("gcloud")
	if err != nil {
		return app.Fail(err, "install the Google Cloud CLI, or run the printed command where it is")
	}
	cmd := exec.CommandContext(c.Context(), gcloud, args...) //nolint:gosec // every value was matched against logValue or made here
	cmd.Stdout, cmd.Stderr = a.Out, a.Err
	if err := cmd.Run(); err != nil {
		return app.Fail(fmt.Errorf("gcloud logging read: %w", err), "see what gcloud says above; it may want gcloud auth login")
	}
	return nil
}
