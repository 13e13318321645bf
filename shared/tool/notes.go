package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/model"
)

const (
	maxNotes      = 200 // the newest notes of a conversation; older ones have faded
	maxRecall     = 50
	defaultRecall = 10
)

// Note is something a conversation wants kept beyond its sessions.
type Note struct {
	ID   string
	Text string // at most 2,000 runes
	At   time.Time
}

// Notes keeps the notes of conversations.
type Notes interface {
	// AddNote stores a note; an id that is stored already is no error and changes nothing. A store may drop all but the newest 200.
	AddNote(ctx context.Context, conversationKey, id, text string, at time.Time) error
	// Notes returns at most limit notes, the newest first.
	Notes(ctx context.Context, conversationKey string, limit int) ([]Note, error)
}

// Remember stores a note.
type Remember struct{ Notes Notes }

// Spec describes the tool.
func (Remember) Spec() model.Tool {
	return model.Tool{
		Name: "remember",
		Description: "Stores a short note for this conversation, to be found later with recall. " +
			"Use it when somebody asks to remember something, or says what will matter again.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"note":{"type":"string","minLength":1,"maxLength":2000,` +
			`"description":"One self-contained fact, with names instead of pronouns."}},"required":["note"],"additionalProperties":false}`),
	}
}

// Run stores the note once, however often the call is handed in. The text is part of the identity, since not every provider's call
// ids are unique beyond one step.
func (r Remember) Run(ctx context.Context, scope Scope, args json.RawMessage) (Output, error) {
	var a struct {
		Note string `json:"note"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return Output{}, fmt.Errorf("read arguments: %w", err)
	}
	text := cleanNote(a.Note)
	if text == "" {
		return Output{}, errors.New("the note is empty: write what is to be remembered")
	}
	id := chat.Hash(scope.SessionID, scope.CallID, text)
	err := r.Notes.AddNote(ctx, scope.ConversationKey, id, text, scope.Now)
	if err != nil && !errors.Is(err, errs.ErrExists) {
		return Output{}, fmt.Errorf("store the note: %w", err)
	}
	return Output{Content: "Remembered: " + text, Summary: text}, nil
}

// cleanNote drops control characters but line breaks and tabs.
func cleanNote(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text))
}

// Recall finds notes again.
type Recall struct{ Notes Notes }

// Spec describes the tool.
func (Recall) Spec() model.Tool {
	return model.Tool{
		Name:        "recall",
		Description: "Finds notes stored with remember in this conversation, the best match first. Without a query: the newest.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"query":{"type":"string","maxLength":500,"description":"Words that the note may contain, in the note's language."},` +
			`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"How many notes at most; 10 if left out."}},` +
			`"additionalProperties":false}`),
	}
}

// Run ranks the conversation's newest 200 notes by the query's words. Where none matches it shows the newest, and says so.
func (r Recall) Run(ctx context.Context, scope Scope, args json.RawMessage) (Output, error) {
	var a struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return Output{}, fmt.Errorf("read arguments: %w", err)
	}
	if a.Limit <= 0 || a.Limit > maxRecall {
		a.Limit = defaultRecall
	}
	notes, err := r.Notes.Notes(ctx, scope.ConversationKey, maxNotes)
	if err != nil {
		return Output{}, fmt.Errorf("read the notes: %w", err)
	}
	if len(notes) == 0 {
		return Output{Content: "No notes are stored in this conversation."}, nil
	}
	head := "Notes, the best match first:"
	found := rank(notes, a.Query)
	switch {
	case strings.TrimSpace(a.Query) == "":
		head, found = "The newest notes:", notes
	case len(found) == 0:
		head, found = "No note contains these words. The newest notes:", notes
	}
	found = found[:min(len(found), a.Limit)]
	lines := []string{head}
	for _, n := range found {
		lines = append(lines, "- "+n.At.UTC().Format(time.DateOnly)+": "+n.Text)
	}
	return Output{Content: strings.Join(lines, "\n"), Summary: oneLine(found[0].Text)}, nil
}
