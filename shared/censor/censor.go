// Package censor keeps words out of conversations, on the way in and on the way out: words that block a text, words that flag it, patterns
// that are rewritten, and matchers that code registers. It is pure: what it compiles is its rules' alone, and who acts on a hit, traces it or
// tells people is the caller's business.
//
// Words are found anywhere in a text, inside other words too, since many scripts do not part words. Two spellings are one word if Unicode's
// compatibility form (NFKC) and full case folding make them equal: STRASSE and straße, full-width and half-width forms, ligatures, letters in
// circles. All of I, i, İ and ı are one letter, so that Turkish words are found whichever language the text is in. Invisible characters
// (zero-width spaces and joiners, soft hyphens, directional marks, variation selectors, tags) are passed over. A letter with an accent is
// another letter. What is not seen through: letters of other scripts that look alike (Cyrillic а), digits for letters (l33t), blanks or
// punctuation between letters, added accents, sound-alikes. Those are a matcher's business.
//
// Patterns are Go's regular expressions, which take linear time. They see the text as it is written but for the invisible characters, in either
// case (by simple folding: ſ is s, but ß is not ss).
package censor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// CodeBlocked is what people and operators are told of a text that was stopped.
const CodeBlocked = "CENSOR_BLOCKED"

// ErrBlocked says that a text was stopped.
var ErrBlocked = errors.New(CodeBlocked)

// Direction is the way a text goes.
type Direction string

// The directions.
const (
	Inbound  Direction = "inbound"  // from people
	Outbound Direction = "outbound" // to people
)

// Action is what a hit does.
type Action string

// The actions.
const (
	ActionBlock   Action = "block"   // the text goes no further
	ActionFlag    Action = "flag"    // it passes, and somebody should look
	ActionReplace Action = "replace" // it passes rewritten
)

// Rules are a route's.
type Rules struct {
	BlockWords []string
	FlagWords  []string
	Replace    []Replace // in order, each on what the one before left
}

// Replace rewrites what the pattern matches. In the replacement $1 stands for the first group and $$ for a dollar sign.
type Replace struct{ Pattern, Replacement string }

// Span is a range of bytes, its end not included.
type Span struct{ Start, End int }

// Hit says that a rule met the text; a rule that meets it many times is one hit.
type Hit struct {
	Action Action
	Rule   string // blockWords[0], flagWords[0], replaceRules[0] or a matcher's name: never somebody's words
	Span   Span   // in the text as it was given, of the first place; invisible characters in between included. Zero if only a reading has it
}

// Result is what became of a text.
type Result struct {
	Text    string // as it may go on; empty if it was blocked
	Blocked bool
	Hits    []Hit // block and flag words, then patterns, then matchers
}

// maxText is how long a rewritten text may become, in bytes.
const maxText = 1 << 20

// Censor is a set of rules, compiled. It is safe for concurrent use.
type Censor struct {
	words    *words
	kinds    []Hit // of each word: action and rule
	patterns []pattern
	matchers []Matcher
}

type pattern struct {
	re          *regexp.Regexp
	replacement string
	rule        string
}

// New compiles the rules. Its error joins all that is wrong: a word without a visible character, a pattern that does not parse, a matcher
// without a name or function.
func New(r Rules, matchers ...Matcher) (*Censor, error) {
	c := &Censor{matchers: matchers}
	var folded []string
	var problems []error
	add := func(list []string, name string, action Action) {
		for i, word := range list {
			rule := fmt.Sprintf("%s[%d]", name, i)
			f := fold(visible(word)).text
			if f == "" {
				problems = append(problems, fmt.Errorf("%s: %.40q has no visible character", rule, word))
			}
			folded, c.kinds = append(folded, f), append(c.kinds, Hit{Action: action, Rule: rule})
		}
	}
	add(r.BlockWords, "blockWords", ActionBlock)
	add(r.FlagWords, "flagWords", ActionFlag)
	for i, p := range r.Replace {
		rule := fmt.Sprintf("replaceRules[%d]", i)
		re, err := regexp.Compile("(?i)" + visible(p.Pattern).text)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", rule, err))
		}
		c.patterns = append(c.patterns, pattern{re, p.Replacement, rule})
	}
	for i, m := range matchers {
		if m.Name == "" || m.Match == nil {
			problems = append(problems, fmt.Errorf("matcher %d has no name or no function", i))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("censor rules: %w", err)
	}
	c.words = newWords(folded)
	return c, nil
}

// Check judges the text. Nothing is rewritten and no matcher asked once a word has blocked it. An error means that there is no verdict, and the
// text must not go on: a matcher failed, or rewriting made the text longer than a megabyte. Readings are other forms of the same text; words, and
// words alone, are looked for in them too.
func (c *Censor) Check(ctx context.Context, d Direction, text string, readings ...string) (Result, error) {
	res := Result{Hits: c.wordsIn(text)}
	for _, r := range readings {
		for _, h := range c.wordsIn(r) {
			if !slices.ContainsFunc(res.Hits, func(known Hit) bool { return known.Rule == h.Rule }) {
				res.Hits = append(res.Hits, Hit{Action: h.Action, Rule: h.Rule})
			}
		}
	}
	if res.blocks() {
		return res, nil
	}
	m := whole(text)
	for _, p := range c.patterns {
		next, first, met, err := p.apply(m)
		if err != nil {
			return Result{}, err
		}
		if met {
			m = next
			res.Hits = append(res.Hits, Hit{ActionReplace, p.rule, first})
		}
	}
	for _, matcher := range c.matchers {
		next, hits, err := matcher.apply(ctx, d, m)
		if err != nil {
			return Result{}, err
		}
		m = next
		res.Hits = append(res.Hits, hits...)
		if res.blocks() {
			return res, nil
		}
	}
	res.Text = m.text
	return res, nil
}

// blocks notes whether one of the hits blocks.
func (r *Result) blocks() bool {
	for _, h := range r.Hits {
		r.Blocked = r.Blocked || h.Action == ActionBlock
	}
	return r.Blocked
}

// wordsIn returns the words in the text, each once.
func (c *Censor) wordsIn(text string) []Hit {
	if len(c.kinds) == 0 {
		return nil
	}
	shown := visible(text)
	folded := fold(shown)
	places := c.words.first(folded.text, func(end int) bool { return !marked(folded.text[end:]) })
	var hits []Hit
	for word, at := range places {
		if at.End == 0 {
			continue
		}
		hit := c.kinds[word]
		hit.Span = shown.span(folded.span(at))
		hits = append(hits, hit)
	}
	return hits
}

// apply rewrites all matches, and returns where in the given text the first one stood. A match of nothing at all is none.
func (p pattern) apply(m mapped) (next mapped, first Span, met bool, err error) {
	shown := visible(m.text)
	var edits []edit
	for _, at := range p.re.FindAllStringSubmatchIndex(shown.text, -1) {
		if at[0] == at[1] {
			continue
		}
		with := p.re.ExpandString(nil, p.replacement, shown.text, at)
		edits = append(edits, edit{shown.span(Span{at[0], at[1]}), string(with)})
	}
	if len(edits) == 0 {
		return m, Span{}, false, nil
	}
	next, err = m.replace(edits)
	if err != nil {
		return mapped{}, Span{}, false, fmt.Errorf("%s: %w", p.rule, err)
	}
	return next, m.span(edits[0].at), true, nil
}
