// Package work is the commands about the work under way: sessions, show, dead-letters, sweep and cron.
package work

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kesoku.dev/infra/kesoku/cli/app"
	"kesoku.dev/infra/kesoku/view"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/store/records"
)

// commands are those of one run.
type commands struct{ *app.App }

// Commands returns the commands.
func Commands(a *app.App) []*cobra.Command {
	c := commands{a}
	return []*cobra.Command{c.sessions(), c.show(), c.deadLetters(), c.sweep(), c.cron()}
}

const (
	maxPage     = 500
	followEvery = time.Second
	// followBack is how many of the newest messages a follower looks at again: a turn's messages change status, older ones do not.
	followBack = 200
)

func (a commands) sessions() *cobra.Command {
	var q records.Query
	var all bool
	c := &cobra.Command{
		Use: "sessions", Short: "List sessions, what each waits for and who holds it", Args: app.Between(0, 0, "none"),
		Long: `Lists the sessions that have work left, the most urgent first; with --channel or --all also those that
have none: a channel's the newest first, all of them in the order of their ids.

OUTSTANDING says: the live turn and its last stored step, prompts that wait, messages to send, leases with
the time they still run, and since when the sweep should have looked.`,
		Example: "  kesoku sessions\n  kesoku sessions --channel spaces/AAAA --limit 100\n  kesoku sessions --channel spaces/AAAA --outstanding",
	}
	c.Flags().StringVar(&q.Channel, "channel", "", "only this `channel`, such as spaces/AAAA")
	c.Flags().BoolVar(&q.Outstanding, "outstanding", false, "only those with work left; so it is without --channel and --all")
	c.Flags().BoolVar(&all, "all", false, "all sessions, in the order of their ids")
	c.Flags().StringVar(&q.After, "after", "", "the `page` that the one before named as next")
	c.Flags().IntVar(&q.Limit, "limit", 20, "how many a page")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if q.Limit < 1 || q.Limit > maxPage {
			return app.Misuse(c, "--limit takes 1 to %d", maxPage)
		}
		if all && q.Outstanding {
			return app.Misuse(c, "--all and --outstanding are two lists: say one")
		}
		q.Outstanding = q.Outstanding || (q.Channel == "" && !all)
		db, err := a.Records(c.Context())
		if err != nil {
			return err
		}
		page, next, err := db.Sessions(c.Context(), q)
		if err != nil {
			return err
		}
		if a.Screen.JSON {
			return a.Screen.Data(map[string]any{"sessions": page, "next": next})
		}
		if len(page) == 0 {
			a.Screen.Say("no sessions%s", map[bool]string{true: " with work left; --all shows those without"}[q.Outstanding])
			return nil
		}
		view.Sessions(a.Screen, page, a.Clock.Now())
		a.More(next)
		return nil
	}
	return c
}

func (a commands) show() *cobra.Command {
	var last int
	var follow bool
	c := &cobra.Command{
		Use: "show <session>", Short: "Show a session: inbox, turn, leases, outbox, and its messages", Args: app.Between(1, 1, "one session's id, or its beginning"),
		Long: `Shows how a session stands and its newest messages: class, status, turn.step, time, and what a turn cost.

--follow goes on until it is interrupted, and shows each message that comes or changes its status.
With --json and --follow each change is one line of JSON.`,
		Example: "  kesoku show 6f1c2a9e\n  kesoku show 6f1c2a9e --last 200\n  kesoku show 6f1c2a9e --follow",
	}
	c.Flags().IntVar(&last, "last", 50, "how many of the newest messages")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on and show what changes")
	c.RunE = func(c *cobra.Command, args []string) error {
		if last < 0 || last > maxPage {
			return app.Misuse(c, "--last takes 0 to %d", maxPage)
		}
		handle, err := a.sessionHandle(c.Context(), args[0])
		if err != nil {
			return err
		}
		one, err := handle.Load(c.Context())
		if err != nil {
			return err
		}
		all, err := handle.Since(c.Context(), one.Seq-int64(last))
		if err != nil {
			return err
		}
		if err := a.showSession(&one, all, follow); err != nil || !follow {
			return err
		}
		return a.follow(c.Context(), handle, &one, all)
	}
	return c
}

func (a commands) sessionHandle(ctx context.Context, prefix string) (*store.Session, error) {
	db, err := a.Records(ctx)
	if err != nil {
		return nil, err
	}
	id, err := db.Session(ctx, prefix)
	if err != nil {
		return nil, app.Ambiguous(err)
	}
	st, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	return st.Session(id), nil
}

func (a commands) showSession(one *session.Session, all []message.Message, follow bool) error {
	switch {
	case a.Screen.JSON && follow:
		return a.changed(all)
	case a.Screen.JSON:
		return a.Screen.Data(map[string]any{"session": one, "messages": all})
	}
	view.Session(a.Screen, one, a.Clock.Now())
	a.Screen.Say("")
	view.Timeline(a.Screen, all, true)
	return nil
}

// changed shows messages that came or changed.
func (a commands) changed(all []message.Message) error {
	if !a.Screen.JSON {
		if len(all) > 0 {
			view.Timeline(a.Screen, all, false)
		}
		return nil
	}
	for i := range all {
		if err := a.Screen.Line(all[i]); err != nil {
			return err
		}
	}
	return nil
}

// follow shows what changes until ctx ends, which is no failure.
func (a commands) follow(ctx context.Context, handle *store.Session, one *session.Session, all []message.Message) error {
	shown := map[int64]message.Status{}
	for i := range all {
		shown[all[i].Seq] = all[i].Status
	}
	swap, first := one.Swap, one.Seq+1
	if len(all) > 0 {
		first = all[0].Seq
	}
	for a.Clock.Sleep(ctx, followEvery) == nil {
		now, fresh, err := look(ctx, handle, swap, first)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the look was cut short because somebody ended the following
		case err != nil:
			return fmt.Errorf("follow session %s: %w", one.ID, err)
		}
		swap = now
		var news []message.Message
		for i := range fresh {
			if status, known := shown[fresh[i].Seq]; !known || status != fresh[i].Status {
				news = append(news, fresh[i])
				shown[fresh[i].Seq] = fresh[i].Status
			}
		}
		if err := a.changed(news); err != nil {
			return err
		}
	}
	return nil
}

// look reads the session's swap and, if it is another than the last one, the newest messages from first on.
func look(ctx context.Context, handle *store.Session, last string, first int64) (swap string, fresh []message.Message, err error) {
	now, err := handle.Load(ctx)
	if err != nil || now.Swap == last {
		return last, nil, err
	}
	fresh, err = handle.Since(ctx, max(first, now.Seq-followBack)-1)
	return now.Swap, fresh, err
}
