package store

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/store/internal/cas"
	"kesoku.dev/shared/store/internal/weigh"
)

// Note is heads/{conversation}/notes/{id}: notes belong to the conversation and outlive its sessions.
type Note struct {
	ID   string    `firestore:"id"`
	Text string    `firestore:"text"`
	At   time.Time `firestore:"at"`
}

func (s *Store) notes(conversationKey string) *firestore.CollectionRef {
	return s.headRef(conversationKey).Collection(colNotes)
}

// AddNote keeps a note. The same id twice is one note.
func (s *Store) AddNote(ctx context.Context, conversationKey, id, text string, at time.Time) error {
	note := Note{ID: id, Text: text, At: at}
	if err := weigh.Check("note of "+conversationKey, note); err != nil {
		return err
	}
	_, err := s.notes(conversationKey).Doc(id).Create(ctx, note)
	if err != nil && status.Code(err) != codes.AlreadyExists {
		return fmt.Errorf("store note of %s: %w", conversationKey, err)
	}
	return nil
}

// Notes reads the newest notes of a conversation, up to limit, the newest first.
func (s *Store) Notes(ctx context.Context, conversationKey string, limit int) ([]Note, error) {
	snaps, err := s.notes(conversationKey).OrderBy("at", firestore.Desc).Limit(limit).Documents(ctx).GetAll()
	if err != nil {
		return nil, cas.ReadError("notes of "+conversationKey, err)
	}
	out := make([]Note, len(snaps))
	for i, snap := range snaps {
		if err := snap.DataTo(&out[i]); err != nil {
			return nil, errs.Permanentf("note %s is not readable: %w", snap.Ref.ID, err)
		}
	}
	return out, nil
}
