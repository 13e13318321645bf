// Package configure is the command config: check, push, pull and explain.
package configure

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kesoku.dev/infra/kesoku/cli/app"
	"kesoku.dev/infra/kesoku/folder"
	"kesoku.dev/infra/kesoku/screen"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/config/yamlfile"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/model"
)

// commands are those of one run.
type commands struct{ *app.App }

// Commands returns the command config.
func Commands(a *app.App) []*cobra.Command { return []*cobra.Command{commands{a}.config()} }

// configDir is where the configuration lies, seen from the repository's root.
const configDir = "infra/config"

func dirOf(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return configDir
}

func (a commands) config() *cobra.Command {
	return app.Group("config", "Check, publish, fetch and explain the configuration", a.configCheck(), a.configPush(), a.configPull(), a.configExplain())
}

func (a commands) configCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check [dir]", Short: "Tell all that is wrong in a configuration folder", Args: app.Between(0, 1, "one folder at most"),
		Example: "  kesoku config check\n  kesoku config check ./staging",
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := a.readFolder(dirOf(args))
			if err != nil {
				return err
			}
			if err := a.check(files); err != nil {
				return err
			}
			if a.Screen.JSON {
				return a.Screen.Data(map[string]any{"valid": true, "files": slices.Sorted(maps.Keys(files))})
			}
			a.Screen.Say("%s %s, no fault", a.Screen.Paint(screen.Green, "✓"), screen.Count(len(files), "file"))
			return nil
		},
	}
}

func (a commands) readFolder(dir string) (map[string]string, error) {
	files, err := folder.Read(dir)
	if err != nil {
		return nil, app.Fail(err, "name the folder that holds kesoku.yaml")
	}
	return files, nil
}

// complaint is one fault as --json shows it.
type complaint struct {
	File  string `json:"file"`
	Line  int    `json:"line,omitempty"`
	Field string `json:"field,omitempty"`
	Says  string `json:"says"`
}

// check shows all that is wrong, and fails if there is anything.
func (a commands) check(files map[string]string) error {
	all := complaints(files)
	if len(all) == 0 {
		return nil
	}
	if a.Screen.JSON {
		if err := a.Screen.Data(map[string]any{"valid": false, "complaints": all}); err != nil {
			return err
		}
	}
	for _, c := range all {
		if a.Screen.JSON {
			break
		}
		place := c.File
		if c.Line > 0 {
			place = fmt.Sprintf("%s:%d", c.File, c.Line)
		}
		a.Screen.Say("%s: %s", a.Screen.Paint(screen.Bold, place), strings.ReplaceAll(strings.TrimSpace(screen.Clean(c.Says)), "\n", "\n    "))
	}
	return app.Fail(errors.New("the configuration has "+screen.Count(len(all), "fault")), "correct them and check again; nothing was published")
}

func complaints(files map[string]string) []complaint {
	parsed, err := config.Parse(files)
	if err == nil {
		return unknownModels(parsed, files)
	}
	var all []complaint
	for _, c := range yamlfile.Complaints(err) {
		all = append(all, complaint{File: c.File, Line: c.Line, Field: c.Field, Says: c.Unwrap().Error()})
	}
	if len(all) == 0 { // of the whole, such as its size
		all = append(all, complaint{File: ".", Says: err.Error()})
	}
	return sorted(all)
}

// unknownModels are those that no driver serves. Functions would run with such a configuration, and refuse the messages that come by it (P13).
func unknownModels(c *config.Config, files map[string]string) []complaint {
	lines := yamlfile.Lines(files[config.FileKesoku])
	var all []complaint
	for field, name := range c.Models() {
		if err := model.CheckName(name); err != nil {
			all = append(all, complaint{File: config.FileKesoku, Line: lines[field], Field: field, Says: err.Error()})
		}
	}
	return sorted(all)
}

func sorted(all []complaint) []complaint {
	slices.SortStableFunc(all, func(a, b complaint) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, strings.Compare(a.Field, b.Field))
	})
	return all
}

func (a commands) configPush() *cobra.Command {
	var yes bool
	var base int64
	c := &cobra.Command{
		Use: "push [dir]", Short: "Publish a configuration folder; functions follow within 30 seconds", Args: app.Between(0, 1, "one folder at most"),
		Long: `Checks the folder, shows what would change, asks, and publishes it as the next revision.

If somebody publishes between the look and the push, it fails with CONFLICT and changes nothing.
--base makes that stricter: it publishes only over the revision that you started from.`,
		Example: "  kesoku config push\n  kesoku config push infra/config --yes --base 7",
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask, and do not show what changes")
	c.Flags().Int64Var(&base, "base", 0, "publish only over this `revision` (default: whichever is current)")
	c.RunE = func(c *cobra.Command, args []string) error {
		files, err := a.readFolder(dirOf(args))
		if err != nil {
			return err
		}
		if err := a.check(files); err != nil {
			return err
		}
		if !c.Flags().Changed("base") {
			base = -1
		}
		return a.push(c, files, base, yes)
	}
	return c
}

// push publishes over revision base; a negative one stands for whichever is current.
func (a commands) push(c *cobra.Command, files map[string]string, base int64, yes bool) error {
	ctx := c.Context()
	st, err := a.Store(ctx)
	if err != nil {
		return err
	}
	current, revision, err := st.Config(ctx)
	if err != nil {
		return err
	}
	if revision > 0 && maps.Equal(current, files) {
		if a.Screen.JSON {
			return a.Screen.Data(map[string]any{"revision": revision, "changed": false})
		}
		a.Screen.Say("nothing to publish: revision %d is the same", revision)
		return nil
	}
	if base < 0 {
		base = revision
	}
	if !yes {
		a.showDiff(folder.Diff(current, files))
		if !a.confirm(fmt.Sprintf("Publish this to %s as revision %d?", a.Project, revision+1)) {
			return app.Fail(errors.New("not published: nobody said yes"), "answer y, or say --yes where nobody can answer")
		}
	}
	next, err := st.PublishConfig(ctx, files, base)
	if errors.Is(err, errs.ErrConflict) {
		return app.Fail(fmt.Errorf("CONFLICT: %w", err), "somebody published since revision "+fmt.Sprint(base)+": run kesoku config pull into another folder, merge, push again")
	}
	if err != nil {
		return err
	}
	if a.Screen.JSON {
		return a.Screen.Data(map[string]any{"revision": next, "changed": true})
	}
	a.Screen.Say("%s published as revision %d; functions follow within 30 seconds", a.Screen.Paint(screen.Green, "✓"), next)
	if current[config.FileCronjobs] != files[config.FileCronjobs] {
		a.Screen.Note("%s differs: when its jobs come is Cloud Scheduler's to know, by terraform apply", config.FileCronjobs)
	}
	return nil
}

// showDiff writes to where notes go if results are JSON.
func (a commands) showDiff(diff string) {
	for line := range strings.Lines(screen.Clean(diff)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "+"):
			line = a.Screen.Paint(screen.Green, line)
		case strings.HasPrefix(line, "-"):
			line = a.Screen.Paint(screen.Red, line)
		}
		if a.Screen.JSON {
			a.Screen.Note("%s", line)
		} else {
			a.Screen.Say("%s", line)
		}
	}
}

// confirm asks, and takes anything but y and yes, an end of input too, for no.
func (a commands) confirm(question string) bool {
	_, _ = fmt.Fprintf(a.Err, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(a.In).ReadString('\n') // what came before an end of input is the answer
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

func (a commands) configPull() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "pull [dir]", Short: "Fetch the published configuration into a folder", Args: app.Between(0, 1, "one folder at most"),
		Long:    "Writes the published files into the folder. It overwrites nothing that differs unless --force is given, and removes nothing.",
		Example: "  kesoku config pull\n  kesoku config pull ./published",
	}
	c.Flags().BoolVarP(&force, "force", "f", false, "overwrite files that differ")
	c.RunE = func(c *cobra.Command, args []string) error {
		st, err := a.Store(c.Context())
		if err != nil {
			return err
		}
		files, revision, err := st.Config(c.Context())
		switch {
		case err != nil:
			return err
		case revision == 0:
			return app.Fail(errors.New("nothing is published yet"), "run kesoku config push")
		}
		changed, err := folder.Write(dirOf(args), files, force)
		if errors.Is(err, folder.ErrDiffers) {
			return app.Fail(err, "pull into another folder, or overwrite it by --force")
		}
		if err != nil {
			return app.Fail(err, "choose a folder that you may write to")
		}
		if a.Screen.JSON {
			return a.Screen.Data(map[string]any{"revision": revision, "written": changed})
		}
		a.Screen.Say("revision %d: %s written to %s", revision, screen.Count(len(changed), "file"), dirOf(args))
		return nil
	}
	return c
}
