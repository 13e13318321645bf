// Package outgoing is what people read of a conversation: it takes a text through the waterfall (see package compose) with the hooks and the censor
// in their places, and writes the steps of a card. What the route says holds as it is configured at that moment, not as it was when the turn began.
// It knows settings and texts; it must not know leases, the outbox or how anything is sent.
package outgoing

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"kesoku.dev/shared/censor"
	"kesoku.dev/shared/censor/gate"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/hooks"
	"kesoku.dev/shared/render"
	"kesoku.dev/shared/render/compose"
)

// Configuration is what operators have written.
type Configuration interface {
	Active(ctx context.Context) (*config.Config, error)
}

// Parts is what a View works with. Nothing may be nil.
type Parts struct {
	Config   Configuration
	Gate     *gate.Gate
	Hooks    *hooks.Hooks
	Registry *compose.Registry
	Dialect  render.Dialect
}

// View is what one session's route is shown. It serves one handler at a time.
type View struct {
	Parts
	facts  config.Facts
	censor config.Censor
	render config.Render
	judged map[string]string // texts of steps, since a card is written many times
}

// NewView returns the view of a route; Follow must come before anything else.
func NewView(p Parts, route config.Facts) *View {
	return &View{Parts: p, facts: route, judged: map[string]string{}}
}

// Follow takes up the settings that hold now. Without any, nothing may be shown: the error is retryable.
func (v *View) Follow(ctx context.Context) error {
	c, err := v.Config.Active(ctx)
	if err != nil {
		return fmt.Errorf("settings of %s:%s: %w", v.facts.Platform, v.facts.Channel, err)
	}
	s := c.Resolve(v.facts)
	v.censor, v.render = s.Censor, s.Render
	return nil
}

// errNothing says that there is nothing to be shown.
var errNothing = errs.Permanentf("the text is blank")

// Text takes a text down to what the platform is sent, short of cutting it. It is stopped by censor.ErrBlocked, also where rewriting left nothing of
// it. Any other error is a hook's or a matcher's that gave no verdict, or says that the text is blank.
func (v *View) Text(ctx context.Context, f hooks.Fragment, about compose.Scene) (string, error) {
	f, err := v.Hooks.BeforeSend(ctx, f)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(f.Text) == "" {
		return "", errNothing
	}
	if v.render.Quote && f.Kind == hooks.KindReply && render.Parsable(f.Text) && !strings.Contains(f.Text, "<"+compose.ElementQuote) {
		f.Text = "<" + compose.ElementQuote + "/>\n\n" + f.Text
	}
	var readings []string
	if len(v.censor.BlockWords)+len(v.censor.FlagWords) > 0 {
		readings = append(readings, v.Registry.Bare(f.Text)) // else a word would pass with markup inside it
	}
	res, err := v.Gate.Check(ctx, v.censor, censor.Outbound, v.Registry.Print(f.Text, v.Dialect, about), readings...)
	if err != nil {
		return "", err
	}
	if res.Blocked || strings.TrimSpace(res.Text) == "" {
		return "", fmt.Errorf("message %s: %w", f.MessageID, censor.ErrBlocked)
	}
	return v.Dialect.Guard(res.Text), nil // what rewriting leaves may be what the dialect had escaped
}

// Fixed writes a text of our own: no hook rewrites it and no censor stops it.
func (v *View) Fixed(text string) string { return v.Dialect.Render(text) }

// Blocked reports whether an error of Text means that the censor stopped it.
func Blocked(err error) bool { return errors.Is(err, censor.ErrBlocked) }
