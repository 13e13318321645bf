package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/shared/chat"
)

// keepDeadLetters is how long an operator has to look.
const keepDeadLetters = 30 * 24 * time.Hour

// Bury records a wake-up that no retry can help: dead_letters/{hash of its event id}. Burying it twice is one record.
func (s *Store) Bury(ctx context.Context, eventID, source string, data []byte, cause error) error {
	now := s.clock.Now()
	_, err := s.client.Collection("dead_letters").Doc(chat.Hash(eventID)).Create(ctx, map[string]any{
		"event_id": eventID, "source": source, "data": data[:min(len(data), maxContent)], "error": cut(strings.ToValidUTF8(cause.Error(), "�"), previewBytes),
		"at": now, "expire_at": now.Add(keepDeadLetters),
	})
	if err != nil && status.Code(err) != codes.AlreadyExists {
		return fmt.Errorf("store dead letter %s: %w", eventID, err)
	}
	return nil
}
