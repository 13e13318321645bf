package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"

	"kesoku.dev/infra/kesoku/cli"
	"kesoku.dev/infra/kesoku/cli/app"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
)

const (
	idOne = "6f1c2a9e-4b1d-4c53-9a57-0d3f0f6d2f11"
	idTwo = "6f9d0000-4b1d-4c53-9a57-0d3f0f6d2f11"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	kesoku(t, env, "", "sessions").want(t, 0, "no sessions")
	talk(t, env, idOne, "spaces/AAAA", 10*time.Minute)
	claimed := talk(t, env, idTwo, "spaces/BBBB", time.Minute)
	_, err := claimed.Change(t.Context(), func(d *session.Draft) error {
		d.ClaimTurn(session.Claimant{Holder: "h", EventID: "e"}, now.Add(-20*time.Second))
		d.Begin(now.Add(-20 * time.Second))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "sessions.txt", kesoku(t, env, "", "sessions").transcript()+kesoku(t, env, "", "sessions", "--all").transcript()+
		kesoku(t, env, "", "sessions", "--channel", "spaces/BBBB").transcript()+
		kesoku(t, env, "", "sessions", "--outstanding", "--channel", "spaces/AAAA").transcript())
}

// A page says where the next one begins, and all pages together are the whole.
func TestSessionsArePaged(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	ids := map[string]bool{}
	for i := range 5 {
		id := strings.Repeat(string(rune('a'+i)), 8)
		ids[id] = true
		talk(t, env, id, "spaces/AAAA", time.Duration(i/2)*time.Minute) // some begin at the same time
	}
	for _, how := range [][]string{{}, {"--all"}, {"--channel", "spaces/AAAA"}, {"--channel", "spaces/AAAA", "--outstanding"}} {
		seen, after := map[string]bool{}, ""
		for range 4 {
			var page struct {
				Sessions []session.Session
				Next     string
			}
			decode(t, kesoku(t, env, "", append([]string{"sessions", "--json", "--limit", "2", "--after", after}, how...)...), &page)
			for _, s := range page.Sessions {
				if seen[s.ID] {
					t.Errorf("%v: %s comes twice", how, s.ID)
				}
				seen[s.ID] = true
			}
			if after = page.Next; after == "" {
				break
			}
		}
		if len(seen) != len(ids) || after != "" {
			t.Errorf("%v: %d of %d sessions, then %q", how, len(seen), len(ids), after)
		}
	}
	kesoku(t, env, "", "sessions", "--after", "nonsense").want(t, 1, "no page that was given out")
}

func TestShow(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	talk(t, env, idOne, "spaces/AAAA", 10*time.Minute)
	talk(t, env, idTwo, "spaces/AAAA", 10*time.Minute)
	golden(t, "show.txt", kesoku(t, env, "", "show", "6f1c").transcript()+kesoku(t, env, "", "show", idOne, "--last", "1").transcript())
	kesoku(t, env, "", "show", "6f").want(t, 1, "several ids", "write more of the id")
	kesoku(t, env, "", "show", "7").want(t, 1, "not found", "kesoku sessions")
	kesoku(t, env, "", "show", "a/b").want(t, 1, "can be no id")
	var got struct {
		Session  session.Session
		Messages []message.Message
	}
	decode(t, kesoku(t, env, "", "show", idOne, "--json"), &got)
	if got.Session.ID != idOne || len(got.Messages) != 6 {
		t.Errorf("%+v", got)
	}
}

// shared is a buffer that a command writes and a test reads.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A follower shows what comes and what changes, once each, until somebody ends it, which is no failure.
func TestShowFollow(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	ledger := talk(t, env, idOne, "spaces/AAAA", time.Minute)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, notes shared
	steps, done := clock.NewManual(now), make(chan int, 1)
	go func() {
		done <- cli.Run(ctx, app.Host{Out: &out, Err: &notes, Project: env.ProjectID, Clock: steps}, []string{"show", idOne, "--follow", "--json"})
	}()
	await := func(what func() bool) {
		t.Helper()
		deadline := time.After(30 * time.Second)
		for !what() {
			select {
			case <-deadline:
				t.Fatalf("it does not come:\n%s\n%s", out.String(), notes.String())
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	await(func() bool { return steps.Sleepers() == 1 })
	all, err := ledger.Since(t.Context(), 5)
	if err == nil {
		_, err = ledger.Change(t.Context(), func(d *session.Draft) error {
			prompt := all[0]
			d.Create(message.Author{ChatbotID: "googlechat", ChannelID: "spaces/AAAA", Now: now}.Notification(message.Spot{Turn: 2}, "on it"))
			return d.Move(&prompt, message.Claim)
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	steps.Advance(time.Second)
	await(func() bool { return strings.Count(out.String(), "\n") == 8 && steps.Sleepers() == 1 })
	steps.Advance(time.Second)
	await(func() bool { return steps.Sleepers() == 1 })
	stop()
	if code := <-done; code != 0 || strings.Count(out.String(), "\n") != 8 {
		t.Errorf("exit %d after\n%s%s", code, out.String(), notes.String())
	}
	var last []message.Message
	for line := range strings.Lines(out.String()) {
		var m message.Message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		last = append(last, m)
	}
	if last[6].Seq != 6 || last[6].Status != message.StatusProcessing || last[7].Seq != 7 {
		t.Errorf("%+v", last[6:])
	}
}

// pulled collects what a topic got.
func pulled(t *testing.T, env *testenv.Env, topic bus.Topic) func() string {
	t.Helper()
	name := env.Subscription(string(topic), string(topic)+"-test")
	return func() string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var once sync.Once
		var got string
		err := env.PubSub.Subscriber(name).Receive(ctx, func(_ context.Context, m *pubsub.Message) {
			m.Ack()
			once.Do(func() { got = string(m.Data) })
			cancel()
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
}

const source = "//pubsub.googleapis.com/projects/p/topics/"

// case B41: what was buried can be seen, and published again once.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	got := pulled(t, env, bus.TopicTurns)
	kesoku(t, env, "", "dead-letters", "list").want(t, 0, "no dead letters")
	st := newStore(t, env, clock.NewManual(now.Add(-time.Hour)))
	for _, err := range []error{
		st.Bury(t.Context(), "e1", source+"turns", []byte(`{"message":{"data":"eyJzZXNzaW9uIjoicyJ9"}}`), errors.New("session s is not readable\nat all")),
		st.Bury(t.Context(), "e2", source+"elsewhere", []byte(`{}`), errors.New("wake-up e2 does not decode")),
		st.Bury(t.Context(), "e3", source+"turns", []byte(`{"message":{"data":"eyJ`), errors.New("too long")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	whole, foreign, cut := chat.Hash("e1")[:12], chat.Hash("e2")[:12], chat.Hash("e3")[:12]
	transcript := kesoku(t, env, "", "dead-letters", "list").transcript() + kesoku(t, env, "", "dead-letters", "show", whole).transcript()
	replayed := kesoku(t, env, "", "dead-letters", "replay", whole)
	replayed.want(t, 0, "published to turns")
	if data := got(); data != `{"session":"s"}` {
		t.Errorf("published %q", data)
	}
	transcript += kesoku(t, env, "", "dead-letters", "replay", whole).transcript() + kesoku(t, env, "", "dead-letters", "list").transcript()
	golden(t, "dead-letters.txt", transcript)
	kesoku(t, env, "", "dead-letters", "replay", whole, "--again", "--json").want(t, 0, `"topic": "turns"`)
	kesoku(t, env, "", "dead-letters", "replay", foreign).want(t, 1, "names none of the topics")
	kesoku(t, env, "", "dead-letters", "replay", cut).want(t, 1, "not a whole push message")
	kesoku(t, env, "", "dead-letters", "show", "ffff").want(t, 1, "not found")
	var page struct {
		Next string
	}
	decode(t, kesoku(t, env, "", "dead-letters", "list", "--limit", "2", "--json"), &page)
	kesoku(t, env, "", "dead-letters", "list", "--limit", "2", "--after", page.Next).want(t, 0, "1h00m ago")
}

func TestSweep(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	got := pulled(t, env, bus.TopicSweeps)
	kesoku(t, env, "", "sweep", "--dry-run").want(t, 0, "nothing is overdue")
	talk(t, env, idOne, "spaces/AAAA", 10*time.Minute)
	talk(t, env, idTwo, "spaces/AAAA", 10*time.Second) // its time has not come
	err := newStore(t, env, clock.System{}).PutEvent(t.Context(), chat.NewRecord(chat.Event{
		Platform: "googlechat", Kind: chat.KindMessage, MessageID: "m1", ChannelID: "spaces/BBBB", At: now.Add(-5 * time.Minute),
	}, now.Add(-5*time.Minute)))
	if err != nil {
		t.Fatal(err)
	}
	r := kesoku(t, env, "", "sweep", "--dry-run")
	r.want(t, 0, "6f1c2a9e-4b1", "9m00s", "turns", "inbound", "4m30s")
	if strings.Contains(r.out, "6f9d") {
		t.Errorf("would wake what is not due:\n%s", r.out)
	}
	kesoku(t, env, "", "sweep").want(t, 0, "published")
	if data := got(); data != "{}" {
		t.Errorf("published %q", data)
	}
}

// C2: a firing belongs to a time, so what has fired or was never due is refused before it is published.
func TestCron(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	got := pulled(t, env, bus.TopicCron)
	kesoku(t, env, "", "cron", "list").want(t, 0, "no cron jobs")
	publishConfig(t, env, map[string]string{"cronjobs.yaml": `jobs:
  - {name: morning, schedule: "30 8 * * *", prompt: p, chatbot_id: googlechat, channel_id: spaces/AAAA}
  - {name: plan, schedule: "0 9 * * 1", time_zone: Asia/Tokyo, prompt: p, chatbot_id: googlechat, channel_id: spaces/AAAA}
  - {name: tea, schedule: "0 17 * * *", time_zone: Asia/Tokyo, prompt: p, chatbot_id: googlechat, channel_id: spaces/AAAA}
`})
	due := time.Date(2026, 5, 27, 8, 0, 0, 0, time.UTC) // 17:00 in Tokyo
	fired := store.Firing{ID: chat.Hash("cron", "tea", due.Format(time.RFC3339)), Job: "tea", DueAt: due}
	ledger := talk(t, env, idOne, "spaces/AAAA", time.Minute)
	if _, err := ledger.Fire(t.Context(), fired, func(*session.Draft) error { return nil }); err != nil {
		t.Fatal(err)
	}
	golden(t, "cron.txt", kesoku(t, env, "", "cron", "list", "--next", "2").transcript()+kesoku(t, env, "", "cron", "fire", "morning").transcript()+
		kesoku(t, env, "", "cron", "fire", "tea").transcript()+kesoku(t, env, "", "cron", "fire", "plan").transcript()+
		kesoku(t, env, "", "cron", "fire", "nobody").transcript())
	if data := got(); data != `{"job":"morning"}` {
		t.Errorf("published %q", data)
	}
}

// Whoever may not, or cannot reach the database, is told so and what to do.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	kesoku(t, env, "", "sweep").want(t, 1, "publish to sweeps", "kesoku doctor") // there is no such topic
}
