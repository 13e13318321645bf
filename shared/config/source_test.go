package config_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/errs"
)

// published is what the operator has published, as a store would give it.
type published struct {
	mu       sync.Mutex
	locale   string
	revision int64
	err      error
	reads    int
}

func (p *published) publish(locale string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.locale, p.err, p.revision = locale, err, p.revision+1
}

func (p *published) Config(context.Context) (map[string]string, int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads++
	return map[string]string{config.FileKesoku: "chat: {locale: " + p.locale + "}", "roles/default/intro.md": "persona " + p.locale}, p.revision, p.err
}

func source(t *testing.T, files config.Files, log *bytes.Buffer) (*config.Source, *clock.Manual) {
	t.Helper()
	now := clock.NewManual(time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC))
	s, err := config.NewSource(files, now, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return s, now
}

func locale(t *testing.T, s *config.Source) string {
	t.Helper()
	c, err := s.Active(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c.Route("x").Locale
}

// A change is followed within 30 seconds, and not read more often than that.
func TestSourceCaches(t *testing.T) {
	t.Parallel()
	files := &published{locale: "zh"}
	s, now := source(t, files, &bytes.Buffer{})
	if got := locale(t, s); got != "zh" {
		t.Fatalf("locale %s", got)
	}
	files.publish("en", nil)
	now.Advance(30*time.Second - time.Microsecond)
	if got := locale(t, s); got != "zh" || files.reads != 1 {
		t.Errorf("before 30 s: %s after %d reads, want the kept one", got, files.reads)
	}
	now.Advance(time.Microsecond)
	if got := locale(t, s); got != "en" || files.reads != 2 {
		t.Errorf("after 30 s: %s after %d reads, want the new one", got, files.reads)
	}
	if got, err := s.Intro(t.Context(), "default"); err != nil || got != "persona en" {
		t.Errorf("Intro: %q, %v", got, err)
	}
}

// The last good configuration serves on while the published one is wrong or cannot be read; the log says so, and no more often than it is looked.
func TestSourceServesLastGood(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(*published){
		"wrong":      func(p *published) { p.publish("klingon", nil) },
		"unreadable": func(p *published) { p.publish("en", errors.New("store is down")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			files := &published{locale: "en"}
			s, now := source(t, files, &log)
			locale(t, s)
			breakIt(files)
			for range 2 {
				now.Advance(30 * time.Second)
				for range 3 {
					if got := locale(t, s); got != "en" {
						t.Fatalf("locale %s, want the last good one's", got)
					}
				}
			}
			if n := strings.Count(log.String(), "level=ERROR"); n != 2 || files.reads != 3 {
				t.Errorf("%d log records, %d reads, want 2 of 3\n%s", n, files.reads, &log)
			}
			files.publish("zh", nil)
			now.Advance(30 * time.Second)
			if got := locale(t, s); got != "zh" {
				t.Errorf("mended, it is %s", got)
			}
		})
	}
}

// Without a good one nothing is decided: the error is one that a retry may help, and the next call looks anew.
func TestSourceWithoutGoodOne(t *testing.T) {
	t.Parallel()
	files := &published{locale: "klingon"}
	s, _ := source(t, files, &bytes.Buffer{})
	if _, err := s.Active(t.Context()); err == nil || errs.KindOf(err) != errs.KindRetryable || !strings.Contains(err.Error(), "chat.locale") {
		t.Errorf("%v, want a retryable error that says what is wrong", err)
	}
	if _, err := s.Intro(t.Context(), "default"); err == nil {
		t.Error("a persona without a configuration")
	}
	files.publish("en", nil)
	if got := locale(t, s); got != "en" {
		t.Errorf("locale %s", got)
	}
}

// Many handlers of one instance read once.
func TestSourceConcurrently(t *testing.T) {
	t.Parallel()
	files := &published{locale: "en"}
	s, _ := source(t, files, &bytes.Buffer{})
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			if c, err := s.Active(t.Context()); err != nil || c.Route("x").Locale != "en" {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	all.Wait()
	if files.reads != 1 {
		t.Errorf("%d reads, want 1", files.reads)
	}
	if _, err := config.NewSource(nil, nil, nil); err == nil {
		t.Error("a source of nothing")
	}
}

// P20: a change of the rules is told once for each new revision that an instance follows, and to nobody for its first; by then it is followed.
func TestSourceTellsOfChanges(t *testing.T) {
	t.Parallel()
	files := &published{locale: "zh"}
	s, now := source(t, files, &bytes.Buffer{})
	var told []string
	s.OnChange = func(ctx context.Context, revision int64) {
		c, active, err := s.Revision(ctx)
		if err != nil || active != revision {
			t.Errorf("told of %d, but %d is followed: %v", revision, active, err)
			return
		}
		told = append(told, fmt.Sprint(revision, " ", c.Defaults.Locale))
	}
	step := func(publish func()) {
		publish()
		now.Advance(30 * time.Second)
		locale(t, s)
		locale(t, s)
	}
	step(func() { files.publish("zh", nil) })
	step(func() {})
	step(func() { files.publish("en", nil) })
	step(func() {})
	step(func() { files.publish("klingon", nil) })
	step(func() { files.publish("en", errors.New("down")) })
	step(func() { files.publish("zh", nil) })
	if got := strings.Join(told, ", "); got != "2 en, 5 zh" {
		t.Errorf("told of %s", got)
	}
}

// A source's own predicates reach the rules that it reads.
func TestSourceHasPredicates(t *testing.T) {
	t.Parallel()
	s, _ := source(t, ruleFiles("rules: [{id: x, filter: {kind: custom, id: late}, values: {chat: {locale: en}}}]"), &bytes.Buffer{})
	s.Predicates = config.Predicates{"late": func(map[string]any, config.Facts) bool { return true }}
	if got := locale(t, s); got != "en" {
		t.Errorf("locale %s", got)
	}
}

type ruleFiles string

func (f ruleFiles) Config(context.Context) (map[string]string, int64, error) {
	return map[string]string{config.FileKesoku: string(f)}, 1, nil
}
