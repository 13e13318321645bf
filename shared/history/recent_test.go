package history_test

import (
	"slices"
	"strings"
	"testing"

	"kesoku.dev/shared/history"
	"kesoku.dev/shared/message"
)

// H6: what a model is shown is bounded in bytes, by whole turns, and the live turn is always there.
func TestRecentDropsWholeOldTurns(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 150<<10)
	ordered := []message.Message{
		{Turn: 1, Content: "old prompt"}, {Turn: 1, Content: "old reply"},
		{Turn: 2, Content: "prompt"}, {Turn: 2, Content: big}, {Turn: 2, Content: big},
		{Turn: 3, Content: "prompt"}, {Turn: 3, Content: big},
		{Turn: 4, Content: big}, {Turn: 4, Content: big}, {Turn: 4, Content: big},
		{Turn: 0, Content: "waits"},
	}
	var got []int
	for _, m := range history.Recent(ordered, 4) {
		got = append(got, m.Turn)
	}
	if want := []int{3, 3, 4, 4, 4, 0}; !slices.Equal(got, want) {
		t.Errorf("turns shown: %v, want %v", got, want)
	}
	if got := history.Recent(ordered[:5], 2); len(got) != 5 {
		t.Errorf("%d of 5 messages are shown of a past that fits", len(got))
	}
}
