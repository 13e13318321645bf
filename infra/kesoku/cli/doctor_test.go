package cli_test

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/cloudfunctions/v2"

	"kesoku.dev/emulators/googlechat"
	hook "kesoku.dev/functions/googlechat"
	"kesoku.dev/infra/bundle"
	"kesoku.dev/infra/kesoku/doctor"
	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/testenv"
	"kesoku.dev/shared/testenv/emulator"
)

// deployment is everything that the doctor looks at, whole until a test breaks one thing.
type deployment struct {
	env     *testenv.Env
	chat    http.Handler
	webhook http.Handler
	clock   clock.Clock
	config  map[string]string
	missing bus.Topic // a topic that does not exist
	unheard bus.Topic // a topic without a subscription
	change  func(*pubsubpb.Subscription)
	off     string                                    // an API that is not enabled
	swept   time.Duration                             // since the last sweep; 0 for never
	deploy  func(map[string]*cloudfunctions.Function) // changes what is deployed
	secrets map[string]string
	bucket  string
	args    []string
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	env := testenv.New(t)
	standIn, err := googlechat.New(googlechat.Options{RequireBearer: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(standIn.Close)
	publisher, err := bus.NewPublisher(env.PubSub)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(publisher.Stop)
	base, err := boot.Assemble(t.Context(), newStore(t, env, clock.System{}), publisher, nil, clock.System{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	webhook, err := hook.New(t.Context(), base, boot.VarsOf(map[string]string{
		"CHAT_PROJECT_NUMBER": "123456789012", "CHAT_AUDIENCE": "https://kesoku.example/googlechat",
	}))
	if err != nil {
		t.Fatal(err)
	}
	return &deployment{
		env: env, chat: standIn.Handler(), webhook: webhook, clock: clock.System{}, config: map[string]string{"kesoku.yaml": goodConfig},
		change: func(*pubsubpb.Subscription) {}, secrets: map[string]string{"gemini-api-key": "ENABLED"}, bucket: bucket,
		swept: 30 * time.Second, deploy: func(map[string]*cloudfunctions.Function) {},
	}
}

// raise makes the deployment what the fields say, and returns the doctor's arguments.
func (d *deployment) raise(t *testing.T) []string {
	t.Helper()
	if d.config != nil {
		publishConfig(t, d.env, d.config)
	}
	if d.swept > 0 {
		beat(t, d.env, d.swept)
	}
	d.env.Topic("dead-letters")
	for _, topic := range append(bus.Topics(), "workspace-events", bus.TopicLifecycle) {
		if topic == d.missing {
			continue
		}
		if topic == bus.TopicLifecycle || topic == d.unheard {
			d.env.Topic(string(topic))
			continue
		}
		s := &pubsubpb.Subscription{
			Name: string(topic) + "-push", Topic: d.env.Topic(string(topic)),
			DeadLetterPolicy: &pubsubpb.DeadLetterPolicy{DeadLetterTopic: "projects/" + d.env.ProjectID + "/topics/dead-letters", MaxDeliveryAttempts: 20},
		}
		d.change(s)
		if _, err := emulator.EnsureSubscription(t.Context(), d.env.PubSub, s); err != nil {
			t.Fatal(err)
		}
	}
	serve := func(h http.Handler) string {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return server.URL
	}
	webhook := serve(d.webhook)
	return append([]string{
		"doctor", "--json", "--bucket", d.bucket, "--webhook", webhook, "--chat-endpoint", serve(d.chat), "--functions-endpoint", serve(d.functions(webhook)),
		"--services-endpoint", serve(http.HandlerFunc(d.services)), "--secrets-endpoint", serve(http.HandlerFunc(d.secretVersions)),
	}, d.args...)
}

// services stands in for Service Usage's services.batchGet.
func (d *deployment) services(w http.ResponseWriter, r *http.Request) {
	var all []any
	for _, name := range r.URL.Query()["names"] {
		state := "ENABLED"
		if path.Base(name) == d.off {
			state = "DISABLED"
		}
		all = append(all, map[string]string{"name": name, "state": state})
	}
	answerJSON(w, http.StatusOK, map[string]any{"services": all})
}

// functions stands in for Cloud Functions' functions.list.
func (d *deployment) functions(webhook string) http.Handler {
	deployed := map[string]*cloudfunctions.Function{}
	for _, name := range doctor.Functions {
		deployed[name] = &cloudfunctions.Function{Name: "projects/p/locations/asia-northeast1/functions/" + name, State: "ACTIVE"}
	}
	deployed["googlechat"].ServiceConfig = &cloudfunctions.ServiceConfig{EnvironmentVariables: map[string]string{"CHAT_AUDIENCE": webhook}}
	d.deploy(deployed)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/projects/"+d.env.ProjectID+"/locations/-/functions" || r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		answerJSON(w, http.StatusOK, map[string]any{"functions": slices.Collect(maps.Values(deployed))})
	})
}

// secretVersions stands in for Secret Manager's versions.get.
func (d *deployment) secretVersions(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/") // /v1/projects/P/secrets/ID/versions/latest
	state, ok := "", len(parts) == 8 && parts[7] == "latest"
	if ok {
		state, ok = d.secrets[parts[5]]
	}
	if !ok || r.Header.Get("Authorization") == "" {
		answerJSON(w, http.StatusNotFound, map[string]any{"error": map[string]any{"code": 404, "message": "Secret Version not found.", "status": "NOT_FOUND"}})
		return
	}
	answerJSON(w, http.StatusOK, map[string]string{"name": strings.TrimPrefix(r.URL.Path, "/v1/"), "state": state})
}

func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone if this fails
}

// examined is what the doctor says of each step.
func (d *deployment) examined(t *testing.T) (result, []doctor.Finding) {
	t.Helper()
	r := kesokuAt(t, d.env, d.clock, "", d.raise(t)...)
	var got struct{ Findings []doctor.Finding }
	decode(t, r, &got)
	return r, got.Findings
}

func answers(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

func TestDoctorIsContentWithAWholeDeployment(t *testing.T) {
	t.Parallel()
	r, all := newDeployment(t).examined(t)
	r.want(t, 0)
	if len(all) != 16 {
		t.Errorf("%d steps", len(all))
	}
	for _, f := range all {
		if f.State != doctor.Well {
			t.Errorf("%+v", f)
		}
	}
}

// Each deliberate fault is named by its step and by no other, with what to do.
func TestDoctorNamesTheFault(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		damage func(t *testing.T, d *deployment)
		step   string
		says   string
		do     string
	}{
		"API not enabled":       {func(_ *testing.T, d *deployment) { d.off = "pubsub.googleapis.com" }, "APIs", "pubsub.googleapis.com", "gcloud services enable"},
		"rooms cannot be heard": {func(_ *testing.T, d *deployment) { d.off = "workspaceevents.googleapis.com" }, "APIs", "workspaceevents", "gcloud services enable"},
		"spans are dropped":     {func(_ *testing.T, d *deployment) { d.off = "cloudtrace.googleapis.com" }, "APIs", "cloudtrace", "gcloud services enable"},
		"spans are refused":     {func(_ *testing.T, d *deployment) { d.off = "telemetry.googleapis.com" }, "APIs", "telemetry", "gcloud services enable"},
		"nothing published":     {func(_ *testing.T, d *deployment) { d.config = nil }, "configuration", "none is published", "config push"},
		"wrong configuration": {func(_ *testing.T, d *deployment) {
			d.config = map[string]string{"kesoku.yaml": "chat:\n  locale: fr\n"}
		},
			"configuration", "kesoku.yaml:2: chat.locale", "config push"},
		"unknown model": {func(_ *testing.T, d *deployment) {
			d.config = map[string]string{"kesoku.yaml": "chat:\n  model: acme:large\n"}
		},
			"configuration", "acme:large", "chat.model"},
		"topic missing":             {func(_ *testing.T, d *deployment) { d.missing = bus.TopicDeliveries }, "topics", "deliveries does not exist", "terraform"},
		"rooms' topic missing":      {func(_ *testing.T, d *deployment) { d.missing = "workspace-events" }, "topics", "workspace-events does not exist", "terraform"},
		"other systems' topic gone": {func(_ *testing.T, d *deployment) { d.missing = bus.TopicLifecycle }, "topics", "lifecycle does not exist", "terraform"},
		"rooms are not pushed":      {func(_ *testing.T, d *deployment) { d.unheard = "workspace-events" }, "subscriptions", "nobody listens to topic workspace-events", "terraform"},
		"short ack deadline": {func(_ *testing.T, d *deployment) {
			d.change = func(s *pubsubpb.Subscription) { s.AckDeadlineSeconds = 60 }
		},
			"subscriptions", "ack deadline is 1m0s", "terraform"},
		"no dead letters": {func(_ *testing.T, d *deployment) {
			d.change = func(s *pubsubpb.Subscription) { s.DeadLetterPolicy = nil }
		},
			"subscriptions", "no dead-letter topic", "terraform"},
		"too few attempts": {func(_ *testing.T, d *deployment) {
			d.change = func(s *pubsubpb.Subscription) { s.DeadLetterPolicy.MaxDeliveryAttempts = 5 }
		}, "subscriptions", "after 5 attempts", "terraform"},
		"no bucket":             {func(_ *testing.T, d *deployment) { d.bucket = "nowhere" }, "staging bucket", "nowhere", "roles/storage.objectUser"},
		"secret missing":        {func(_ *testing.T, d *deployment) { d.secrets = nil }, "secrets", "gemini-api-key has no version", "gcloud secrets versions add"},
		"secret disabled":       {func(_ *testing.T, d *deployment) { d.secrets["gemini-api-key"] = "DISABLED" }, "secrets", "is disabled", "enable it"},
		"webhook gone":          {func(_ *testing.T, d *deployment) { d.webhook = answers(404) }, "webhook", "404", "URL"},
		"webhook closed by IAM": {func(_ *testing.T, d *deployment) { d.webhook = answers(403) }, "webhook", "403", "roles/run.invoker"},
		"webhook open to all":   {func(_ *testing.T, d *deployment) { d.webhook = answers(200) }, "webhook", "without a token", "deploy again"},
		"webhook takes any token": {func(_ *testing.T, d *deployment) {
			d.webhook = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "" {
					w.WriteHeader(http.StatusUnauthorized)
				}
			})
		}, "webhook", "invented token", "deploy again"},
		"webhook does not start": {func(_ *testing.T, d *deployment) { d.webhook = answers(500) }, "webhook", "does not start", "kesoku logs"},
		"clock off":              {func(_ *testing.T, d *deployment) { d.clock = ahead{by: time.Minute} }, "clock", "1m", "NTP"},
		"no Chat app":            {func(_ *testing.T, d *deployment) { d.chat = answers(404) }, "Chat API", "404", "configure the app"},
		"Chat refuses":           {func(_ *testing.T, d *deployment) { d.chat = answers(403) }, "Chat API", "403", "enable chat.googleapis.com"},
		"sweeps stopped":         {func(t *testing.T, d *deployment) { overdue(t, d.env) }, "sweeps", "sessions/" + idOne, "gcloud scheduler"},
		"heartbeat too old":      {func(_ *testing.T, d *deployment) { d.swept = time.Hour }, "sweeps", "the last sweep was 1h0m", "gcloud scheduler"},
		"never swept":            {func(_ *testing.T, d *deployment) { d.swept = 0 }, "sweeps", "no sweep has ever run", "gcloud scheduler"},
		"function not deployed": {func(_ *testing.T, d *deployment) {
			d.deploy = func(all map[string]*cloudfunctions.Function) { delete(all, "turn") }
		}, "functions", "not deployed: turn", "make package"},
		"function failed": {func(_ *testing.T, d *deployment) {
			d.deploy = func(all map[string]*cloudfunctions.Function) {
				all["cron"].State = "FAILED"
				all["cron"].StateMessages = []*cloudfunctions.GoogleCloudFunctionsV2StateMessage{{Message: "Build failed"}}
			}
		}, "functions", "cron is failed: Build failed", "terraform apply"},
		"wrong audience": {func(_ *testing.T, d *deployment) {
			d.deploy = func(all map[string]*cloudfunctions.Function) {
				all["googlechat"].ServiceConfig.EnvironmentVariables["CHAT_AUDIENCE"] = "https://old.example/googlechat"
			}
		}, "functions", `tokens for "https://old.example/googlechat"`, "webhook_url"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(t)
			tt.damage(t, d)
			r, all := d.examined(t)
			r.want(t, 1, "not well: 1 step")
			for _, f := range all {
				switch {
				case f.Step != tt.step && f.State != doctor.Well:
					t.Errorf("%s is blamed too: %+v", f.Step, f)
				case f.Step == tt.step && (f.State != doctor.Ill || !strings.Contains(f.Says, tt.says) || !strings.Contains(f.Do, tt.do)):
					t.Errorf("%+v, want %q and %q", f, tt.says, tt.do)
				}
			}
		})
	}
}

// Vertex AI is needed where no key's secret is named, and only there.
func TestDoctorAsksForVertexAIWithoutAKey(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.off = "aiplatform.googleapis.com"
	args := d.raise(t)
	kesokuAt(t, d.env, d.clock, "", args...).want(t, 0)
	kesokuAt(t, d.env, d.clock, "", append(args, "--secret=")...).want(t, 1, "not enabled: aiplatform.googleapis.com", "not well: 1 step")
}

// ahead is a clock that is off.
type ahead struct {
	clock.System
	by time.Duration
}

func (a ahead) Now() time.Time { return a.System.Now().Add(a.by) }

func overdue(t *testing.T, env *testenv.Env) {
	t.Helper()
	then := clock.NewManual(clock.System{}.Now().Add(-time.Hour))
	ledger := newStore(t, env, then).Conversation("k", func() session.Session {
		return session.New(idOne, "k", "googlechat:spaces/A", "googlechat", "spaces/A", false, then.Now())
	})
	_, err := ledger.Change(t.Context(), func(d *session.Draft) error {
		d.Receive(session.Ref{Key: "e", When: session.WhenNext, At: then.Now()}, 64)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// beat leaves the heartbeat of a sweep.
func beat(t *testing.T, env *testenv.Env, before time.Duration) {
	t.Helper()
	at := map[string]any{"at": clock.System{}.Now().Add(-before)}
	if _, err := env.Firestore.Collection("sweeps").Doc("last").Set(t.Context(), at); err != nil {
		t.Fatal(err)
	}
}

// The doctor's list of functions is the repository's.
func TestDoctorKnowsTheFunctions(t *testing.T) {
	t.Parallel()
	there, err := bundle.Functions("../../..")
	if err != nil || !slices.Equal(slices.Sorted(slices.Values(doctor.Functions)), there) {
		t.Errorf("%v, but there are %v, %v", doctor.Functions, there, err)
	}
}

// On the local stack nothing but the emulators is needed; what is not named is not examined, and that is no fault.
func TestDoctorOnEmulatorsAlone(t *testing.T) {
	d := newDeployment(t)
	d.raise(t)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path.Join(t.TempDir(), "none.json"))
	r := kesokuAt(t, d.env, d.clock, "", "doctor")
	r.want(t, 0, "✓ Firestore", "– credentials", "– webhook", "0 not,")
	r = kesokuAt(t, nil, d.clock, "", "doctor", "--project", "Kesoku Test")
	r.want(t, 1, "✗ project", "can be no project id", "→ write the project's id")
}

// What the doctor prints for people is as wide as a page and says what to do below what is wrong.
func TestDoctorForPeople(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.webhook, d.off = answers(403), "pubsub.googleapis.com"
	args := slices.DeleteFunc(d.raise(t), func(arg string) bool { return arg == "--json" })
	r := kesokuAt(t, d.env, d.clock, "", args...)
	text := strings.ReplaceAll(r.transcript(), d.env.ProjectID, "PROJECT")
	golden(t, "doctor.txt", regexp.MustCompile(`the last was \d+s`).ReplaceAllString(text, "the last was 30s"))
}
