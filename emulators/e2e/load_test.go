package e2e_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"kesoku.dev/emulators/e2e/invariant"
	"kesoku.dev/emulators/e2e/look"
	"kesoku.dev/emulators/e2e/world"
	"kesoku.dev/emulators/googlechat"
	"kesoku.dev/emulators/googlechat/hook"
	chatworld "kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/shared/message"
)

// reliable settings: the platform sends again what was not acknowledged.
var reliable = hook.Settings{Retries: 5}

// 200 messages at once into 20 spaces, each delivered twice by the platform. All prompts end, none is lost, none is answered
// twice, and a space's messages that were acknowledged one after the other keep their order.
func TestLoad(t *testing.T) { // A1, P1, cases B2, B38
	t.Parallel()
	for _, tt := range []struct {
		name         string
		acked        bool
		spaces, each int
	}{
		{"all at once", false, 20, 10},
		{"one after the other in each space", true, 8, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var places []chatworld.Place
			for i := range tt.spaces {
				places = append(places, chatworld.Place{
					Name: fmt.Sprintf("spaces/load%02d", i), DisplayName: fmt.Sprintf("Load %d", i), Members: []string{world.Alice, world.Bo, world.Carol},
				})
			}
			w := world.New(t, world.Options{Chat: googlechat.Options{Places: places, Settings: hook.Settings{Copies: 2, Retries: 5}}})
			post(w, places, tt.each, tt.acked)
			w.Settle()
			invariant.Check(w)
			checkLoad(t, w, places, tt.each)
		})
	}
}

func post(w *world.World, places []chatworld.Place, each int, acked bool) {
	var posting sync.WaitGroup
	for i, p := range places {
		say := func(n int) {
			text := fmt.Sprintf("@Kesoku hello from load-%d-%d.", i, n)
			if acked {
				w.PostAcked(world.Alice, p.Name, text)
			} else {
				w.Post(world.Alice, p.Name, text)
			}
		}
		if acked {
			posting.Go(func() {
				for n := range each {
					say(n)
				}
			})
			continue
		}
		for n := range each {
			posting.Go(func() { say(n) })
		}
	}
	posting.Wait()
}

// checkLoad counts prompts and answers: the stand-in model quotes every message that it answers.
func checkLoad(t *testing.T, w *world.World, places []chatworld.Place, each int) {
	t.Helper()
	processed := 0
	for _, s := range look.Sessions(w) {
		for _, m := range look.Records(w, s.ID) {
			if m.Class() == message.ClassUserPrompt && m.Status == message.StatusProcessed {
				processed++
			}
		}
	}
	if want := len(places) * each; processed != want {
		t.Errorf("%d prompts are processed, want %d", processed, want)
	}
	for i, p := range places {
		var said strings.Builder
		for _, m := range w.Sent(p.Name) {
			said.WriteString(m.Text)
		}
		for n := range each {
			if got := strings.Count(said.String(), fmt.Sprintf("load-%d-%d.", i, n)); got != 1 {
				t.Errorf("%s: message %d is answered %d times", p.DisplayName, n, got)
			}
		}
	}
}
