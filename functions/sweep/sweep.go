// Package sweep is the function that finds what was left behind and wakes it again: Cloud Scheduler publishes to the topic sweeps every
// minute. It reads only what is outstanding and overdue, never all sessions. It also keeps the subscriptions by which rooms are heard.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/GoogleCloudPlatform/functions-framework-go/functions"
	cloudevents "github.com/cloudevents/sdk-go/v2"

	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/telemetry"
)

func init() { functions.CloudEvent("sweep", boot.Event("sweep", New)) }

// perSweep bounds how many events and how many sessions one sweep takes up; the rest is the next sweep's.
const perSweep = 500

// New wires the function. Its variables: WORKSPACE_EVENTS_TOPIC, where events of listened rooms go to (projects/p/topics/t; without it no room
// is listened to); CHAT_ENDPOINT and WORKSPACE_EVENTS_ENDPOINT, the APIs' where they are not Google's.
func New(ctx context.Context, b *boot.Base, v *boot.Vars) (func(context.Context, cloudevents.Event) error, error) {
	rooms, err := newRooms(ctx, b, v)
	if err != nil {
		return nil, err
	}
	s := &sweeper{Base: b, rooms: rooms}
	return bus.Handle(b.Log, b.Store, s.handle), nil
}

type sweeper struct {
	*boot.Base
	rooms *rooms
}

// handle wakes again what is overdue; what fails with one thing does not keep it from the others.
func (s *sweeper) handle(ctx context.Context, _ bus.Sweep, _ bus.Delivery) error {
	// What it finds is other traces' work; who wakes it is worth knowing, and no more.
	ctx = telemetry.Apart(ctx)
	now := s.Clock.Now()
	events, errEvents := s.events(ctx, now)
	sessions, errSessions := s.sessions(ctx, now)
	rooms, errRooms := s.rooms.sweep(ctx)
	if err := errors.Join(errEvents, errSessions, errRooms); err != nil {
		return err
	}
	s.Log.InfoContext(ctx, "swept", "events", events, "sessions", sessions, "rooms", rooms)
	return s.Store.Swept(ctx)
}

// events wakes the pipeline for events whose own wake-up was lost.
func (s *sweeper) events(ctx context.Context, now time.Time) (int, error) {
	due, err := s.Store.DueEvents(ctx, now, perSweep)
	err = s.readable(ctx, err)
	newest := map[string]string{} // by route: whoever settles it settles what is older
	for _, e := range due {
		newest[e.RouteID] = e.Key
	}
	for route, key := range newest {
		err = errors.Join(err, s.Bus.Publish(ctx, bus.TopicInbound, bus.Inbound{Route: route, Event: key}))
	}
	return len(due), err
}

// readable logs what could not be read, which no retry mends, and keeps the rest of an error.
func (s *sweeper) readable(ctx context.Context, err error) error {
	if errs.KindOf(err) != errs.KindPermanent {
		return err
	}
	s.Log.ErrorContext(ctx, "left out of the sweep: cannot be read", "error", err)
	return nil
}

// sessions wakes turns and deliveries that should have moved by now.
func (s *sweeper) sessions(ctx context.Context, now time.Time) (int, error) {
	due, err := s.Store.DueSessions(ctx, now, perSweep)
	problems := []error{s.readable(ctx, err)}
	for i := range due {
		if err := s.wake(ctx, &due[i], now); err != nil {
			problems = append(problems, fmt.Errorf("sweep session %s: %w", due[i].ID, err))
		}
	}
	return len(due), errors.Join(problems...)
}

func (s *sweeper) wake(ctx context.Context, one *session.Session, now time.Time) error {
	var problems []error
	if one.TurnWork() && !one.TurnLease.Live(now) {
		problems = append(problems, s.requeue(ctx, one.ID), s.Bus.Publish(ctx, bus.TopicTurns, bus.Wake{Session: one.ID}))
	}
	if one.SendWork() && !one.SendLease.Live(now) {
		problems = append(problems, s.Bus.Publish(ctx, bus.TopicDeliveries, bus.Wake{Session: one.ID}))
	}
	return errors.Join(problems...)
}

// requeue puts the prompts of an orphaned turn back (L4): what is processing, older than 300 s, and whose lease has expired. A live lease
// is never taken, however old its prompts are. Of two sweeps that see the same turn exactly one puts it back.
func (s *sweeper) requeue(ctx context.Context, id string) error {
	ledger := s.Store.Session(id)
	_, err := ledger.Change(ctx, func(d *session.Draft) error {
		now := s.Clock.Now()
		d.Unchanged = true
		if d.Turn == nil || d.TurnLease.Live(now) || !d.TurnLease.Held() {
			return nil
		}
		prompts, err := ledger.Since(ctx, d.Turn.FirstSeq-1)
		if err != nil {
			return err
		}
		for _, m := range prompts {
			if m.Turn != d.Turn.Number || m.Status != message.StatusProcessing || now.Sub(m.Timestamp) <= session.OrphanAge {
				continue
			}
			if err := d.Move(&m, message.Requeue); err != nil {
				return err
			}
			d.Unchanged = false
		}
		if !d.Unchanged {
			d.Orphan()
		}
		return nil
	})
	if errors.Is(err, errs.ErrNotFound) {
		return nil
	}
	return err
}
