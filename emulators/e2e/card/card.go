// Package card reads the cards of a Google Chat message as a person sees them.
package card

import (
	"encoding/json"
	"html"
	"strings"

	"kesoku.dev/emulators/googlechat/wire"
)

// Card is a card as a person sees it.
type Card struct {
	Title  string
	Lines  []string
	Button string
	// Function and Parameters are the button's.
	Function   string
	Parameters map[string]string
}

// Of reads the cards of a message.
func Of(m *wire.Message) []Card {
	var raw []struct {
		Card struct {
			Header   struct{ Title, Subtitle string }
			Sections []struct {
				Widgets []widget
			}
		}
	}
	if len(m.CardsV2) == 0 || json.Unmarshal(m.CardsV2, &raw) != nil {
		return nil
	}
	var out []Card
	for _, r := range raw {
		c := Card{Title: r.Card.Header.Title}
		for _, s := range r.Card.Sections {
			for _, widget := range s.Widgets {
				widget.into(&c)
			}
		}
		out = append(out, c)
	}
	return out
}

// widget is what our cards hold.
type widget struct {
	TextParagraph struct{ Text string }
	DecoratedText struct{ Text, BottomLabel string }
	ButtonList    struct {
		Buttons []struct {
			Text    string
			OnClick struct {
				Action struct {
					Function   string
					Parameters []struct{ Key, Value string }
				}
			}
		}
	}
}

func (w *widget) into(c *Card) {
	if text := w.TextParagraph.Text; text != "" {
		c.Lines = append(c.Lines, plain(text))
	}
	if text := w.DecoratedText.Text; text != "" {
		line := plain(text)
		if label := w.DecoratedText.BottomLabel; label != "" {
			line += " → " + plain(label)
		}
		c.Lines = append(c.Lines, line)
	}
	for _, b := range w.ButtonList.Buttons {
		c.Button, c.Function, c.Parameters = b.Text, b.OnClick.Action.Function, map[string]string{}
		for _, p := range b.OnClick.Action.Parameters {
			c.Parameters[p.Key] = p.Value
		}
	}
}

// plain takes the markup off a card's text.
func plain(text string) string {
	text = strings.NewReplacer("<br>", " ", "<b>", "", "</b>", "").Replace(text)
	return html.UnescapeString(text)
}
