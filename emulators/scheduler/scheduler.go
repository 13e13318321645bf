// Package scheduler stands in for Cloud Scheduler: it publishes to a topic whenever a job's cron schedule is due. Like the real one it
// promises at least once.
package scheduler

import (
	"context"
	"fmt"
	"log/slog"

	"cloud.google.com/go/pubsub/v2"
	"github.com/robfig/cron/v3"
)

// Job is one scheduled publication.
type Job struct {
	Name     string
	Schedule string // five fields
	TimeZone string // IANA; empty means UTC
	Topic    string
	Data     []byte
}

// Run publishes for the jobs until ctx ends.
func Run(ctx context.Context, client *pubsub.Client, jobs []Job, log *slog.Logger) error {
	c := cron.New()
	publishers := map[string]*pubsub.Publisher{}
	for _, j := range jobs {
		if publishers[j.Topic] == nil {
			publishers[j.Topic] = client.Publisher(j.Topic)
		}
		zone := j.TimeZone
		if zone == "" {
			zone = "UTC"
		}
		_, err := c.AddFunc("CRON_TZ="+zone+" "+j.Schedule, func() {
			result := publishers[j.Topic].Publish(ctx, &pubsub.Message{Data: j.Data})
			if _, err := result.Get(ctx); err != nil && ctx.Err() == nil {
				log.ErrorContext(ctx, "scheduled publication failed", "job", j.Name, "error", err)
			}
		})
		if err != nil {
			return fmt.Errorf("schedule job %s: %w", j.Name, err)
		}
	}
	c.Start()
	<-ctx.Done()
	<-c.Stop().Done()
	for _, p := range publishers {
		p.Stop()
	}
	return nil
}

// Publish publishes for one job at once, as "force run" does.
func Publish(ctx context.Context, client *pubsub.Client, j Job) error {
	p := client.Publisher(j.Topic)
	defer p.Stop()
	if _, err := p.Publish(ctx, &pubsub.Message{Data: j.Data}).Get(ctx); err != nil {
		return fmt.Errorf("publish for job %s: %w", j.Name, err)
	}
	return nil
}
