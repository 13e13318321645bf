package view

import (
	"os"
	"strings"
	"testing"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
)

// Every configuration that is offered is one that the functions take, and does what its words say; what it was put on top of still holds.
func TestPresets(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../infra/config/kesoku.yaml")
	if err != nil {
		t.Fatal(err)
	}
	published := map[string]string{config.FileKesoku: string(text)}
	others := map[string]string{config.FileKesoku: "chat: {model: 'gemini:gemini-2.5-flash'}\nmodels: {decide: 'gemini:gemini-2.5-flash-lite'}\n" +
		"rules:\n- {id: mine, filter: {kind: direct}, values: {chat: {locale: en}}}\n"}
	room := chat.Event{Platform: platform, Kind: chat.KindMessage, ChannelID: "spaces/A"}
	for base, files := range map[string]map[string]string{"published": published, "with rules": others, "nothing": nil} {
		r, err := NewRules(nil, files)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, c := range r.choices {
			parsed, err := config.Parse(c.files)
			if err != nil {
				t.Errorf("%s, %s: %v", base, c.Name, err)
				continue
			}
			if c.Title == "" || c.Says == "" {
				t.Errorf("%s has no words", c.Name)
			}
			resolved := parsed.Resolve(config.FactsOf(&room))
			got[c.Name] = strings.Join(resolved.Route.Activation.Use, "+") + " " + resolved.Route.Merge.Mode + " " + resolved.Route.Observe.Mode
			direct := room
			direct.Direct = true
			if base == "with rules" && parsed.Resolve(config.FactsOf(&direct)).Route.Locale != "en" {
				t.Errorf("%s: the rule that was there does not hold any more", c.Name)
			}
		}
		for name, want := range map[string]string{
			"addressed": "rule immediate off", "settle": "rule settle quiet", "lively": "rule+activity immediate quiet", "judged": "rule+judge immediate quiet",
		} {
			if base == "nothing" && name == "judged" {
				want = "" // not offered: no model is there to be asked
			}
			if got[name] != want {
				t.Errorf("%s, %s: %q, want %q", base, name, got[name], want)
			}
		}
	}
}
