// Package deployment is the commands about a deployment as a whole: doctor and logs.
package deployment

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kesoku.dev/infra/kesoku/cli/app"
	"kesoku.dev/infra/kesoku/doctor"
	"kesoku.dev/infra/kesoku/screen"
	"kesoku.dev/shared/blob"
)

// commands are those of one run.
type commands struct{ *app.App }

// Commands returns the commands.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{commands{a}.doctor(), commands{a}.logs()}
}

func (a commands) doctor() *cobra.Command {
	d := doctor.Config{Local: a.Local, Clock: a.Clock}
	c := &cobra.Command{
		Use: "doctor", Short: "Examine a deployment and say what is wrong and what to do", Args: app.Between(0, 0, "none"),
		Long: `Examines a deployment step by step: ✓ is well, ✗ is not, – could not be examined. It fails if any
step is not well.

It changes nothing that lasts: a document is written and removed, and one small object stays in the
bucket. The credentials are yours, not the functions': a role that they lack shows in their logs.

For what make run runs on this machine, say make doctor.`,
		Example: `  kesoku doctor --project my-project --bucket my-staging
  kesoku doctor --project my-project --bucket my-staging --webhook https://chat.example.org/kesoku --json`,
	}
	f := c.Flags()
	f.StringVar(&d.Bucket, "bucket", a.Bucket, "staging `bucket`; else STAGING_BUCKET")
	f.StringVar(&d.Webhook, "webhook", a.Webhook, "`URL` that Google Chat calls; else KESOKU_WEBHOOK, else the deployed function's")
	f.StringSliceVar(&d.Secrets, "secret", []string{"gemini-api-key"}, "`ids` of the secrets that must be there")
	f.StringVar(&d.ChatEndpoint, "chat-endpoint", a.ChatAPI, "`URL` of the Chat API; else CHAT_ENDPOINT, else Google's")
	f.StringVar(&d.ServicesEndpoint, "services-endpoint", "", "`URL` of the Service Usage API (default Google's)")
	f.StringVar(&d.SecretsEndpoint, "secrets-endpoint", "", "`URL` of the Secret Manager API (default Google's)")
	f.StringVar(&d.FunctionsEndpoint, "functions-endpoint", "", "`URL` of the Cloud Functions API (default Google's)")
	for _, name := range []string{"services-endpoint", "secrets-endpoint", "functions-endpoint"} {
		_ = f.MarkHidden(name) // for other endpoints than Google's, such as a private one; it cannot fail, the flag is there
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := a.NeedProject(); err != nil {
			return err
		}
		d.Project = a.Project
		d.Open = func(ctx context.Context) (*doctor.Parts, error) { return a.parts(ctx, d.Bucket) }
		return a.examine(c.Context(), d)
	}
	return c
}

func (a commands) parts(ctx context.Context, bucket string) (*doctor.Parts, error) {
	st, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	db, err := a.Records(ctx)
	if err != nil {
		return nil, err
	}
	topics, err := a.Topology(ctx)
	if err != nil {
		return nil, err
	}
	parts := &doctor.Parts{Database: db, Store: st, Topics: topics}
	if bucket != "" {
		staging, err := blob.Connect(ctx, bucket, a.Storage)
		if err != nil {
			return nil, err
		}
		parts.Staging = staging
	}
	return parts, nil
}

// examine shows each step as soon as it is done.
func (a commands) examine(ctx context.Context, d doctor.Config) error {
	all, counts := []doctor.Finding{}, map[doctor.State]int{}
	doctor.Examine(ctx, d, func(step string) { a.Screen.Progress("%s", step) }, func(f doctor.Finding) {
		a.Screen.Done()
		all = append(all, f)
		counts[f.State]++
		if !a.Screen.JSON {
			a.finding(f)
		}
	})
	if a.Screen.JSON {
		if err := a.Screen.Data(map[string]any{"well": counts[doctor.Ill] == 0, "findings": all}); err != nil {
			return err
		}
	} else {
		a.Screen.Say("\n%d well, %d not, %d not examined", counts[doctor.Well], counts[doctor.Ill], counts[doctor.Skipped])
	}
	if counts[doctor.Ill] > 0 {
		return app.Fail(fmt.Errorf("not well: %s", screen.Count(counts[doctor.Ill], "step")), "do what stands behind the arrows, the first one first, and run it again")
	}
	return nil
}

// finding shows one step: what it says, broken at the margin, and what to do on a line of its own.
func (a commands) finding(f doctor.Finding) {
	const indent = "                    "
	mark := map[doctor.State]string{
		doctor.Well: a.Screen.Paint(screen.Green, "✓"), doctor.Ill: a.Screen.Paint(screen.Red, "✗"), doctor.Skipped: a.Screen.Paint(screen.Yellow, "–"),
	}[f.State]
	lines := wrap(f.Says, a.Screen.Width()-len(indent))
	a.Screen.Say("%s %-16s  %s", mark, f.Step, strings.Join(lines, "\n"+indent))
	if f.Do != "" {
		a.Screen.Say("%s%s", indent, strings.Join(wrap("→ "+f.Do, a.Screen.Width()-len(indent)), "\n"+indent+"  "))
	}
}

// wrap breaks text at blanks into lines of at most width columns; what has no blanks stays whole, so that it can be copied.
func wrap(text string, width int) []string {
	lines, line := []string{}, ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
