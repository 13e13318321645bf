package render

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// GoogleChat renders Markdown in Google Chat's own markup (MARKUP_SYNTAX_CHAT): *bold*, _italic_, ~strike~, `code`, blocks, bullets
// four spaces a level, <url|label>. Headings become bold lines and tables aligned blocks of code. That markup knows no escape; see escapeChat.
type GoogleChat struct{}

var _ Dialect = GoogleChat{}

// Render implements Dialect.
func (GoogleChat) Render(markdown string) string {
	return markup{
		strong: "*", emph: "_", strike: "~", code: "`", fence: "```", bullet: "- ", indent: "    ",
		table: aligned, link: chatLink, escape: escapeChat, verbatim: chatCode,
	}.render(markdown)
}

// everybody is a mention that nothing here writes. It matches somebody like users/all.star too, whom a part costs their ring and no more.
var everybody = regexp.MustCompile(`(?i)<(users/all\b)`)

// Guard implements Dialect.
func (GoogleChat) Guard(markup string) string {
	return everybody.ReplaceAllString(markup, "<"+apart+"$1")
}

// entity is what Google Chat takes for a mention or a link when it stands in plain text: <users/all> would ring everybody.
var entity = regexp.MustCompile(`<([A-Za-z][A-Za-z0-9+.-]*[:/])`)

// apart parts an entity without a visible trace.
const apart = "\u200B"

// lookalikes stand for characters that would pair up into markup. There is no escape, and a zero-width space beside a mark does not
// reliably stop it, so only another character will do; it is used for the pair's first one alone, and only where there is a pair.
var lookalikes = map[rune]string{'*': "\u2217", '_': "\u02CD", '~': "\u223C", '`': "\u02CB"}

// escapeChat keeps literal text literal: "2 * 3" and snake_case stay as they are, for marks count only at the edge of a word.
func escapeChat(text string, literal []bool) string {
	var out strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		closing := lastClosing(line)
		prev := '\n'
		for i, r := range line {
			look, marks := lookalikes[r]
			switch {
			case !literal[i]:
				out.WriteRune(r)
			case marks && i < closing[r] && opens(r, prev, after(line, i, r)):
				out.WriteString(look)
			case r == '<' && entity.MatchString(line[i:min(len(line), i+maxScheme)]):
				out.WriteString("<" + apart)
			default:
				out.WriteRune(r)
			}
			prev = r
		}
		literal = literal[len(line):]
	}
	return out.String()
}

// maxScheme is longer than any scheme that entity need see.
const maxScheme = 32

// opens tells whether a mark between prev and next may start a span. A backtick may anywhere.
func opens(mark, prev, next rune) bool {
	return mark == '`' || (!inWord(prev) && !unicode.IsSpace(next))
}

// lastClosing is where in the line each mark stands last that may end a span.
func lastClosing(line string) map[rune]int {
	last := map[rune]int{}
	prev := '\n'
	for i, r := range line {
		if _, marks := lookalikes[r]; marks && (r == '`' || (!unicode.IsSpace(prev) && !inWord(after(line, i, r)))) {
			last[r] = i
		}
		prev = r
	}
	return last
}

// after is the rune behind the r at i, a line break at the end of the line.
func after(line string, i int, r rune) rune {
	for _, next := range line[i+utf8.RuneLen(r):] {
		return next
	}
	return '\n'
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// chatCode keeps code as it is, but for a mention, which is looked for even there, and for three backticks, which end a block.
func chatCode(code string) string {
	code = strings.ReplaceAll(code, "```", "``"+apart+"`")
	return strings.ReplaceAll(code, "<users/", "<"+apart+"users/")
}

// chatLink writes the links that Google Chat follows; of others the address is shown.
func chatLink(dest, label string) string {
	label = strings.Join(strings.Fields(strings.NewReplacer("<", "‹", ">", "›", "|", "¦").Replace(label)), " ")
	u, err := url.Parse(dest)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto") {
		shown := plainLink(dest, label)
		return escapeChat(shown, slices.Repeat([]bool{true}, len(shown)))
	}
	dest = strings.NewReplacer("|", "%7C", ">", "%3E", "<", "%3C", " ", "%20", "\n", "").Replace(dest)
	if label == "" || label == dest || u.Scheme+"://"+label == dest || "mailto:"+label == dest {
		return "<" + dest + ">"
	}
	return "<" + dest + "|" + label + ">"
}
