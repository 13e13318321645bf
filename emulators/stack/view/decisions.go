package view

import (
	"context"
	"iter"
	"slices"
	"time"

	"kesoku.dev/emulators/page"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/pipeline"
)

const (
	// platform is whose look-alike the page is.
	platform = "googlechat"
	// decidedEvery is how often a channel's events are looked at while somebody watches: one query.
	decidedEvery = 300 * time.Millisecond
	// decided is how many events of a channel the page shows, and cut to how many runes of each text.
	decided = 100
	cut     = 300
)

// stamp tells whether the page has to be told of an event again.
type stamp struct {
	key             string
	written, closes int64 // UnixNano
}

// Decisions implements page.Records.
func (r Records) Decisions(ctx context.Context, channelID string) iter.Seq2[[]page.Decision, error] {
	return func(yield func([]page.Decision, error) bool) {
		w, shown := windows{store: r.Store}, []stamp(nil)
		tick := time.NewTicker(decidedEvery)
		defer tick.Stop()
		for first := true; ctx.Err() == nil; {
			list, stamps, err := r.look(ctx, channelID, &w)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				if !yield(nil, err) {
					return
				}
			case first || !slices.Equal(stamps, shown):
				if !yield(list, nil) {
					return
				}
				first, shown = false, stamps
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}
}

// look reads the last events of a channel.
func (r Records) look(ctx context.Context, channelID string, w *windows) ([]page.Decision, []stamp, error) {
	at := chat.Event{Platform: platform, ChannelID: channelID}
	all, err := r.Store.RecentEvents(ctx, at.RouteID(), time.Now().AddDate(1, 0, 0), decided)
	if err != nil {
		return nil, nil, err
	}
	closes, err := w.of(ctx, all)
	if err != nil {
		return nil, nil, err
	}
	list, stamps := make([]page.Decision, len(all)), make([]stamp, len(all))
	for i := range all {
		e := &all[i]
		list[i] = page.Decision{Record: e.Record, Closes: closes[e.Key]}
		if text := []rune(e.Text); len(text) > cut {
			list[i].Text = string(text[:cut]) + "…"
		}
		list[i].Attachments = nil
		stamps[i] = stamp{e.Key, e.Revision.UnixNano(), closes[e.Key].UnixNano()}
	}
	return list, stamps, nil
}

// windows tells until when pending events wait, by the configuration that is published.
type windows struct {
	store    config.Files
	active   *config.Config
	revision int64
}

func (w *windows) of(ctx context.Context, events []chat.Stored) (map[string]time.Time, error) {
	pending := slices.DeleteFunc(slices.Clone(events), func(e chat.Stored) bool { return !e.Pending })
	if len(pending) == 0 {
		return nil, nil
	}
	files, revision, err := w.store.Config(ctx)
	if err != nil {
		return nil, err
	}
	if w.active == nil || w.revision != revision {
		active, err := config.Parse(files)
		if err != nil {
			return nil, err
		}
		w.active, w.revision = active, revision
	}
	return pipeline.Closes(w.active, pending), nil
}
