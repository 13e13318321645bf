package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"kesoku.dev/shared/clock"
)

// cacheFor is how long a function keeps its configuration: a change is followed within it.
const cacheFor = 30 * time.Second

// Files is where the published files are.
type Files interface {
	Config(ctx context.Context) (files map[string]string, revision int64, err error)
}

// Source gives a function its configuration, at most 30 seconds old. It is safe for concurrent use.
type Source struct {
	// OnChange, which may be nil, is called once for each revision that this instance begins to follow after its first. It and Predicates, the
	// custom ones that filters may name, are set before the first use.
	OnChange   func(ctx context.Context, revision int64)
	Predicates Predicates

	files Files
	clock clock.Clock
	log   *slog.Logger

	mu       sync.Mutex
	active   *Config
	revision int64
	readAt   time.Time
}

// NewSource returns a source over published files.
func NewSource(files Files, c clock.Clock, log *slog.Logger) (*Source, error) {
	if files == nil || c == nil || log == nil {
		return nil, errors.New("config.NewSource: files, clock and log must not be nil")
	}
	return &Source{files: files, clock: c, log: log}, nil
}

// Active returns the configuration. If the published one cannot be read or is wrong, the last good one serves on and the log says so;
// without a good one the error is retryable.
func (s *Source) Active(ctx context.Context) (*Config, error) {
	active, _, err := s.Revision(ctx)
	return active, err
}

// Revision is Active together with the revision that it was published at.
func (s *Source) Revision(ctx context.Context) (*Config, int64, error) {
	active, revision, changed, err := s.follow(ctx)
	if changed && s.OnChange != nil { // outside the lock, so that it may ask for the configuration
		s.OnChange(ctx, revision)
	}
	return active, revision, err
}

func (s *Source) follow(ctx context.Context) (active *Config, revision int64, changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if s.active != nil && now.Sub(s.readAt) < cacheFor {
		return s.active, s.revision, false, nil
	}
	next, revision, err := s.read(ctx)
	switch {
	case err == nil:
		changed = s.active != nil && revision != s.revision
		s.active, s.revision, s.readAt = next, revision, now
	case s.active == nil:
		return nil, 0, false, fmt.Errorf("no configuration: %w", err)
	default:
		s.readAt = now
		s.log.ErrorContext(ctx, "configuration not followed: the last good one serves on", "revision", s.revision, "error", err)
	}
	return s.active, s.revision, changed, nil
}

func (s *Source) read(ctx context.Context) (*Config, int64, error) {
	files, revision, err := s.files.Config(ctx)
	if err != nil {
		return nil, 0, err
	}
	if s.active != nil && revision == s.revision {
		return s.active, revision, nil
	}
	c, err := Parse(files, s.Predicates)
	if err != nil {
		return nil, 0, fmt.Errorf("published configuration at revision %d: %w", revision, err)
	}
	return c, revision, nil
}

// Intro returns a role's persona from the active configuration.
func (s *Source) Intro(ctx context.Context, role string) (string, error) {
	c, err := s.Active(ctx)
	if err != nil {
		return "", err
	}
	return c.Intro(role), nil
}
