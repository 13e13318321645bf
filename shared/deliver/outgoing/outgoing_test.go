package outgoing_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"kesoku.dev/shared/censor/gate"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/deliver/outgoing"
	"kesoku.dev/shared/hooks"
	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/render"
	"kesoku.dev/shared/render/compose"
)

// settled is a configuration that never changes.
type settled struct{ *config.Config }

func (s settled) Active(context.Context) (*config.Config, error) { return s.Config, nil }

// view is a Google Chat room's under the settings of a kesoku.yaml.
func view(t *testing.T, yaml string) *outgoing.View {
	t.Helper()
	c, err := config.Parse(map[string]string{config.FileKesoku: yaml})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	v := outgoing.NewView(outgoing.Parts{
		Config: settled{c}, Gate: g, Hooks: &hooks.Hooks{}, Registry: compose.GoogleChat(), Dialect: render.GoogleChat{},
	}, config.Facts{Platform: "googlechat", Channel: "spaces/A"})
	if err := v.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	return v
}

func reply(t *testing.T, v *outgoing.View, text string) (string, error) {
	t.Helper()
	return v.Text(t.Context(), hooks.Fragment{Kind: hooks.KindReply, MessageID: "m", Text: text}, compose.Scene{})
}

// P11: a rule that leaves something out rings nobody: what the dialect had escaped is escaped again. A mention of somebody stays one.
func TestRewritingRingsNobody(t *testing.T) {
	t.Parallel()
	v := view(t, `censor: {replaceRules: [{pattern: 机密, replacement: ""}, {pattern: everybody, replacement: <Users/ALL>}]}`)
	for text, want := range map[string]string{
		"<us机密ers/all> wake up":          "<\u200Busers/all> wake up",
		"`<us机密ers/all>`":                "`<\u200Busers/all>`",
		"everybody!":                     "<\u200BUsers/ALL>!",
		`机密<at id="users/allison@a"/> 1`: "<users/allison@a> 1",
	} {
		if got, err := reply(t, v, text); err != nil || got != want {
			t.Errorf("%q became %q, %v; want %q", text, got, err, want)
		}
	}
}

// P11: no markup inside a word brings it past the censor, and words in addresses are found as before.
func TestMarkupInsideWords(t *testing.T) {
	t.Parallel()
	v := view(t, `censor: {blockWords: [secret, 机密, evil.example]}`)
	for _, text := range []string{
		"sec`ret`", "[sec](https://x)ret", "s**ecre**t", `sec<at id="users/1"/>ret`, "机**密**", "[a](https://evil.example/x)", "https://evil.example",
		`<img src="https://evil.example/x" alt="a"/>`,
	} {
		if got, err := reply(t, v, text); !outgoing.Blocked(err) {
			t.Errorf("%s passed as %q, %v", text, got, err)
		}
	}
	if got, err := reply(t, v, "a *se* cret"); err != nil || got != "a _se_ cret" {
		t.Errorf("%q, %v", got, err)
	}
}

// P17: a reply that is not parsed is not quoted in front of: it would show the element.
func TestNoQuoteOfWhatIsNotParsed(t *testing.T) {
	t.Parallel()
	v := view(t, `render: {quote: true}`)
	text := strings.TrimSpace(strings.Repeat("> ", 64<<10))
	if got, err := reply(t, v, text); err != nil || got != text {
		t.Errorf("%.100q, %v", got, err)
	}
}

// P11: a tool's name is the model's own words: it is judged and bounded like the rest of a card.
func TestToolNames(t *testing.T) {
	t.Parallel()
	v := view(t, `censor: {blockWords: [secret], replaceRules: [{pattern: '\d{4}', replacement: '####'}]}`)
	turn := outgoing.Turn{Number: 1, Live: true}
	for _, name := range []string{"tell_secret", "pin_1234", strings.Repeat("x", 5000), "fetch_url"} {
		m := message.Author{}.ToolCall(message.Spot{Turn: 1, Step: 1}, "x", message.Call{ID: name, Name: name, Arguments: "{}"})
		m.ID = name
		turn.Messages = append(turn.Messages, m)
	}
	c, err := v.Card(t.Context(), turn, locale.For("en"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"(did not pass the content check)", "pin_####", strings.Repeat("x", 63) + "…", "fetch_url"} {
		if got := c.Steps[i].Title; got != want {
			t.Errorf("title %q, want %q", got, want)
		}
	}
}
