package store_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/route"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
)

var now = time.Date(2026, 5, 27, 12, 50, 0, 123456000, time.UTC)

// shelf is a staging area in memory. It refuses while it is told to.
type shelf struct {
	mu     sync.Mutex
	kept   map[string]string
	refuse error
}

func (s *shelf) Put(_ context.Context, name string, data []byte, _ string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return "", s.refuse
	}
	s.kept[name] = string(data)
	return name, nil
}

func (s *shelf) Get(_ context.Context, name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.kept[name]
	if !ok {
		return nil, fmt.Errorf("read %s: %w", name, errs.ErrNotFound)
	}
	return []byte(data), nil
}

// impatient is the machine's clock for those who do not want to wait between two attempts.
type impatient struct{ clock.System }

func (impatient) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// rig is a store on a client of its own, whose counts and faults are the test's.
type rig struct {
	*store.Store
	client *testenv.Client
	shelf  *shelf
}

func open(t *testing.T) (*testenv.Env, rig) {
	t.Helper()
	env := testenv.New(t)
	return env, on(t, env.Instance("a"), impatient{})
}

func on(t *testing.T, c *testenv.Client, wait clock.Clock) rig {
	t.Helper()
	stage := &shelf{kept: map[string]string{}}
	s, err := store.New(c.Firestore, stage, wait, uuid.NewString)
	if err != nil {
		t.Fatal(err)
	}
	return rig{Store: s, client: c, shelf: stage}
}

// conversation is a handle on the one conversation of these tests.
func (r rig) conversation() *store.Session {
	return r.Conversation("discord:c", func() session.Session {
		return session.New(uuid.NewString(), "discord:c", "discord:c", "discord", "c", false, now)
	})
}

// started makes a session with nothing in it and returns its id.
func (r rig) started(t *testing.T) string {
	t.Helper()
	s, err := r.conversation().Change(t.Context(), func(*session.Draft) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return s.ID
}

func author() message.Author { return message.Author{ChatbotID: "discord", ChannelID: "c", Now: now} }

// receive is what the pipeline does with a prompt.
func receive(key, text string) func(*session.Draft) error {
	return func(d *session.Draft) error {
		if got := d.Receive(session.Ref{Key: key, When: session.WhenNext, At: now}, 0); got != session.ReceiptAccepted {
			return fmt.Errorf("prompt %s: %s", key, got)
		}
		m := author().UserPrompt("Chii", text, now, message.Metadata{})
		m.Seq = d.Seq
		d.Create(m)
		return nil
	}
}

// settling is a decision that settles an event too.
func settling(e chat.Stored, decide func(*session.Draft) error) func(*session.Draft) (route.Change, error) {
	return func(d *session.Draft) (route.Change, error) {
		return route.Change{Events: []chat.Stored{e}}, decide(d)
	}
}

// say stores an output message.
func say(text string) func(*session.Draft) error {
	return func(d *session.Draft) error {
		d.Create(author().Notification(message.Spot{Turn: 1}, text))
		return nil
	}
}

// contents reads all messages of a session anew and returns their texts in order.
func (r rig) contents(t *testing.T, id string) []string {
	t.Helper()
	all, err := r.Session(id).Since(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range all {
		out = append(out, m.Content)
	}
	return out
}

// fill gives every field under v something that is not its zero.
func fill(v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(now))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("文\x00`.")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1 << 40)
	case reflect.Uint8:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(2.1)
	default:
		panic("fill does not know " + v.Type().String())
	}
}
