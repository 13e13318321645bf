package settings_test

import (
	"testing"

	"kesoku.dev/shared/config/settings"
)

// A room is listened to where the route observes or may speak without being asked, and nowhere else.
func TestListens(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*settings.Route)
		want   bool
	}{
		"defaults":   {func(*settings.Route) {}, false},
		"observes":   {func(r *settings.Route) { r.Observe.Mode = "quiet" }, true},
		"activity":   {func(r *settings.Route) { r.Activation.Use = []string{"rule", "activity"} }, true},
		"judge":      {func(r *settings.Route) { r.Activation.Use = []string{"judge"} }, true},
		"at random":  {func(r *settings.Route) { r.Activation.RandomReplyFrequency = 0.01 }, true},
		"nicknames":  {func(r *settings.Route) { r.Activation.Nicknames = []string{"kiki"} }, true},
		"turned off": {func(r *settings.Route) { r.Engine, r.Observe.Mode = "off", "quiet" }, false},
	} {
		r := settings.DefaultRoute()
		tt.change(&r)
		if got := r.Listens(); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
