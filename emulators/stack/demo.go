package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/emulators/stack/view"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
)

const (
	answerWithin = 60 * time.Second       // how long the demo waits for one answer
	lookEvery    = 200 * time.Millisecond // for the sessions to come to rest
)

// Demo runs one conversation through the whole stack and prints it, with the records it left.
func Demo(ctx context.Context, out io.Writer) error {
	begun := time.Now()
	s, err := Start(ctx, Local(os.Stderr))
	if err != nil {
		return err
	}
	defer s.Stop()
	fmt.Fprintf(out, "stack up in %.1f s\n\n", time.Since(begun).Seconds())
	space, alice := s.Chat.Spaces()[0].Space.Name, s.Chat.People()[0]
	for _, text := range []string{
		"@Kesoku what time is it in Tokyo?", "@Kesoku remember that the demo is on Friday", "@Kesoku what do you remember?",
		"@Kesoku read this page " + s.URLs.Sample,
	} {
		if err := s.ask(ctx, out, space, alice, text); err != nil {
			return err
		}
	}
	if err := s.settle(ctx, space); err != nil {
		return err
	}
	return s.printRecords(ctx, out, space)
}

// settle waits until nothing is outstanding in the space's sessions.
func (s *Stack) settle(ctx context.Context, space string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	for {
		sessions, err := s.Store.SessionsOf(ctx, space, 20)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(sessions, func(one session.Session) bool { return one.WakeAt != nil }) {
			return nil
		}
		if err := (clock.System{}).Sleep(ctx, lookEvery); err != nil {
			return fmt.Errorf("the sessions of %s did not come to rest: %w", space, err)
		}
	}
}

// ask posts a message and prints what comes back, until the turn's reply has landed.
func (s *Stack) ask(ctx context.Context, out io.Writer, space string, who world.Person, text string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	changes := s.Chat.Subscribe(ctx)
	fmt.Fprintf(out, "%s: %s\n", who.DisplayName, text)
	begun := time.Now()
	if _, err := s.Chat.Post(world.Post{User: who.Name, Space: space, Text: text}); err != nil {
		return fmt.Errorf("post %q: %w", text, err)
	}
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%q got no answer within %s: %w", text, answerWithin, ctx.Err())
		case c := <-changes:
			if c.Message == nil || c.Message.Sender.Type != "BOT" {
				continue
			}
			printCards(out, c.Message)
			if c.Message.Text != "" {
				fmt.Fprintf(out, "Kesoku (%.1f s): %s\n\n", time.Since(begun).Seconds(), strings.ReplaceAll(c.Message.Text, "\n", "\n  "))
				return nil
			}
		}
	}
}

func printCards(out io.Writer, m *wire.Message) {
	var cards []struct {
		Card struct {
			Header struct {
				Title string `json:"title"`
			} `json:"header"`
		} `json:"card"`
	}
	if len(m.CardsV2) == 0 || json.Unmarshal(m.CardsV2, &cards) != nil {
		return
	}
	for _, c := range cards {
		fmt.Fprintf(out, "  [card] %s\n", c.Card.Header.Title)
	}
}

// printRecords prints the message records of the space's sessions.
func (s *Stack) printRecords(ctx context.Context, out io.Writer, space string) error {
	ids, err := view.Records{Store: s.Store}.Sessions(ctx, space)
	if err != nil {
		return err
	}
	for _, id := range ids {
		all, err := s.Store.Session(id).Since(ctx, 0)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "session %s\n", id)
		for _, m := range all {
			fmt.Fprintf(out, "  %3d  turn %d.%d  %-9s %-11s %-13s %s\n", m.Seq, m.Turn, m.Step, m.Role, m.Type, m.Status, oneLine(m))
		}
	}
	return nil
}

func oneLine(m message.Message) string {
	line := strings.Join(strings.Fields(m.Content), " ")
	if r := []rune(line); len(r) > 70 {
		line = string(r[:69]) + "…"
	}
	return m.Sender + ": " + line
}
