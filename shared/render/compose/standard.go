package compose

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/render"
)

// Names of the standard elements and actions.
const (
	ElementAt    = "at"
	ElementQuote = "quote"
	// ActionStop is the button that stops a turn; its params are session and turn.
	ActionStop = "stop"
)

// Guide tells a model which elements it may write; it belongs into the instructions of a turn.
const Guide = `Beside Markdown you may write these elements, each as one tag in plain text and never in code:
<at id="users/123"/> mentions a person by their id.
<quote/> quotes the message you answer; <quote id="..."/> another one by its id.
<img src="https://..." alt="what it shows"/> shows media by address; also audio, video and file.
Use an element only where it helps. Use only ids and addresses that you were given.`

// GoogleChat returns the registry of Google Chat: mentions, quotes, media as links, the Stop button.
func GoogleChat() *Registry { return standard().Render(ElementAt, googleAt) }

// Plain returns the registry of a platform that shows text as it comes: a mention is "@" and the id.
func Plain() *Registry { return standard().Render(ElementAt, plainAt) }

func standard() *Registry {
	r := NewRegistry().Expand(ElementQuote, quote).Action(ActionStop, func(t locale.Texts, params map[string]string) render.Button {
		return render.Button{Label: t.Stop(), Action: ActionStop, Params: params}
	})
	for _, name := range []string{"img", "audio", "video", "file"} {
		r.Expand(name, media)
	}
	return r
}

// googleUser is the form of a user that may be mentioned. users/all would ring everybody.
var googleUser = regexp.MustCompile(`^users/[A-Za-z0-9._@-]{1,100}$`)

// googleAt writes a mention: https://developers.google.com/workspace/chat/format-messages#messages-@mention.
func googleAt(e Element, _ Scene) (string, bool) {
	id := e.Attrs["id"]
	if !googleUser.MatchString(id) || strings.EqualFold(id, "users/all") {
		return "", false
	}
	return "<" + id + ">", true
}

var plainUser = regexp.MustCompile(`^[\pL\pN._@/-]{1,100}$`)

func plainAt(e Element, _ Scene) (string, bool) {
	id := cmp.Or(e.Attrs["name"], e.Attrs["id"])
	if !plainUser.MatchString(id) {
		return "", false
	}
	return "@" + strings.TrimPrefix(id, "users/"), true
}

// maxQuote bounds what is quoted, in runes: enough to know what is meant.
const maxQuote = 120

// quote writes a message as a quote of one line. One that cannot be found is dropped: an id is no text for people.
func quote(e Element, about Scene) (string, bool) {
	if about.Quoted == nil {
		return "", true
	}
	q, found := about.Quoted(e.Attrs["id"])
	line := oneLine(q.Text, maxQuote)
	if !found || line == "" {
		return "", true
	}
	if name := oneLine(q.Sender, maxQuote/2); name != "" {
		return "> **" + literal(name) + "**: " + literal(line), true
	}
	return "> " + literal(line), true
}

// media writes a link, under its description. Only addresses of the web are linked to.
func media(e Element, _ Scene) (string, bool) {
	u, err := url.Parse(e.Attrs["src"])
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil {
		return "", false
	}
	label := oneLine(cmp.Or(e.Attrs["alt"], e.Attrs["title"], e.Attrs["name"]), maxQuote)
	if label == "" {
		label = u.Host
	}
	return "[" + literal(label) + "](<" + strings.NewReplacer("<", "%3C", ">", "%3E", `\`, "%5C").Replace(u.String()) + ">)", true
}

// literal writes a text so that CommonMark takes it for nothing but text.
func literal(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// oneLine is a text in one line of at most so many runes.
func oneLine(s string, runes int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) <= runes {
		return string(r)
	}
	return strings.TrimRightFunc(string(r[:runes-1]), unicode.IsSpace) + "…"
}
