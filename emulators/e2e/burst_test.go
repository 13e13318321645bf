package e2e_test

import (
	"testing"
	"time"

	"kesoku.dev/emulators/e2e/world"
	chatworld "kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/shared/message"
)

// P10: a burst whose pipeline instances are all killed again and again while its pause is waited for is answered once, and complete.
func TestKillWhileSettling(t *testing.T) {
	t.Parallel()
	p := newProcessesWith(t, map[string]string{"kesoku.yaml": "chat: {model: 'gemini:gemini-2.5-flash', locale: en, merge: {mode: settle, quiet: 3000}}"})
	for _, text := range []string{"@Kesoku one", "@Kesoku two", "@Kesoku three"} {
		if _, err := p.Chat.Post(chatworld.Post{User: world.Alice, Space: world.Room, Text: text}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(700 * time.Millisecond)
		if err := p.Functions["pipeline"].Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if p.session() != nil {
		t.Fatal("the burst was settled before its pause")
	}
	p.answered()
	var prompts []message.Message
	for _, m := range p.records() {
		if m.Class() == message.ClassUserPrompt {
			prompts = append(prompts, m)
		}
	}
	if len(prompts) != 3 || prompts[0].Turn != 1 || prompts[2].Turn != 1 || prompts[0].Content != "one" || prompts[2].Content != "three" {
		t.Errorf("prompts %+v", prompts)
	}
}
