package config

import "kesoku.dev/shared/config/settings"

// What routes are set by, under the names by which it is known outside.
type (
	// Route is the namespace chat.
	Route = settings.Route
	// Session ties messages to conversations.
	Session = settings.Session
	// Activation says when to answer.
	Activation = settings.Activation
	// Activity tunes the activity decider.
	Activity = settings.Activity
	// Judge tunes the judge decider.
	Judge = settings.Judge
	// Observe says what becomes of messages that wake nobody.
	Observe = settings.Observe
	// Merge says how messages become one prompt.
	Merge = settings.Merge
	// Censor is the namespace censor.
	Censor = settings.Censor
	// Replace rewrites a pattern's matches.
	Replace = settings.Replace
	// Render is the namespace render.
	Render = settings.Render
)

// Values that callers compare with.
const (
	MergeImmediate = settings.MergeImmediate
	MergeSettle    = settings.MergeSettle
	ShowFolded     = settings.ShowFolded
	ShowHidden     = settings.ShowHidden
)

// DefaultRoute is what a route has where nothing is written.
func DefaultRoute() Route { return settings.DefaultRoute() }
