// Package cron is the function that puts the prompts of cron jobs into their conversations: Cloud Scheduler publishes to the topic cron, at
// least once.
package cron

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/GoogleCloudPlatform/functions-framework-go/functions"
	cloudevents "github.com/cloudevents/sdk-go/v2"

	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store"
)

func init() { functions.CloudEvent("cron", boot.Event("cron", New)) }

// keepFirings is how long a firing is kept against repeated triggers.
const keepFirings = 7 * 24 * time.Hour

// New wires the function.
func New(_ context.Context, b *boot.Base, _ *boot.Vars) (func(context.Context, cloudevents.Event) error, error) {
	c := &cron{b}
	return bus.Handle(b.Log, b.Store, c.handle), nil
}

type cron struct{ *boot.Base }

// handle stores the job's prompt once for the time at which it was due (M5.2, C2) and wakes the session, however often it is called.
func (c *cron) handle(ctx context.Context, wake bus.Cron, d bus.Delivery) error {
	active, err := c.Config.Active(ctx)
	if err != nil {
		return err
	}
	job, ok := active.Job(wake.Job)
	if !ok {
		return errs.Permanentf("cron job %q is not in the published configuration", wake.Job)
	}
	firing, ok := job.Triggered(d.PublishedAt)
	if !ok {
		return errs.Permanentf("cron job %q was not due in the day before %s", wake.Job, d.PublishedAt)
	}
	sessionID, err := c.fire(ctx, active.Resolve(config.Facts{Platform: job.ChatbotID, Channel: job.ChannelID}).Route, job, firing)
	if err != nil {
		return err
	}
	return c.Bus.Publish(ctx, bus.TopicTurns, bus.Wake{Session: sessionID})
}

// errFired says that this firing is stored already.
var errFired = errors.New("fired already")

// fire stores the firing and its prompt in one swap, and returns the session to wake. A firing that is there already changes nothing.
func (c *cron) fire(ctx context.Context, route config.Route, job config.Job, firing config.Firing) (string, error) {
	event := chat.Event{Platform: job.ChatbotID, ChannelID: job.ChannelID, Kind: chat.KindMessage}
	key := route.Binding().ConversationKey(&event)
	now := c.Clock.Now()
	ledger := c.Store.Conversation(key, func() session.Session {
		return session.New(c.NewID(), key, job.RouteID(), job.ChatbotID, job.ChannelID, false, now)
	})
	s, err := ledger.Load(ctx)
	if err != nil {
		return "", err
	}
	record := store.Firing{ID: firing.ID, Job: job.Name, DueAt: firing.Due, SessionID: s.ID, FiredAt: now, ExpireAt: now.Add(keepFirings)}
	_, err = ledger.Fire(ctx, record, func(d *session.Draft) error {
		if d.ID != s.ID {
			return errs.Retryable(fmt.Errorf("cron job %q: its conversation has another session now", job.Name), 0)
		}
		return c.prompt(d, route, job, firing.ID, now)
	})
	switch {
	case errors.Is(err, errFired), errors.Is(err, errs.ErrConflict):
		// Its prompt may sit in an older session that /clear left behind; the sweep wakes that one if need be.
		c.Log.InfoContext(ctx, "fired already", "job", job.Name, "due", firing.Due)
		return s.ID, nil
	case err != nil:
		return "", err
	}
	c.Log.InfoContext(ctx, "fired", "job", job.Name, "due", firing.Due, "session", s.ID)
	return s.ID, nil
}

func (c *cron) prompt(d *session.Draft, route config.Route, job config.Job, firing string, now time.Time) error {
	switch d.Receive(session.Ref{Key: firing, When: session.WhenNext, At: now}, route.MaxPendingPerRoute) {
	case session.ReceiptDuplicate:
		return errFired
	case session.ReceiptFull:
		return errs.Retryable(fmt.Errorf("cron job %q: too many prompts wait in its channel", job.Name), 0)
	case session.ReceiptAccepted:
	}
	d.Settings = route.SessionSettings("")
	m := message.Author{ChatbotID: d.ChatbotID, ChannelID: d.ChannelID, Now: now}.CronPrompt(job.Prompt)
	m.Seq = d.Seq
	d.Create(m)
	return nil
}
