package hooks_test

import (
	"context"
	"fmt"
	"strings"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/hooks"
)

// A deployment drops what a monitoring bot writes, and signs what is sent.
func Example() {
	var h hooks.Hooks
	h.OnBeforeReceive = append(h.OnBeforeReceive, func(_ context.Context, e chat.Event) (hooks.Verdict, error) {
		if e.Sender.ID == "users/pager" {
			return hooks.Drop(), nil
		}
		return hooks.Replace(strings.TrimSpace(e.Text)), nil
	})
	h.OnBeforeSend = append(h.OnBeforeSend, func(_ context.Context, f hooks.Fragment) (string, error) {
		if f.Kind != hooks.KindReply {
			return f.Text, nil
		}
		return f.Text + "\n\n_an answer of a machine_", nil
	})

	ctx := context.Background()
	e, pass, err := h.BeforeReceive(ctx, chat.Event{Text: " hello ", Sender: chat.Sender{ID: "users/1"}})
	fmt.Printf("%q %v %v\n", e.Text, pass, err)
	f, err := h.BeforeSend(ctx, hooks.Fragment{Kind: hooks.KindReply, Text: "Hello."})
	fmt.Printf("%q %v\n", f.Text, err)
	// Output:
	// "hello" true <nil>
	// "Hello.\n\n_an answer of a machine_" <nil>
}
