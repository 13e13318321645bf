package work

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"kesoku.dev/infra/kesoku/cli/app"
	"kesoku.dev/infra/kesoku/screen"
	"kesoku.dev/infra/kesoku/view"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/store"
)

// perSweep is how much is looked at of each kind, as a sweep does.
const perSweep = 500

func (a commands) sweep() *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use: "sweep", Short: "Wake again what was left behind, or show what would be woken", Args: app.Between(0, 0, "none"),
		Long: `Publishes to the topic sweeps, as Cloud Scheduler does every minute. With --dry-run it only shows which events
and sessions the sweep would wake now.`,
		Example: "  kesoku sweep --dry-run\n  kesoku sweep",
	}
	c.Flags().BoolVarP(&dry, "dry-run", "n", false, "only show what would be woken")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if dry {
			return a.dryRun(c.Context())
		}
		if err := a.Publish(c.Context(), bus.TopicSweeps, bus.Sweep{}); err != nil {
			return err
		}
		if a.Screen.JSON {
			return a.Screen.Data(map[string]any{"published": bus.TopicSweeps})
		}
		a.Screen.Say("%s a sweep is published; see it by kesoku logs --function sweep", a.Screen.Paint(screen.Green, "✓"))
		return nil
	}
	return c
}

// due is one thing that the next sweep would wake.
type due struct {
	Kind  string    `json:"kind"` // event or session
	ID    string    `json:"id"`
	Route string    `json:"route"`
	Wakes bus.Topic `json:"wakes"`
	Since time.Time `json:"due_since"`
}

func (a commands) dryRun(ctx context.Context) error {
	st, err := a.Store(ctx)
	if err != nil {
		return err
	}
	now := a.Clock.Now()
	a.Screen.Progress("looking for what is overdue")
	all, err := overdue(ctx, st, now)
	a.Screen.Done()
	if err != nil {
		return err
	}
	if a.Screen.JSON {
		return a.Screen.Data(map[string]any{"due": all})
	}
	if len(all) == 0 {
		a.Screen.Say("nothing is overdue: a sweep would wake nothing")
		return nil
	}
	rows := make([][]string, len(all))
	for i, d := range all {
		rows[i] = []string{d.Kind, d.ID[:min(len(d.ID), shortLetter)], string(d.Wakes), view.Ago(now, d.Since), screen.OneLine(d.Route)}
	}
	a.Screen.Table([]string{"KIND", "ID", "WAKES", "OVERDUE", "ROUTE"}, rows)
	return nil
}

// overdue lists what a sweep would wake. It asks what functions/sweep asks.
func overdue(ctx context.Context, st *store.Store, now time.Time) ([]due, error) {
	all := []due{}
	events, err := st.DueEvents(ctx, now, perSweep)
	if err != nil {
		return nil, err
	}
	for i := range events {
		e := &events[i]
		all = append(all, due{"event", e.Key, e.RouteID, bus.TopicInbound, *e.WakeAt})
	}
	sessions, err := st.DueSessions(ctx, now, perSweep)
	if err != nil {
		return nil, err
	}
	for i := range sessions {
		s := &sessions[i]
		if s.TurnWork() && !s.TurnLease.Live(now) {
			all = append(all, due{"session", s.ID, s.RouteID, bus.TopicTurns, *s.WakeAt})
		}
		if s.SendWork() && !s.SendLease.Live(now) {
			all = append(all, due{"session", s.ID, s.RouteID, bus.TopicDeliveries, *s.WakeAt})
		}
	}
	return all, nil
}
