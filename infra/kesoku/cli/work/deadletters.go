package work

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kesoku.dev/infra/kesoku/cli/app"
	"kesoku.dev/infra/kesoku/screen"
	"kesoku.dev/infra/kesoku/view"
	"kesoku.dev/shared/bus/topology"
	"kesoku.dev/shared/store/records"
)

// shortLetter is how much of a dead letter's id is shown in lists.
const shortLetter = 12

func (a commands) deadLetters() *cobra.Command {
	return app.Group("dead-letters", "List, show and replay wake-ups that no retry could help", a.lettersList(), a.lettersShow(), a.lettersReplay())
}

// letter is a dead letter as --json shows it: with the wake-up that lies in its push message, where there is one.
type letter struct {
	records.DeadLetter
	Topic  string `json:"topic,omitempty"`
	WakeUp string `json:"wake_up,omitempty"`
}

func letterOf(d records.DeadLetter) letter {
	w, err := topology.Original(d.Source, d.Data)
	if err != nil {
		return letter{DeadLetter: d} // replay says why
	}
	return letter{d, string(w.Topic), string(w.Data)}
}

func (a commands) lettersList() *cobra.Command {
	var after string
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List dead letters, the newest first", Args: app.Between(0, 0, "none"), Example: "  kesoku dead-letters list --limit 50",
	}
	c.Flags().StringVar(&after, "after", "", "the `page` that the one before named as next")
	c.Flags().IntVar(&limit, "limit", 20, "how many a page")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if limit < 1 || limit > maxPage {
			return app.Misuse(c, "--limit takes 1 to %d", maxPage)
		}
		db, err := a.Records(c.Context())
		if err != nil {
			return err
		}
		page, next, err := db.DeadLetters(c.Context(), after, limit)
		if err != nil {
			return err
		}
		letters := make([]letter, len(page))
		for i := range page {
			letters[i] = letterOf(page[i])
		}
		if a.Screen.JSON {
			return a.Screen.Data(map[string]any{"dead_letters": letters, "next": next})
		}
		if len(letters) == 0 {
			a.Screen.Say("no dead letters")
			return nil
		}
		a.listLetters(letters)
		a.More(next)
		return nil
	}
	return c
}

func (a commands) listLetters(letters []letter) {
	rows := make([][]string, len(letters))
	for i, l := range letters {
		replayed := "–"
		if l.ReplayedAt != nil {
			replayed = view.Ago(a.Clock.Now(), *l.ReplayedAt) + " ago"
		}
		topic := l.Topic
		if topic == "" {
			topic = "?"
		}
		rows[i] = []string{l.ID[:min(len(l.ID), shortLetter)], view.Ago(a.Clock.Now(), l.At) + " ago", topic, replayed, screen.OneLine(l.Error)}
	}
	a.Screen.Table([]string{"DEAD LETTER", "BURIED", "TOPIC", "REPLAYED", "ERROR"}, rows)
}

func (a commands) lettersShow() *cobra.Command {
	return &cobra.Command{
		Use: "show <id>", Short: "Show one dead letter whole", Args: app.Between(1, 1, "one dead letter's id, or its beginning"), Example: "  kesoku dead-letters show 3fa9c1d20b77",
		RunE: func(c *cobra.Command, args []string) error {
			db, err := a.Records(c.Context())
			if err != nil {
				return err
			}
			d, err := db.DeadLetter(c.Context(), args[0])
			if err != nil {
				return app.Ambiguous(err)
			}
			if a.Screen.JSON {
				return a.Screen.Data(letterOf(d))
			}
			a.showLetter(letterOf(d))
			return nil
		},
	}
}

func (a commands) showLetter(l letter) {
	replayed := "never"
	if l.ReplayedAt != nil {
		replayed = l.ReplayedAt.UTC().Format("2006-01-02 15:04:05")
	}
	body := l.WakeUp
	if l.Topic == "" {
		body = string(l.Data)
	}
	for _, f := range [][2]string{
		{"dead letter", l.ID}, {"event id", l.EventID}, {"source", l.Source}, {"buried", l.At.UTC().Format("2006-01-02 15:04:05")},
		{"forgotten", l.ExpireAt.UTC().Format("2006-01-02 15:04:05")}, {"replayed", replayed}, {"error", l.Error}, {"wake-up", body},
	} {
		text := strings.ReplaceAll(strings.TrimSpace(screen.Clean(f[1])), "\n", "\n"+strings.Repeat(" ", 13))
		a.Screen.Say("%s  %s", a.Screen.Paint(screen.Dim, fmt.Sprintf("%-11s", f[0])), text)
	}
}

func (a commands) lettersReplay() *cobra.Command {
	var again bool
	c := &cobra.Command{
		Use: "replay <id>", Short: "Publish a dead letter's wake-up to its topic again", Args: app.Between(1, 1, "one dead letter's id, or its beginning"),
		Long: `Publishes the original wake-up to the topic that it came from, and marks the record. A wake-up only says where to
look, so replaying one whose work is done changes nothing. One that fails again is buried anew under another id.

A cron job's wake-up means the time at which it is published: replayed, it fires the time that was due last.`,
		Example: "  kesoku dead-letters replay 3fa9c1d20b77",
	}
	c.Flags().BoolVar(&again, "again", false, "although it was replayed before")
	c.RunE = func(c *cobra.Command, args []string) error {
		db, err := a.Records(c.Context())
		if err != nil {
			return err
		}
		d, err := db.DeadLetter(c.Context(), args[0])
		if err != nil {
			return app.Ambiguous(err)
		}
		if d.ReplayedAt != nil && !again {
			return app.Fail(errors.New("it was replayed at "+d.ReplayedAt.UTC().Format("2006-01-02 15:04:05")), "say --again to do it once more")
		}
		return a.replay(c, db, d)
	}
	return c
}

func (a commands) replay(c *cobra.Command, db *records.Records, d records.DeadLetter) error {
	w, err := topology.Original(d.Source, d.Data)
	if err != nil {
		return app.Fail(fmt.Errorf("dead letter %s cannot be replayed: %w", d.ID, err), "look at it by kesoku dead-letters show; kesoku sweep wakes what is outstanding anyway")
	}
	topics, err := a.Topology(c.Context())
	if err != nil {
		return err
	}
	id, err := topics.Publish(c.Context(), w)
	if err != nil {
		return err
	}
	// Marked after it was published: if the mark is lost, a second replay does no harm.
	if err := db.MarkReplayed(c.Context(), d.ID); err != nil {
		return app.Fail(err, "it was published; only the mark is missing")
	}
	if a.Screen.JSON {
		return a.Screen.Data(map[string]any{"id": d.ID, "topic": w.Topic, "message_id": id})
	}
	a.Screen.Say("%s published to %s as message %s", a.Screen.Paint(screen.Green, "✓"), w.Topic, id)
	return nil
}
