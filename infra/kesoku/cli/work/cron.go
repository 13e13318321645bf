package work

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kesoku.dev/infra/kesoku/cli/app"
	"kesoku.dev/infra/kesoku/screen"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/config"
)

func (a commands) cron() *cobra.Command {
	return app.Group("cron", "List cron jobs and fire them", a.cronList(), a.cronFire())
}

// job is a cron job as --json shows it.
type job struct {
	Name     string      `json:"name"`
	Schedule string      `json:"schedule"`
	TimeZone string      `json:"time_zone"`
	Route    string      `json:"route"`
	Next     []time.Time `json:"next"`
	LastDue  *time.Time  `json:"last_due,omitempty"` // within the past day
	Fired    bool        `json:"fired"`              // for that time
}

func (a commands) cronList() *cobra.Command {
	var count int
	c := &cobra.Command{
		Use: "list", Short: "List the published cron jobs with their next times", Args: app.Between(0, 0, "none"), Example: "  kesoku cron list --next 5",
	}
	c.Flags().IntVar(&count, "next", 1, "how many of the next times")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if count < 1 || count > 100 {
			return app.Misuse(c, "--next takes 1 to 100")
		}
		published, err := a.published(c.Context())
		if err != nil {
			return err
		}
		jobs := make([]job, len(published.Jobs))
		for i := range published.Jobs {
			if jobs[i], err = a.job(c.Context(), &published.Jobs[i], count); err != nil {
				return err
			}
		}
		if a.Screen.JSON {
			return a.Screen.Data(map[string]any{"jobs": jobs})
		}
		if len(jobs) == 0 {
			a.Screen.Say("no cron jobs are published")
			return nil
		}
		a.listJobs(jobs)
		return nil
	}
	return c
}

// published is the configuration that the functions go by.
func (a commands) published(ctx context.Context) (*config.Config, error) {
	st, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	files, revision, err := st.Config(ctx)
	if err != nil {
		return nil, err
	}
	c, err := config.Parse(files)
	if err != nil {
		return nil, app.Fail(fmt.Errorf("the published configuration, revision %d: %w", revision, err), "correct it, then run kesoku config push")
	}
	return c, nil
}

func (a commands) job(ctx context.Context, j *config.Job, count int) (job, error) {
	out := job{Name: j.Name, Schedule: j.Schedule, TimeZone: j.TimeZone, Route: j.RouteID()}
	out.Next = j.Next(a.Clock.Now(), count)
	last, ok := j.Due(a.Clock.Now())
	if !ok {
		return out, nil
	}
	out.LastDue = &last.Due
	db, err := a.Records(ctx)
	if err != nil {
		return out, err
	}
	out.Fired, err = db.Fired(ctx, last.ID)
	return out, err
}

func (a commands) listJobs(jobs []job) {
	var rows [][]string
	for _, j := range jobs {
		last := "not within a day"
		if j.LastDue != nil {
			last = j.LastDue.UTC().Format("01-02 15:04")
			if j.Fired {
				last += ", fired"
			} else {
				last += ", not fired"
			}
		}
		next := []string{"never"}
		for i, at := range j.Next {
			next = append(next[:i], at.Format("Mon 01-02 15:04 MST"))
		}
		rows = append(rows, []string{j.Name, j.Schedule, next[0], last, screen.OneLine(j.Route)})
		for _, more := range next[1:] {
			rows = append(rows, []string{"", "", more, "", ""})
		}
	}
	a.Screen.Table([]string{"JOB", "SCHEDULE", "NEXT", "LAST DUE (UTC)", "ROUTE"}, rows)
}

func (a commands) cronFire() *cobra.Command {
	return &cobra.Command{
		Use: "fire <job>", Short: "Fire a cron job for the time at which it was due last", Args: app.Between(1, 1, "one job's name"),
		Long: `Publishes to the topic cron, as Cloud Scheduler does. A firing belongs to the last time at which the job was due, and is
stored once: if that time has fired, nothing happens. A job that was not due within the past day is refused.`,
		Example: "  kesoku cron fire monday-plan",
		RunE: func(c *cobra.Command, args []string) error {
			published, err := a.published(c.Context())
			if err != nil {
				return err
			}
			j, ok := published.Job(args[0])
			if !ok {
				return app.Fail(fmt.Errorf("no job %q is published", args[0]), "see kesoku cron list; publish a new one by kesoku config push")
			}
			firing, ok := j.Triggered(a.Clock.Now())
			if !ok {
				return app.Fail(fmt.Errorf("job %s was not due within the past day, so the function would refuse it", j.Name), "wait for its time, or change its schedule")
			}
			db, err := a.Records(c.Context())
			if err != nil {
				return err
			}
			fired, err := db.Fired(c.Context(), firing.ID)
			if err != nil {
				return err
			}
			if fired {
				return app.Fail(fmt.Errorf("job %s has fired for %s", j.Name, firing.Due.Format("2006-01-02 15:04 MST")), "nothing is to be done; each time fires once")
			}
			return a.fire(c.Context(), j.Name, firing.Due)
		},
	}
}

func (a commands) fire(ctx context.Context, name string, at time.Time) error {
	if err := a.Publish(ctx, bus.TopicCron, bus.Cron{Job: name}); err != nil {
		return err
	}
	if a.Screen.JSON {
		return a.Screen.Data(map[string]any{"published": bus.TopicCron, "job": name, "due": at})
	}
	a.Screen.Say("%s %s is fired for %s", a.Screen.Paint(screen.Green, "✓"), name, at.Format("2006-01-02 15:04 MST"))
	return nil
}
