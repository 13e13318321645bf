package stack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"kesoku.dev/emulators/process"
	"kesoku.dev/emulators/stack"
	"kesoku.dev/infra/kesoku/doctor"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/testenv/emulator"
)

// patient is a running stack, and the operators' command line as make doctor calls it.
type patient struct {
	*stack.Stack
	project string
	store   *firestore.Client
	kesoku  string // the program
	env     string // the file that make run leaves
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	p := &patient{kesoku: filepath.Join(t.TempDir(), "kesoku"), env: filepath.Join(t.TempDir(), "local.env")}
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", p.kesoku, "../../infra/kesoku")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// One sweep at the start and no more, so that a heartbeat that is made old stays so.
	p.Stack, _ = start(t, func(o *stack.Options) { o.Sweep, p.project = time.Hour, o.Project })
	if err := p.WriteEnviron(p.env); err != nil {
		t.Fatal(err)
	}
	conn, err := emulator.Dial(p.URLs.Firestore)
	if err != nil {
		t.Fatal(err)
	}
	if p.store, err = firestore.NewClient(t.Context(), p.project, option.WithGRPCConn(conn)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.store.Close() })
	for range 300 { // the first sweep comes by itself
		if _, err := p.store.Doc("sweeps/last").Get(t.Context()); err == nil {
			return p
		}
		if err := (clock.System{}).Sleep(t.Context(), 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("no sweep left its heartbeat")
	return nil
}

// doctor runs kesoku doctor in a shell that knows nothing but the file. env overrides it, as NAME=value.
func (p *patient) doctor(t *testing.T, env []string, args ...string) (findings map[string]doctor.Finding, well bool) {
	t.Helper()
	shell := slices.Concat([]string{"-c", `set -a; source "$0"; set +a; exec env "$@"`, p.env}, env, []string{p.kesoku, "doctor", "--json"}, args)
	cmd := exec.CommandContext(t.Context(), "bash", shell...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("doctor: %v", err)
	}
	var report struct {
		Well     bool
		Findings []doctor.Finding
	}
	if err := json.Unmarshal(out, &report); err != nil || report.Well != (exit == nil) {
		t.Fatalf("doctor: %v: %s", err, out)
	}
	findings = map[string]doctor.Finding{}
	for _, f := range report.Findings {
		findings[f.Step] = f
	}
	return findings, report.Well
}

// answering serves one status and body to whoever asks.
func answering(t *testing.T, status int, body any) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body) // the client is gone if this fails
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// slow is the webhook behind a proxy whose clock is five minutes behind.
func (p *patient) slow(t *testing.T) string {
	t.Helper()
	target, err := url.Parse(p.URLs.Webhook)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			r.Header.Set("Date", time.Now().Add(-5*time.Minute).UTC().Format(http.TimeFormat))
			return nil
		},
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// misconfigured is another webhook of the stack, which was not told its audience.
func (p *patient) misconfigured(t *testing.T) string {
	t.Helper()
	env := append(p.Environ(), "CHAT_AUDIENCE=")
	f, err := process.Start(t.Context(), "googlechat", []string{os.Args[0]}, env, &strings.Builder{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	return f.URL
}

func (p *patient) topic(id string) string { return "projects/" + p.project + "/topics/" + id }
func (p *patient) subscription(id string) string {
	return "projects/" + p.project + "/subscriptions/" + id
}

// deployed is what Cloud Functions would say of the stack's functions: its webhook is told another URL than it is called by.
func (p *patient) deployed() map[string]any {
	var all []map[string]any
	for _, name := range doctor.Functions {
		env := map[string]string{}
		for _, pair := range p.Environ() {
			key, value, _ := strings.Cut(pair, "=")
			env[key] = value
		}
		all = append(all, map[string]any{
			"name": "projects/" + p.project + "/locations/here/functions/" + name, "state": "ACTIVE", "url": p.URLs.Webhook,
			"serviceConfig": map[string]any{"environmentVariables": env},
		})
	}
	return map[string]any{"functions": all}
}

// Everything that make run runs is well, without a variable set by hand; what there is none of on this machine is said to be skipped, and why.
// Then each fault is named by its step and by no other.
func TestDoctor(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	findings, well := p.doctor(t, nil)
	var skipped []string
	for step, f := range findings {
		switch {
		case f.State == doctor.Skipped && f.Says != "":
			skipped = append(skipped, step)
		case f.State != doctor.Well:
			t.Errorf("%+v", f)
		}
	}
	slices.Sort(skipped)
	if want := []string{"APIs", "functions", "secrets"}; !well || len(findings) != 16 || !slices.Equal(skipped, want) {
		t.Fatalf("well: %v, %d steps, skipped %v, want %v", well, len(findings), skipped, want)
	}
	for _, f := range p.faults(t) {
		t.Run(f.name, func(t *testing.T) { // one after the other: they share the patient
			if f.damage != nil {
				if err := f.damage(); err != nil {
					t.Fatal(err)
				}
			}
			findings, _ := p.doctor(t, f.env, f.args...)
			for step, got := range findings {
				switch {
				case step != f.step && got.State == doctor.Ill:
					t.Errorf("%s is blamed too: %+v", step, got)
				case step == f.step && (got.State != doctor.Ill || !strings.Contains(got.Says, f.says) || got.Do == ""):
					t.Errorf("%+v, want %q and what to do", got, f.says)
				}
			}
			if f.repair != nil {
				if err := f.repair(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// illness is a deliberate fault: other variables or flags, or damage to what runs.
type illness struct {
	name           string
	env, args      []string
	damage, repair func() error
	step, says     string
}

func (p *patient) faults(t *testing.T) []illness {
	t.Helper()
	return slices.Concat(p.elsewhere(t), p.inFirestore(t), p.inPubSub(t), []illness{
		{name: "webhook stopped", damage: func() error { p.Functions["googlechat"].Stop(); return nil }, step: "webhook", says: "does not answer"},
	})
}

// elsewhere are faults of where things are said to be, and of what answers there.
func (p *patient) elsewhere(t *testing.T) []illness {
	t.Helper()
	const nobody = "http://127.0.0.1:1"
	missing := map[string]any{"error": map[string]any{"code": 404, "message": "Secret Version not found."}}
	disabled := map[string]any{"services": []map[string]string{{"name": "projects/1/services/chat.googleapis.com", "state": "DISABLED"}}}
	return []illness{
		{name: "project misspelt", env: []string{"GOOGLE_CLOUD_PROJECT=Kesoku!"}, step: "project", says: "can be no project id"},
		{name: "bucket missing", env: []string{"STAGING_BUCKET=nowhere"}, step: "staging bucket", says: "nowhere"},
		{name: "secret missing", args: []string{"--secrets-endpoint", answering(t, http.StatusNotFound, missing)}, step: "secrets", says: "has no version"},
		{name: "API not enabled", args: []string{"--services-endpoint", answering(t, http.StatusOK, disabled)}, step: "APIs", says: "chat.googleapis.com"},
		{name: "wrong audience", args: []string{"--functions-endpoint", answering(t, http.StatusOK, p.deployed())}, step: "functions", says: "takes tokens for"},
		{name: "webhook open to all", env: []string{"KESOKU_WEBHOOK=" + p.URLs.Sample}, step: "webhook", says: "without a token"},
		{name: "webhook without its audience", env: []string{"KESOKU_WEBHOOK=" + p.misconfigured(t)}, step: "webhook", says: "does not start"},
		{name: "clock off", env: []string{"KESOKU_WEBHOOK=" + p.slow(t)}, step: "clock", says: "5m"},
		{name: "no Chat API", env: []string{"CHAT_ENDPOINT=" + nobody}, step: "Chat API", says: "does not answer"},
		{name: "Chat API refuses", env: []string{"CHAT_ENDPOINT=" + answering(t, http.StatusForbidden, nil)}, step: "Chat API", says: "403"},
	}
}

func (p *patient) inFirestore(t *testing.T) []illness {
	t.Helper()
	ctx := t.Context()
	files, _, err := p.Store.Config(ctx)
	if err != nil {
		t.Fatal(err)
	}
	publish := func(files map[string]string) func() error {
		return func() error {
			_, now, err := p.Store.Config(ctx)
			if err == nil {
				_, err = p.Store.PublishConfig(ctx, files, now)
			}
			return err
		}
	}
	remove := func(doc string) func() error {
		return func() error { _, err := p.store.Doc(doc).Delete(ctx); return err }
	}
	beat := func(before time.Duration) func() error {
		return func() error {
			_, err := p.store.Doc("sweeps/last").Set(ctx, map[string]any{"at": time.Now().Add(-before)})
			return err
		}
	}
	lost := chat.NewRecord(chat.Event{Platform: "googlechat", Kind: chat.KindMessage, MessageID: "lost", ChannelID: "spaces/X", At: time.Now()}, time.Now().Add(-time.Hour))
	bad := map[string]string{"kesoku.yaml": "chat:\n  locale: fr\n"}
	return []illness{
		{name: "configuration missing", damage: remove("config/active"), repair: publish(files), step: "configuration", says: "none is published"},
		{name: "configuration wrong", damage: publish(bad), repair: publish(files), step: "configuration", says: "kesoku.yaml:2"},
		{name: "heartbeat too old", damage: beat(time.Hour), step: "sweeps", says: "the last sweep was 1h"},
		{name: "never swept", damage: remove("sweeps/last"), repair: beat(0), step: "sweeps", says: "no sweep has ever run"},
		{name: "event left behind", damage: func() error { return p.Store.PutEvent(ctx, lost) }, repair: remove("events/" + lost.Key), step: "sweeps",
			says: fmt.Sprintf("events/%s should have been looked at", lost.Key)},
	}
}

func (p *patient) inPubSub(t *testing.T) []illness {
	t.Helper()
	ctx, subscriptions, topics := t.Context(), p.PubSub.SubscriptionAdminClient, p.PubSub.TopicAdminClient
	deadline := func(seconds int32) func() error {
		return func() error {
			_, err := subscriptions.UpdateSubscription(ctx, &pubsubpb.UpdateSubscriptionRequest{
				Subscription: &pubsubpb.Subscription{Name: p.subscription("turns-push"), AckDeadlineSeconds: seconds},
				UpdateMask:   &fieldmaskpb.FieldMask{Paths: []string{"ack_deadline_seconds"}},
			})
			return err
		}
	}
	drop := func(topic string) func() error {
		return func() error { return topics.DeleteTopic(ctx, &pubsubpb.DeleteTopicRequest{Topic: p.topic(topic)}) }
	}
	restore := func(topic string) func() error {
		return func() error { _, err := emulator.EnsureTopic(ctx, p.PubSub, topic); return err }
	}
	unsubscribe := func(topic string) func() error {
		return func() error {
			return subscriptions.DeleteSubscription(ctx, &pubsubpb.DeleteSubscriptionRequest{Subscription: p.subscription(topic + "-push")})
		}
	}
	subscribe := func(topic string) func() error {
		return func() error {
			_, err := emulator.EnsureSubscription(ctx, p.PubSub, &pubsubpb.Subscription{
				Name: topic + "-push", Topic: topic,
				DeadLetterPolicy: &pubsubpb.DeadLetterPolicy{DeadLetterTopic: p.topic("dead-letters"), MaxDeliveryAttempts: 20},
			})
			return err
		}
	}
	return []illness{
		{name: "short ack deadline", damage: deadline(60), repair: deadline(600), step: "subscriptions", says: "ack deadline is 1m0s"},
		{name: "no dead letters", damage: drop("dead-letters"), repair: restore("dead-letters"), step: "subscriptions", says: "dead-letters does not exist"},
		{name: "subscription missing", damage: unsubscribe("cron"), repair: subscribe("cron"), step: "subscriptions", says: "nobody listens to topic cron"},
		{name: "topic missing", damage: drop("deliveries"), repair: func() error { // its subscription stays with a topic that is gone
			return errors.Join(unsubscribe("deliveries")(), restore("deliveries")(), subscribe("deliveries")())
		}, step: "topics", says: "deliveries does not exist"},
	}
}
