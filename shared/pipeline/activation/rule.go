// Package activation holds the deciders: each looks at one message and says whether to answer it, record it or leave it. Deciders are pure
// but for the dice they are given.
package activation

import (
	"strings"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
)

// ReasonNone is the reason of a message that no rule is about: it is left to the other deciders, and to what the route observes.
const ReasonNone = "none"

// priorityAddressed is a wake by somebody who addressed the bot; a drawn lot has priority 0, so that it never beats one.
const priorityAddressed = 100

// Rule is the rule decider: nine rules, the first that matches decides.
type Rule struct {
	// Draw returns a number in [0,1): the dice of randomReplyFrequency.
	Draw func() float64
}

// Decide applies the rules in their order.
func (r Rule) Decide(e *chat.Event, a config.Activation) chat.Decision {
	verdict := func(effect chat.Effect, priority int, reason string) chat.Decision {
		return chat.Decision{Effect: effect, Priority: priority, Reason: reason, By: "rule"}
	}
	switch {
	case e.Sender.Self && a.IgnoreSelf:
		return verdict(chat.EffectIgnore, 0, "self")
	case e.Direct && !a.AllowPrivate:
		return verdict(chat.EffectIgnore, 0, "private")
	case e.Kind == chat.KindCommand:
		return verdict(chat.EffectIgnore, 0, "command")
	case e.Direct && a.PrivateChatWithoutCommand:
		return verdict(chat.EffectWake, priorityAddressed, "direct")
	case e.AtMe && a.AllowAtReply:
		return verdict(chat.EffectWake, priorityAddressed, "at")
	case e.QuoteMe && a.AllowQuoteReply:
		return verdict(chat.EffectWake, priorityAddressed, "quote")
	case Named(e.Text, a):
		return verdict(chat.EffectWake, priorityAddressed, "nickname")
	case a.RandomReplyFrequency > 0 && r.Draw() < a.RandomReplyFrequency:
		return verdict(chat.EffectWake, 0, "random")
	default:
		return verdict(chat.EffectIgnore, 0, ReasonNone)
	}
}

// Named reports whether the text begins with a nickname, or contains one where the route allows that. Case does not matter.
func Named(text string, a config.Activation) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, n := range a.Nicknames {
		n = strings.ToLower(strings.TrimSpace(n))
		if n == "" {
			continue
		}
		if strings.HasPrefix(text, n) || (a.IsNickNameWithContent && strings.Contains(text, n)) {
			return true
		}
	}
	return false
}
