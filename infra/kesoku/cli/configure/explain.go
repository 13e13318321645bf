package configure

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kesoku.dev/infra/kesoku/cli/app"
	"kesoku.dev/infra/kesoku/folder"
	"kesoku.dev/infra/kesoku/screen"
	"kesoku.dev/shared/config"
)

func (a commands) configExplain() *cobra.Command {
	var dir string
	var facts config.Facts
	c := &cobra.Command{
		Use: "explain <route>", Short: "Show a route's effective settings and which rule gives each",
		Args: app.Between(1, 1, "one route, such as googlechat:spaces/AAAA"),
		Long: `Shows what holds for a message in the route: each setting with the rule and the line that give it, the values that
a lock keeps out, and what should be mended. Of the message, say what rules look at; what you leave out is not known.`,
		Example: "  kesoku config explain googlechat:spaces/AAAA\n  kesoku config explain googlechat:spaces/AAAA --user users/1 --at --text 'hello'\n" +
			"  kesoku config explain googlechat:spaces/AAAA --dir infra/config",
	}
	c.Flags().StringVar(&dir, "dir", "", "explain this `folder` instead of what is published")
	c.Flags().StringVar(&facts.User, "user", "", "`id` of who wrote")
	c.Flags().StringVar(&facts.Guild, "guild", "", "`id` of the guild that the channel is in")
	c.Flags().StringVar(&facts.Self, "self", "", "`id` of the app itself")
	c.Flags().StringVar(&facts.Text, "text", "", "what was `written`")
	c.Flags().BoolVar(&facts.Direct, "direct", false, "it is a direct chat")
	c.Flags().BoolVar(&facts.AtMe, "at", false, "the app was mentioned")
	c.Flags().BoolVar(&facts.QuoteMe, "quote", false, "a message of the app was quoted")
	c.RunE = func(c *cobra.Command, args []string) error {
		platform, channel, ok := strings.Cut(args[0], ":")
		if !ok || platform == "" || channel == "" {
			return app.Misuse(c, "%q is no route: write platform:channel, such as googlechat:spaces/AAAA", args[0])
		}
		facts.Platform, facts.Channel = platform, channel
		files, revision, err := a.filesToExplain(c, dir)
		if err != nil {
			return err
		}
		all, err := folder.Explain(files, facts)
		if err != nil {
			return app.Fail(err, "run kesoku config check")
		}
		if a.Screen.JSON {
			return a.Screen.Data(struct {
				Route    string `json:"route"`
				Revision int64  `json:"revision"`
				folder.Explanation
			}{args[0], revision, all})
		}
		a.showExplanation(all)
		return nil
	}
	return c
}

func (a commands) showExplanation(all folder.Explanation) {
	a.Screen.Say("rules that hold, later ones over earlier ones: %s\n", strings.Join(all.Rules, ", "))
	rows := make([][]string, len(all.Settings))
	for i, s := range all.Settings {
		value := screen.OneLine(fmt.Sprint(s.Value))
		if value == "" {
			value = "–"
		}
		from := s.From
		if from == "" {
			from = "–"
		}
		rows[i] = []string{s.Name, screen.Cut(value, 28), s.Rule, from}
	}
	a.Screen.Table([]string{"SETTING", "VALUE", "RULE", "FROM"}, rows)
	if len(all.Suppressed) > 0 {
		a.Screen.Say("\nkept out by locks:")
	}
	for _, s := range all.Suppressed {
		a.Screen.Say("  %s of rule %s (%s): locked by %s", s.Path, s.Rule, s.From, s.LockedBy)
	}
	if len(all.Diagnostics) > 0 {
		a.Screen.Say("\nto be mended:")
	}
	for _, d := range all.Diagnostics {
		a.Screen.Say("  %s", screen.OneLine(d))
	}
}

func (a commands) filesToExplain(c *cobra.Command, dir string) (files map[string]string, revision int64, err error) {
	if dir != "" {
		files, err = a.readFolder(dir)
		return files, 0, err
	}
	st, err := a.Store(c.Context())
	if err != nil {
		return nil, 0, err
	}
	return st.Config(c.Context())
}
