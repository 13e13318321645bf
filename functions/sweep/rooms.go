package sweep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/listen"
	"kesoku.dev/shared/platform/googlechat"
	"kesoku.dev/shared/platform/googlechat/subscription"
)

const (
	// roomsPerSweep bounds the spaces that one sweep looks at for each cause; roomTime is after how long it begins with no other. Each takes a few
	// calls, of a second as a rule and at most 20.
	roomsPerSweep = 30
	roomTime      = 90 * time.Second
	// listEvery is how often the platform is asked which channels the app is in. Joins are told; this is for those that were not.
	listEvery = 24 * time.Hour
)

// rooms keeps what is heard of each channel in step with the configuration.
type rooms struct {
	store  spaces
	config *config.Source
	events reconciler
	chat   channels
	clock  clock.Clock
	log    *slog.Logger

	// listed is the revision of the configuration that the channels were listed at; one sweep runs at a time.
	listed   int64
	listedAt time.Time
}

type spaces interface {
	Joined(ctx context.Context, routeID string, at time.Time) error
	UnknownSpaces(ctx context.Context, routeIDs []string) ([]string, error)
	DueSpaces(ctx context.Context, now time.Time, limit int) ([]listen.Stored, error)
	StaleSpaces(ctx context.Context, revision int64, limit int) ([]listen.Stored, error)
	SaveSpace(ctx context.Context, s listen.Stored) error
}

type reconciler interface {
	Reconcile(ctx context.Context, s *listen.Space, now time.Time) error
}

type channels interface {
	Channels(ctx context.Context) ([]string, error)
	Direct(ctx context.Context, channelID string) (bool, error)
}

// newRooms returns nil where there is no topic that events could go to.
func newRooms(ctx context.Context, b *boot.Base, v *boot.Vars) (*rooms, error) {
	topic := v.Optional("WORKSPACE_EVENTS_TOPIC", "")
	chatURL, eventsURL := v.URL("CHAT_ENDPOINT", ""), v.URL("WORKSPACE_EVENTS_ENDPOINT", "")
	if topic == "" {
		b.Log.InfoContext(ctx, "rooms are not listened to, and messages that do not mention the app never come: WORKSPACE_EVENTS_TOPIC is not set")
		return nil, nil //nolint:nilnil // said above
	}
	chat, errChat := googlechat.New(ctx, googlechat.Config{Endpoint: chatURL})
	events, errEvents := subscription.New(ctx, subscription.Config{Endpoint: eventsURL, Topic: topic})
	if err := errors.Join(errChat, errEvents); err != nil {
		return nil, err
	}
	return &rooms{store: b.Store, config: b.Config, events: events, chat: chat, clock: b.Clock, log: b.Log, listed: -1}, nil
}

// sweep looks at the spaces whose time has come, and at those that were last looked at by an older configuration. What the platform refuses or
// fails at is noted and tried again; so is what the configuration does not tell. An error is the store's.
func (r *rooms) sweep(ctx context.Context) (int, error) {
	if r == nil {
		return 0, nil
	}
	active, revision, err := r.config.Revision(ctx)
	if err != nil { // which is no reason to sweep nothing else
		r.log.WarnContext(ctx, "rooms not swept", "error", err)
		return 0, nil
	}
	errMeet := r.meet(ctx, revision) // which is no reason to renew nothing
	began := r.clock.Now()
	due, errDue := r.store.DueSpaces(ctx, began, roomsPerSweep)
	stale, errStale := r.store.StaleSpaces(ctx, revision, roomsPerSweep)
	problems := []error{errMeet, errDue, errStale}
	seen, reported := map[string]bool{}, map[string]bool{}
	for _, s := range append(due, stale...) {
		if r.clock.Now().Sub(began) > roomTime {
			break // the rest is the next sweep's
		}
		if seen[s.RouteID] {
			continue
		}
		seen[s.RouteID] = true
		route := active.Route(s.RouteID)
		before := s.Told
		err := r.follow(ctx, &s, route.Listens(), revision)
		if s.Told != "" && s.Told != before {
			r.report(ctx, &s.Space, reported[s.Told])
			reported[s.Told] = true
		}
		problems = append(problems, err)
	}
	return len(seen), errors.Join(problems...)
}

// follow brings one space in step, and keeps what came of it. If somebody changed the record meanwhile, it is due again and stays theirs.
func (r *rooms) follow(ctx context.Context, s *listen.Stored, wanted bool, revision int64) error {
	now := r.clock.Now()
	look := s.Due(now) || wanted != s.Wanted
	s.Wanted, s.ConfigRevision = wanted, revision
	if look {
		if err := r.reconcile(ctx, &s.Space, now); err != nil {
			r.log.WarnContext(ctx, "subscription not settled: comes again", "route", s.RouteID, "due", s.DueAt, "error", err)
		}
	}
	if err := r.store.SaveSpace(ctx, *s); err != nil && !errors.Is(err, errs.ErrConflict) {
		return err
	}
	return nil
}

// report tells a person why a room is not heard, and what to do. What is known already, by another room of the same sweep, is no second alarm.
func (r *rooms) report(ctx context.Context, s *listen.Space, known bool) {
	level := slog.LevelError
	if known {
		level = slog.LevelWarn
	}
	r.log.Log(ctx, level, "room not heard", "route", s.RouteID, "state", s.State, "reason", s.Told, "remedy", subscription.Remedy(s.Told))
}

// reconcile leaves direct conversations alone: every message there comes by itself.
func (r *rooms) reconcile(ctx context.Context, s *listen.Space, now time.Time) error {
	if s.Platform() != googlechat.Platform {
		s.Deaf()
		return nil
	}
	if s.Joined && s.Wanted && s.State == listen.StateNone {
		direct, err := r.chat.Direct(ctx, s.Channel())
		switch {
		case err != nil && errs.KindOf(err) == errs.KindRetryable:
			s.Retry(now.Add(max(time.Minute, errs.After(err))))
			return err
		case direct:
			s.Deaf()
			return nil
		}
	}
	return r.events.Reconcile(ctx, s, now)
}

// meet makes the acquaintance of channels whose join was never told: those that the app was in before anybody listened. It asks once an
// instance, a configuration and a day.
func (r *rooms) meet(ctx context.Context, revision int64) error {
	now := r.clock.Now()
	if r.listed == revision && now.Sub(r.listedAt) < listEvery {
		return nil
	}
	found, err := r.chat.Channels(ctx)
	if err != nil {
		r.log.WarnContext(ctx, "channels not listed: asked again with the next sweep", "error", err)
		return nil
	}
	routes := make([]string, len(found))
	for i, channel := range found {
		routes[i] = googlechat.Platform + ":" + channel
	}
	unknown, err := r.store.UnknownSpaces(ctx, routes)
	for _, route := range unknown {
		err = errors.Join(err, r.store.Joined(ctx, route, r.clock.Now()))
	}
	if err == nil {
		r.listed, r.listedAt = revision, now
	}
	return err
}
