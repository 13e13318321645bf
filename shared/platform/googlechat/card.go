package googlechat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	chatapi "google.golang.org/api/chat/v1"

	"kesoku.dev/shared/platform/googlechat/internal/names"
	"kesoku.dev/shared/render"
)

const (
	// maxMessage is Google's bound on a whole message, 32,000 bytes, less what names, options and quoting take.
	maxMessage = 30_000
	// maxSteps leaves room for the other widgets: a card has at most 100.
	maxSteps = 90

	maxTitle  = 200   // bytes of a title or of the footer
	maxDetail = 4_000 // bytes of a step's detail or result
	maxStep   = 8_000 // bytes of a step as JSON, in which a byte of text may become 14

	cardID = "turn"
)

// card is the message's one card within budget bytes of JSON: the oldest steps go first. Titles are plain text to Chat; all else is its
// subset of HTML.
func (a *Adapter) card(c *render.Card, budget int) ([]*chatapi.CardWithId, error) {
	steps := c.Steps[max(0, len(c.Steps)-maxSteps):]
	widgets := make([]*chatapi.GoogleAppsCardV1Widget, len(steps))
	for i, s := range steps {
		var err error
		if widgets[i], err = stepWidget(s); err != nil {
			return nil, err
		}
	}
	card := &chatapi.GoogleAppsCardV1Card{Header: header(c)}
	fold := &chatapi.GoogleAppsCardV1Section{Header: html.EscapeString(cut(c.Fold, maxTitle)), Collapsible: true}
	if len(widgets) > 0 {
		card.Sections = append(card.Sections, fold)
	}
	if end := a.closing(c); len(end.Widgets) > 0 {
		card.Sections = append(card.Sections, end)
	}
	cards := []*chatapi.CardWithId{{CardId: cardID, Card: card}}
	used, err := size(cards)
	if err != nil {
		return nil, err
	}
	kept, err := newest(widgets, budget-used-len(`"widgets":[],`)-maxTitle)
	if err != nil {
		return nil, err
	}
	if dropped := len(c.Steps) - kept; dropped > 0 {
		fold.Widgets = append(fold.Widgets, paragraph(earlier(c.Earlier, dropped)))
	}
	fold.Widgets = append(fold.Widgets, widgets[len(widgets)-kept:]...)
	return cards, nil
}

// newest is how many of the last widgets fit.
func newest(widgets []*chatapi.GoogleAppsCardV1Widget, budget int) (int, error) {
	kept := 0
	for ; kept < len(widgets); kept++ {
		n, err := size(widgets[len(widgets)-1-kept])
		if err != nil {
			return 0, err
		}
		if budget -= n + len(","); budget < 0 {
			break
		}
	}
	return kept, nil
}

// header shows under the title what is being done now, for the steps below are folded away.
func header(c *render.Card) *chatapi.GoogleAppsCardV1CardHeader {
	h := &chatapi.GoogleAppsCardV1CardHeader{Title: c.State.Icon() + " " + cut(c.Title, maxTitle)}
	if n := len(c.Steps); n > 0 && c.State == render.StateRunning {
		h.Subtitle = stepIcon(c.Steps[n-1]) + " " + cut(c.Steps[n-1].Title, maxTitle)
	}
	return h
}

func stepIcon(s render.Step) string {
	if s.Kind == render.StepThought {
		return "💭"
	}
	return s.State.Icon()
}

// stepWidget shortens a step's texts until it has its share of the card and no more.
func stepWidget(s render.Step) (*chatapi.GoogleAppsCardV1Widget, error) {
	for limit := maxDetail; ; limit /= 2 {
		text := stepIcon(s) + " <b>" + html.EscapeString(cut(s.Title, maxTitle)) + "</b>"
		if s.Detail != "" {
			text += "<br>" + markup(cut(s.Detail, limit))
		}
		w := &chatapi.GoogleAppsCardV1Widget{DecoratedText: &chatapi.GoogleAppsCardV1DecoratedText{
			Text: text, WrapText: true, BottomLabel: markup(cut(s.Result, limit)),
		}}
		if n, err := size(w); err != nil || n <= maxStep || limit <= maxTitle {
			return w, err
		}
	}
}

// closing is what stands under the steps and is never folded.
func (a *Adapter) closing(c *render.Card) *chatapi.GoogleAppsCardV1Section {
	s := &chatapi.GoogleAppsCardV1Section{}
	if c.Footer != "" {
		s.Widgets = append(s.Widgets, paragraph(cut(c.Footer, maxTitle)))
	}
	if c.Button != nil {
		s.Widgets = append(s.Widgets, &chatapi.GoogleAppsCardV1Widget{ButtonList: &chatapi.GoogleAppsCardV1ButtonList{
			Buttons: []*chatapi.GoogleAppsCardV1Button{{
				Text: cut(c.Button.Label, maxTitle), OnClick: &chatapi.GoogleAppsCardV1OnClick{Action: a.action(c.Button)},
			}},
		}})
	}
	return s
}

// action names the button's action as the function, and again as a parameter, for an add-on's function is the URL to call.
func (a *Adapter) action(b *render.Button) *chatapi.GoogleAppsCardV1Action {
	action := &chatapi.GoogleAppsCardV1Action{
		Function:   cmp.Or(a.config.ActionURL, b.Action),
		Parameters: []*chatapi.GoogleAppsCardV1ActionParameter{{Key: names.ActionParameter, Value: b.Action}},
	}
	for _, k := range slices.Sorted(maps.Keys(b.Params)) { // equal cards are equal on the wire
		action.Parameters = append(action.Parameters, &chatapi.GoogleAppsCardV1ActionParameter{Key: k, Value: b.Params[k]})
	}
	return action
}

func paragraph(text string) *chatapi.GoogleAppsCardV1Widget {
	return &chatapi.GoogleAppsCardV1Widget{TextParagraph: &chatapi.GoogleAppsCardV1TextParagraph{Text: markup(text)}}
}

func earlier(label func(n int) string, n int) string {
	if label == nil {
		return "… +" + strconv.Itoa(n)
	}
	return cut(label(n), maxTitle/2)
}

// markup is plain text as the HTML of cards.
func markup(s string) string { return strings.ReplaceAll(html.EscapeString(s), "\n", "<br>") }

// cut bounds a text to n bytes, at the end of a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n -= len("…"); n > 0 && !utf8.RuneStart(s[n]); n-- {
	}
	return s[:n] + "…"
}

func size(v any) (int, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return 0, fmt.Errorf("measure card: %w", err)
	}
	return len(b), nil
}
