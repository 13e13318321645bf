package cli_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"kesoku.dev/emulators/oauth"
	"kesoku.dev/emulators/storage"
	"kesoku.dev/infra/kesoku/cli"
	"kesoku.dev/infra/kesoku/cli/app"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
	"kesoku.dev/shared/testenv/emulator"
)

var update = flag.Bool("update", false, "write the golden files anew")

const bucket = "kesoku-staging"

// storageURL is where the stand-in for Cloud Storage is.
var storageURL string

// TestMain points the SDKs where the commands will look: at the emulators and the stand-ins, by the SDKs' own variables.
func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	pair, err := emulator.Shared()
	if err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "kesoku-cli-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tokens, err := oauth.New("doctor@kesoku-test.iam.gserviceaccount.com")
	if err != nil {
		return 1, err
	}
	tokenServer, storageServer := httptest.NewServer(tokens), httptest.NewServer(storage.New(storage.Options{Buckets: []string{bucket}}))
	defer tokenServer.Close()
	defer storageServer.Close()
	storageURL = storageServer.URL
	key, err := tokens.WriteKey(dir, "kesoku-test", tokenServer.URL)
	if err != nil {
		return 1, err
	}
	for name, value := range map[string]string{
		"FIRESTORE_EMULATOR_HOST": pair.FirestoreHost, "PUBSUB_EMULATOR_HOST": pair.PubSubHost,
		"GOOGLE_APPLICATION_CREDENTIALS": key,
	} {
		if err := os.Setenv(name, value); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// now is when the tests of commands play.
var now = time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC)

// result is what a command line did.
type result struct {
	code     int
	out, err string
}

// kesoku runs a command line on the test's project.
func kesoku(t *testing.T, env *testenv.Env, in string, args ...string) result {
	t.Helper()
	return kesokuAt(t, env, clock.NewManual(now), in, args...)
}

func kesokuAt(t *testing.T, env *testenv.Env, c clock.Clock, in string, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	h := app.Host{In: strings.NewReader(in), Out: &out, Err: &err, Storage: storageURL, Local: true, Clock: c}
	if env != nil {
		h.Project = env.ProjectID
	}
	code := cli.Run(t.Context(), h, args)
	return result{code, out.String(), err.String()}
}

// golden compares got with testdata/<name>, or writes that.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\ngot\n%s\nwant\n%s", path, got, want)
	}
	for line := range strings.Lines(got) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 && !strings.Contains(line, "gcloud") && !strings.HasPrefix(line, `{`) && !strings.HasPrefix(line, ` `) && !strings.HasPrefix(line, `kesoku`) {
			t.Errorf("%s: a line has %d columns: %s", path, n, line)
		}
	}
}

// transcript is what a person sees of a command line.
func (r result) transcript() string { return fmt.Sprintf("%s%s(exit %d)\n", r.out, r.err, r.code) }

func (r result) want(t *testing.T, code int, says ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit %d, want %d:\n%s", r.code, code, r.transcript())
	}
	for _, s := range says {
		if !strings.Contains(r.out+r.err, s) {
			t.Errorf("does not say %q:\n%s", s, r.transcript())
		}
	}
}

// noStage stands where nothing is staged.
type noStage struct{}

func (noStage) Put(context.Context, string, []byte, string) (string, error) {
	return "", errors.New("nothing here is too large for a document")
}

func newStore(t *testing.T, env *testenv.Env, c clock.Clock) *store.Store {
	t.Helper()
	st, err := store.New(env.Firestore, noStage{}, c, uuid.NewString)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func publishConfig(t *testing.T, env *testenv.Env, files map[string]string) {
	t.Helper()
	st := newStore(t, env, clock.System{})
	_, revision, err := st.Config(t.Context())
	if err == nil {
		_, err = st.PublishConfig(t.Context(), files, revision)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// talk stores a session in the channel with one finished turn and one prompt that waits, some minutes before now.
func talk(t *testing.T, env *testenv.Env, id, channel string, before time.Duration) *store.Session {
	t.Helper()
	c := clock.NewManual(now.Add(-before))
	ledger := newStore(t, env, c).Conversation("googlechat:"+channel+":"+id, func() session.Session {
		return session.New(id, "googlechat:"+channel, "googlechat:"+channel, "googlechat", channel, false, c.Now())
	})
	_, err := ledger.Change(t.Context(), func(d *session.Draft) error {
		d.Settings = session.Settings{Model: "gemini:gemini-2.5-flash", Role: "default", Locale: "en"}
		author := message.Author{ChatbotID: "googlechat", ChannelID: channel, Now: c.Now()}
		prompt := author.UserPrompt("Alice", "what time is it\nin Tokyo? \x1b[2J", c.Now(), message.Metadata{})
		prompt.Status, prompt.Turn = message.StatusProcessed, 1
		at := message.Spot{Turn: 1, Step: 1}
		call := author.ToolCall(at, "", message.Call{ID: "1", Name: "current_time", Arguments: `{"zone":"Asia/Tokyo"}`})
		answer := author.ToolResult(at, message.Outcome{CallID: "1", Name: "current_time", Content: "18:00", Summary: "18:00"})
		reply := author.FinalReply(message.Spot{Turn: 1, Step: 2}, "It is 18:00 in Tokyo.",
			message.TurnMetrics{SessionTurns: 1, ContextTokens: 812, TurnToolCalls: 1, TurnTokens: 1650, TurnTime: 2.4}, nil)
		reply.Status = message.StatusDelivered
		for _, m := range []message.Message{prompt, author.Thought(at, "a zone is named", nil), call, answer, reply} {
			d.Create(m)
		}
		d.Turns, d.Outbox.Cursor = 1, d.Seq
		d.Receive(session.Ref{Key: "e2", When: session.WhenNext, At: c.Now()}, 64)
		next := author.UserPrompt("Bo", "and in Berlin?", c.Now(), message.Metadata{})
		next.Seq = d.Seq
		d.Create(next)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ledger
}
