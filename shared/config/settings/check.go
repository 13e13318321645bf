package settings

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"kesoku.dev/shared/censor"
	"kesoku.dev/shared/chat"
)

// Bounds of lists and texts.
const (
	maxWords   = 1000 // of one list
	maxWord    = 200  // bytes
	maxReplace = 100  // rules that replace
	maxPattern = 1000 // bytes, of a pattern or its replacement
)

// Known is what values may refer to.
type Known struct {
	Role  func(name string) bool  // of people's making: is there a persona of this name?
	Model func(name string) error // nil if name is provider:model, or @ and a role of models that there is
}

// Check calls wrong for every value that is not allowed by itself, with the setting's dot path and what is allowed. How settings go together is
// Settle's business.
func (s *Settings) Check(known Known, wrong func(path, says string)) {
	k := &checker{known, wrong}
	k.chat(&s.Chat)
	k.censor(&s.Censor)
	k.oneOf("render.thoughts", s.Render.Thoughts, ShowFolded, ShowHidden)
	k.oneOf("render.tools", s.Render.Tools, ShowFolded, ShowHidden)
}

type checker struct {
	known Known
	tell  func(path, says string)
}

func (k *checker) wrong(path, format string, args ...any) { k.tell(path, fmt.Sprintf(format, args...)) }

func (k *checker) oneOf(path, got string, allowed ...string) {
	if !slices.Contains(allowed, got) {
		k.wrong(path, "%.60q is not allowed, write one of %s", got, strings.Join(allowed, ", "))
	}
}

func (k *checker) probability(path string, f float64) {
	if math.IsNaN(f) || f < 0 || f > 1 {
		k.wrong(path, "%v is no probability, write 0 to 1", f)
	}
}

// count checks a number with its unit, such as " milliseconds".
func count[N ~int | ~int64](k *checker, path string, n, low, high N, unit string) {
	if n < low || n > high {
		k.wrong(path, "%d is not allowed, write %d to %d%s", n, low, high, unit)
	}
}

// words checks a list of words: none is blank, since a blank one is in every text.
func (k *checker) words(path string, all []string) {
	if len(all) > maxWords {
		k.wrong(path, "%d are too many, at most %d are allowed", len(all), maxWords)
		return
	}
	for i, w := range all {
		at := fmt.Sprintf("%s[%d]", path, i)
		if strings.TrimSpace(w) == "" || len(w) > maxWord {
			k.wrong(at, "%.60q: write 1 to %d bytes that are not blank", w, maxWord)
		} else if slices.Contains(all[:i], w) {
			k.wrong(at, "%.60q is there twice", w)
		}
	}
}

func (k *checker) chat(r *Route) {
	k.oneOf("chat.engine", r.Engine, "agent", "off")
	k.model("chat.model", r.Model)
	if r.Role != "" && r.Role != DefaultRole && !k.known.Role(r.Role) {
		k.wrong("chat.role", "there is no roles/%.60s/intro.md", r.Role)
	}
	k.words("chat.tools", r.Tools)
	k.oneOf("chat.locale", r.Locale, "zh", "en")
	k.session(&r.Session)
	k.activation(&r.Activation)
	k.oneOf("chat.observe.mode", r.Observe.Mode, "off", "quiet")
	count(k, "chat.observe.backfill.limit", r.Observe.Backfill.Limit, 0, 200, " messages")
	k.oneOf("chat.observe.midTurn", string(r.Observe.MidTurn), "step", "turn")
	k.oneOf("chat.observe.store", r.Observe.Store, "message")
	count(k, "chat.observe.media.perMessage", r.Observe.Media.PerMessage, 0, 50, "")
	count(k, "chat.observe.media.attach", r.Observe.Media.Attach, 0, 50, "")
	k.oneOf("chat.merge.mode", r.Merge.Mode, MergeImmediate, MergeSettle)
	k.oneOf("chat.merge.directMode", cmp.Or(r.Merge.DirectMode, r.Merge.Mode), MergeImmediate, MergeSettle)
	count(k, "chat.merge.quiet", r.Merge.Quiet, 1, 60_000, " milliseconds")
	count(k, "chat.merge.max", r.Merge.Max, 1, 120_000, " milliseconds")
	count(k, "chat.maxPendingPerRoute", r.MaxPendingPerRoute, 1, 64, "")
}

var (
	// lane is part of a conversation's key, in which a colon divides.
	lane = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	// placeholder is what chat.Binding replaces in a custom key, or looks like it.
	placeholder = regexp.MustCompile(`\{[^{}]*\}`)
)

func (k *checker) session(s *Session) {
	k.oneOf("chat.session.ownership", string(s.Ownership), "shared", "personal", "custom")
	if !lane.MatchString(s.Lane) {
		k.wrong("chat.session.lane", "%.60q is not allowed, write 1 to 64 letters, digits, ., _ and -", s.Lane)
	}
	if len(s.CustomKey) > maxWord {
		k.wrong("chat.session.customKey", "at most %d bytes are allowed", maxWord)
	}
	known := []string{"{platform}", "{channel}", "{thread}", "{user}"}
	if s.CustomKey != "" && !strings.Contains(s.CustomKey, "{channel}") {
		k.wrong("chat.session.customKey", "write {channel} into it: a conversation's replies go to one channel, so no two may share it")
	}
	for _, p := range placeholder.FindAllString(s.CustomKey, -1) {
		if !slices.Contains(known, p) {
			k.wrong("chat.session.customKey", "%.60q is not replaced by anything, write one of %s", p, strings.Join(known, ", "))
		}
	}
}

func (k *checker) activation(a *Activation) {
	k.words("chat.activation.use", a.Use)
	for i, d := range a.Use {
		k.oneOf(fmt.Sprintf("chat.activation.use[%d]", i), d, "rule", "activity", "judge")
	}
	k.words("chat.activation.nicknames", a.Nicknames)
	k.probability("chat.activation.randomReplyFrequency", a.RandomReplyFrequency)
	const day = 24 * time.Hour
	count(k, "chat.activation.msgCooldown", a.MsgCooldown, 0, int(day.Seconds()), " seconds")
	k.probability("chat.activation.activity.frequency", a.Activity.Frequency)
	k.probability("chat.activation.activity.threshold", a.Activity.Threshold)
	k.words("chat.activation.activity.interests", a.Activity.Interests)
	if a.Judge.Model != DefaultRoute().Activation.Judge.Model { // what is not written is needed only by a judge that is asked: see settle
		k.model("chat.activation.judge.model", a.Judge.Model)
	}
	k.probability("chat.activation.judge.minUrge", a.Judge.MinUrge)
	count(k, "chat.activation.judge.minInterval", a.Judge.MinInterval, 0, Millis(day.Milliseconds()), " milliseconds")
	count(k, "chat.activation.judge.window", a.Judge.Window, 1, 100, " messages")
	count(k, "chat.activation.judge.dailyBudget", a.Judge.DailyBudget, 0, 100_000, " questions")
	count(k, "chat.activation.judge.concurrency", a.Judge.Concurrency, 1, 64, "")
}

func (k *checker) model(path, name string) {
	if err := k.known.Model(name); err != nil {
		k.wrong(path, "%v", err)
	}
}

func (k *checker) censor(c *Censor) {
	k.censored("censor.blockWords", c.BlockWords)
	k.censored("censor.flagWords", c.FlagWords)
	if len(c.ReplaceRules) > maxReplace {
		k.wrong("censor.replaceRules", "%d are too many, at most %d are allowed", len(c.ReplaceRules), maxReplace)
		return
	}
	for i, r := range c.ReplaceRules {
		at := fmt.Sprintf("censor.replaceRules[%d].", i)
		if len(r.Pattern) > maxPattern || len(r.Replacement) > maxPattern {
			k.wrong(at+"pattern", "pattern and replacement may have %d bytes each", maxPattern)
			continue
		}
		_, err := censor.New(censor.Rules{Replace: []censor.Replace{{Pattern: r.Pattern, Replacement: r.Replacement}}})
		if err != nil {
			k.wrong(at+"pattern", "%v", err)
		} else if p, err := regexp.Compile("(?i)" + r.Pattern); err != nil || p.MatchString("") {
			k.wrong(at+"pattern", "%.60q matches where there is nothing, write one that needs a character", r.Pattern)
		}
	}
}

// censored checks words that the censor looks for: each must have something to see.
func (k *checker) censored(path string, words []string) {
	k.words(path, words)
	for i, w := range words {
		if _, err := censor.New(censor.Rules{BlockWords: []string{w}}); err != nil && strings.TrimSpace(w) != "" {
			k.wrong(fmt.Sprintf("%s[%d]", path, i), "%.40q has no visible character", w)
		}
	}
}

// Clash is what no single setting shows: settings that do not go together.
type Clash struct {
	Path    string // of the setting that is best changed
	Says    string // what does not go together
	Instead string // what Settle has put in its place
}

// Settle replaces what does not go together by what does the least harm, and tells of it. The function is Known's.
func (r *Route) Settle(model func(name string) error) (all []Clash) {
	if r.Session.Ownership == chat.OwnershipCustom && r.Session.CustomKey == "" {
		r.Session.Ownership = chat.OwnershipPersonal // the narrowest: nobody reads another's conversation
		all = append(all, Clash{"chat.session.customKey", "ownership custom needs one", "ownership personal holds instead"})
	}
	if r.Merge.Quiet > r.Merge.Max {
		all = append(all, Clash{"chat.merge.quiet", fmt.Sprintf("%d is more than merge.max, %d", r.Merge.Quiet, r.Merge.Max), "merge.max holds for both"})
		r.Merge.Quiet = r.Merge.Max
	}
	if err := model(r.Activation.Judge.Model); err != nil && slices.Contains(r.Activation.Use, "judge") {
		r.Activation.Use = slices.DeleteFunc(slices.Clone(r.Activation.Use), func(d string) bool { return d == "judge" })
		all = append(all, Clash{"chat.activation.judge.model", err.Error(), "the judge is not asked"})
	}
	return all
}
