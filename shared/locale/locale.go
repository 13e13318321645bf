// Package locale is what Kesoku itself says to people, in Chinese and English. It is pure: a Texts is chosen per message, and there is no
// current language. It must not know when a text is said; texts for models are none of its business, nor are logs.
package locale

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/text/language"

	"kesoku.dev/shared/message"
)

// maxTag is the longest language tag worth reading, in bytes; BCP 47 asks implementations for no more than 35.
const maxTag = 35

var matcher = language.NewMatcher([]language.Tag{language.Chinese, language.English})

// For returns the texts of the first tag that asks for Chinese or English: give the person's own locale first, then the route's. Tags are
// BCP 47, also with underscores; what is empty, malformed or another language is passed over. Without any match it is Chinese.
func For(tags ...string) Texts {
	for _, t := range tags {
		if t == "" || len(t) > maxTag {
			continue
		}
		tag, err := language.Parse(t)
		if err != nil {
			continue
		}
		switch _, i, confidence := matcher.Match(tag); {
		case confidence == language.No:
		case i == 1:
			return Texts{&en}
		default:
			return Texts{&zh}
		}
	}
	return Texts{&zh}
}

// Texts are the texts of one language. The zero value is not usable: call For.
type Texts struct{ p *phrases }

// Tag is the language's tag, "zh" or "en".
func (t Texts) Tag() string { return t.p.tag }

// Reason says to people why a turn failed. Its values are those of the faults that a model's driver tells, and a few of our own.
type Reason string

// The reasons. Any other value reads as ReasonInternal.
const (
	ReasonInternal    Reason = "internal"       // ours; the log knows more
	ReasonRateLimited Reason = "rate_limited"   // the provider's quota, after all retries
	ReasonOverloaded  Reason = "overloaded"     // the provider's 5xx, after all retries
	ReasonContext     Reason = "context"        // the conversation is too long even after compaction
	ReasonCredentials Reason = "credentials"    // the operator must act
	ReasonRequest     Reason = "request"        // the provider refuses the request
	ReasonUnsupported Reason = "unsupported"    // the model cannot do what was asked
	ReasonMalformed   Reason = "malformed_call" // the model's calls stayed unreadable
	ReasonRecoveries  Reason = "recoveries"     // the turn was taken over too often without progress
	ReasonSteps       Reason = "steps"          // the turn took more steps than a turn may
)

// CrashNotice is the notice of a failed turn (M5.12).
func (t Texts) CrashNotice(why Reason) string {
	words, ok := t.p.reasons[why]
	if !ok {
		words = t.p.reasons[ReasonInternal]
	}
	return fmt.Sprintf(t.p.crash, words)
}

// NotPassedOn tells somebody that the channel's own rules kept their message from the agent.
func (t Texts) NotPassedOn() string { return t.p.notPassedOn }

// Blocked is the polite refusal when a provider declines to answer.
func (t Texts) Blocked() string { return t.p.blocked }

// EmptyReply is the reply when a model answered nothing, even after a nudge.
func (t Texts) EmptyReply() string { return t.p.empty }

// ReplyCut ends a reply that was longer than can be kept.
func (t Texts) ReplyCut() string { return t.p.replyCut }

// Compacted tells that the history was compacted by itself (M5.11).
func (t Texts) Compacted() string { return t.p.compacted }

// StoppedBy tells that a person stopped the turn; an empty name leaves it open who.
func (t Texts) StoppedBy(name string) string {
	if name == "" {
		return t.p.stopped
	}
	return fmt.Sprintf(t.p.stoppedBy, name)
}

// UnknownModel tells, once, that the route names a model nobody provides.
func (t Texts) UnknownModel(name string) string { return fmt.Sprintf(t.p.unknownModel, name) }

// Withheld tells that the channel's own rules kept a text of ours from being sent.
func (t Texts) Withheld() string { return t.p.withheld }

// Censored stands on a card for a line that must not be shown.
func (t Texts) Censored() string { return t.p.censored }

// WelcomeRoom greets a room that the app was added to.
func (t Texts) WelcomeRoom() string { return t.p.welcomeRoom }

// WelcomeDirect greets a person who opened a direct conversation.
func (t Texts) WelcomeDirect() string { return t.p.welcomeDirect }

// Thinking titles a card before the first tool call.
func (t Texts) Thinking() string { return t.p.thinking }

// Working titles a card while tools run.
func (t Texts) Working() string { return t.p.working }

// Done titles the card of a finished turn.
func (t Texts) Done() string { return t.p.done }

// Failed titles the card of a turn that ended in an error.
func (t Texts) Failed() string { return t.p.failed }

// Stopped titles the card of a turn that was stopped or pre-empted.
func (t Texts) Stopped() string { return t.p.cardStopped }

// Fold labels a card's folded section with how many steps it holds.
func (t Texts) Fold(steps int) string { return t.p.fold.of(steps) }

// EarlierSteps stands for n steps that a card has no room for.
func (t Texts) EarlierSteps(n int) string { return t.p.earlierSteps.of(n) }

// Thought names a step in which the model only thought.
func (t Texts) Thought() string { return t.p.thought }

// Interrupted is the result shown for a tool call that never got one.
func (t Texts) Interrupted() string { return t.p.interrupted }

// ToolFailed is the result shown for a tool call that failed; the error itself is for the model.
func (t Texts) ToolFailed() string { return t.p.toolFailed }

// Stop labels the button that stops a turn.
func (t Texts) Stop() string { return t.p.stop }

// ToolsUsed sums up n tool calls.
func (t Texts) ToolsUsed(n int) string { return t.p.toolCalls.of(n) }

// Footer tells what a turn cost: time, tool calls if any, tokens, the context's size, and which turn of the session it was.
func (t Texts) Footer(m message.TurnMetrics) string {
	out := fmt.Sprintf(t.p.seconds, m.TurnTime)
	if d := time.Duration(m.TurnTime * float64(time.Second)); d >= time.Minute {
		out = fmt.Sprintf(t.p.minutes, int(d.Minutes()), int(d.Seconds())%60)
	}
	if m.TurnToolCalls > 0 {
		out += separator + t.p.toolCalls.of(m.TurnToolCalls)
	}
	return out + separator + fmt.Sprintf(t.p.tokens, short(m.TurnTokens)) +
		separator + fmt.Sprintf(t.p.context, short(m.ContextTokens)) +
		separator + fmt.Sprintf(t.p.turn, m.SessionTurns)
}

const separator = " · "

// short writes a count the way people say it: 950, 8.4k, 1.2M.
func short(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 999_950: // from here on it would round to 1000.0k
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	default:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
}

// Greets reports whether a text is the one by which we greet a room, in any language.
func Greets(text string) bool {
	for _, tag := range []string{zh.tag, en.tag} {
		if strings.TrimSpace(text) == For(tag).WelcomeRoom() {
			return true
		}
	}
	return false
}
