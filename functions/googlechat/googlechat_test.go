package googlechat_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc/codes"

	"kesoku.dev/functions/googlechat"
	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/boot/boottest"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/testenv"
	"kesoku.dev/shared/testenv/emulator"
)

// D3, cases B10, B12: each form of token that Google sends lets its own form of body in, and the event is stored as it came and announced.
func TestAccepts(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	for _, tt := range []struct{ name, authorization, body, id string }{
		{"classic token", h.classic(t), message("m1", "hi"), "m1"},
		{"endpoint token", h.oidc(t, chatAccount), message("m2", "hi"), "m2"},
		{"add-on's token", h.oidc(t, addOnAccount), message("m3", "hi"), "m3"},
		{"push", h.oidc(t, pushAccount), pushed("m4", "hi"), "m4"},
	} {
		before := h.client.Counts()
		began := time.Now()
		w := h.send(t, tt.authorization, tt.body)
		if w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != "{}" || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %q, want 200 and no message\n%s", tt.name, w.Code, w.Body, h.log)
		}
		// Chat waits 30 s; the bound is wide because of busy machines, and tells a webhook that waits for a model from one that does not.
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: answered after %s", tt.name, took)
		}
		if d := h.client.Counts().Minus(before); d.Writes != 1 || d.Reads != 0 || d.Published != 1 {
			t.Errorf("%s: %+v, want one write and one wake-up", tt.name, d)
		}
	}
	all := stored(t, h.env)
	if len(all) != 4 {
		t.Fatalf("%d events stored: %+v", len(all), all)
	}
	for _, r := range all {
		want := chat.Event{Platform: "googlechat", Kind: chat.KindMessage, MessageID: r.MessageID}
		if !r.Pending || r.WakeAt == nil || r.Key != want.Key() || r.RouteID != "googlechat:spaces/A" || r.Text != "hi" || r.Sender.ID != "users/1" ||
			r.ThreadID != "spaces/A/threads/t" || !r.At.Equal(time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC)) || r.ExpireAt.Sub(r.ReceivedAt) <= 24*time.Hour {
			t.Errorf("stored %+v", r)
		}
	}
}

// Whoever cannot prove to be Google gets 401, leaves no trace, and costs no call to the store.
func TestRefusesStrangers(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	claims := func(more jwt.MapClaims) jwt.MapClaims {
		all := jwt.MapClaims{"iss": accounts, "aud": audience, "email": chatAccount, "email_verified": true}
		for k, v := range more {
			all[k] = v
		}
		return all
	}
	past := time.Now().Add(-2 * time.Hour).Unix()
	unsigned := func() string {
		s, err := jwt.NewWithClaims(jwt.SigningMethodNone, claims(jwt.MapClaims{"iat": past, "exp": time.Now().Add(time.Hour).Unix()})).
			SignedString(jwt.UnsafeAllowNoneSignatureType)
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + s
	}
	good := h.oidc(t, chatAccount)
	for name, authorization := range map[string]string{
		"nothing":              "",
		"another scheme":       strings.Replace(good, "Bearer", "Basic", 1),
		"no token":             "Bearer ",
		"no JWT":               "Bearer abc",
		"unsigned":             unsigned(),
		"signature cut off":    good[:strings.LastIndex(good, ".")+1],
		"signature of another": good[:strings.LastIndex(good, ".")] + h.classic(t)[strings.LastIndex(h.classic(t), "."):],
		"signed by Chat's key": token(t, h.chat, claims(nil)),
		"another endpoint":     token(t, h.accounts, claims(jwt.MapClaims{"aud": "https://hook.example/other"})), // case B12
		"endpoint with more":   token(t, h.accounts, claims(jwt.MapClaims{"aud": audience + "/"})),
		"another project":      token(t, h.chat, jwt.MapClaims{"iss": chatAccount, "aud": "999"}),
		"classic, endpoint":    token(t, h.chat, jwt.MapClaims{"iss": chatAccount, "aud": audience}),
		"another issuer":       token(t, h.accounts, claims(jwt.MapClaims{"iss": "https://evil.example"})),
		"anybody's email":      token(t, h.accounts, claims(jwt.MapClaims{"email": "eve@evil.example"})),
		"email not verified":   token(t, h.accounts, claims(jwt.MapClaims{"email_verified": false})),
		"another app's add-on": token(t, h.accounts, claims(jwt.MapClaims{"email": "service-999@gcp-sa-gsuiteaddons.iam.gserviceaccount.com"})),
		"expired":              token(t, h.accounts, claims(jwt.MapClaims{"iat": past, "exp": past + 3600})),
		"from the future":      token(t, h.accounts, claims(jwt.MapClaims{"iat": time.Now().Add(time.Hour).Unix(), "exp": time.Now().Add(2 * time.Hour).Unix()})),
		"no end":               token(t, h.accounts, claims(jwt.MapClaims{"exp": nil})),
		"too long":             "Bearer " + strings.Repeat("a", 10<<10),
	} {
		w := h.send(t, authorization, message("m1", "hi"))
		if w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "aud") {
			t.Errorf("%s: %d %q, want 401 without a reason", name, w.Code, w.Body)
		}
	}
	if got := h.client.Counts(); len(stored(t, h.env)) != 0 || got.Published != 0 || len(got.Calls) != 0 {
		t.Errorf("strangers left %+v and made the calls %v", stored(t, h.env), got.Calls)
	}
	if secret := good[len("Bearer "):]; strings.Contains(h.log.String(), secret[strings.LastIndex(secret, ".")+1:]) {
		t.Error("the log has a token's signature")
	}
}

// What is no event, or another caller's form of it, is refused; what is well formed and of no concern is not, for errors make Google stop
// delivering.
func TestBodies(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	for name, tt := range map[string]struct {
		authorization, body string
		want                int
		logged              string
	}{
		"push body by Chat":       {h.classic(t), pushed("m1", "hi"), http.StatusBadRequest, "not of a form"},
		"chat body by push":       {h.oidc(t, pushAccount), message("m1", "hi"), http.StatusBadRequest, "not of a form"},
		"no JSON":                 {h.classic(t), "hello", http.StatusBadRequest, "malformed"},
		"cut off":                 {h.classic(t), message("m1", "hi")[:100], http.StatusBadRequest, "malformed"},
		"empty":                   {h.classic(t), "", http.StatusBadRequest, "malformed"},
		"a list":                  {h.classic(t), "[]", http.StatusBadRequest, "malformed"},
		"null":                    {h.classic(t), "null", http.StatusBadRequest, "malformed"},
		"message without a name":  {h.classic(t), `{"type":"MESSAGE","message":{"name":"../x"}}`, http.StatusBadRequest, "malformed"},
		"message of another room": {h.classic(t), strings.Replace(message("m1", "hi"), `"space":{"name":"spaces/A",`, `"space":{"name":"spaces/B",`, 1), http.StatusBadRequest, "malformed"},
		"over a MiB":              {h.classic(t), message("m1", strings.Repeat("x", 1<<20)), http.StatusRequestEntityTooLarge, "over 1048576"},
		"unknown type":            {h.classic(t), `{"type":"WIDGET_UPDATED"}`, http.StatusOK, "WIDGET_UPDATED"},
		"unknown add-on payload":  {h.oidc(t, addOnAccount), `{"chat":{"newPayload":{}}}`, http.StatusOK, "ignored"},
		"unknown Workspace event": {h.oidc(t, pushAccount), `{"message":{"attributes":{"ce-type":"google.workspace.chat.reaction.v1.created"}}}`, http.StatusOK, "reaction"},
	} {
		w := h.send(t, tt.authorization, tt.body)
		if w.Code != tt.want || !strings.Contains(h.log.String(), tt.logged) {
			t.Errorf("%s: %d %q, want %d and a log entry with %q", name, w.Code, w.Body, tt.want, tt.logged)
		}
	}
	if n := len(stored(t, h.env)); n != 0 || h.client.Counts().Published != 0 {
		t.Errorf("%d events stored, %d announced", n, h.client.Counts().Published)
	}
}

// A body is read only of a caller who is known, and only by POST.
func TestMethod(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodHead} {
		r := httptest.NewRequestWithContext(t.Context(), method, "/", http.NoBody)
		r.Header.Set("Authorization", h.classic(t))
		w := httptest.NewRecorder()
		h.handler.ServeHTTP(w, r)
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodPost {
			t.Errorf("%s: %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
}

// P1, cases B2, B3, B4: one message is one event, whichever road brings it and however many come at once; each is announced, since whoever stored it
// may have died before that.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	bodies := []struct{ authorization, body string }{
		{h.classic(t), message("m1", "hi")}, {h.oidc(t, chatAccount), message("m1", "hi")}, {h.oidc(t, pushAccount), pushed("m1", "hi")},
	}
	var all sync.WaitGroup
	for range 4 {
		for _, b := range bodies {
			all.Go(func() {
				if w := h.send(t, b.authorization, b.body); w.Code != http.StatusOK {
					t.Errorf("%d %q", w.Code, w.Body)
				}
			})
		}
	}
	all.Wait()
	if n, announced := len(stored(t, h.env)), h.client.Counts().Published; n != 1 || announced != 12 {
		t.Errorf("%d events stored, %d announced, want 1 and 12", n, announced)
	}
	// A duplicate changes nothing of what became of the first.
	ref := h.env.Firestore.Collection("events").Doc(stored(t, h.env)[0].Key)
	before, err := ref.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.send(t, h.classic(t), message("m1", "edited by an attacker"))
	after, err := ref.Get(t.Context())
	if err != nil || !after.UpdateTime.Equal(before.UpdateTime) {
		t.Errorf("a duplicate wrote: %v", err)
	}
}

// D3: what could not be stored or announced is answered with 503, and nothing is lost: the sender's retry announces it, and the sweep finds
// what is stored.
func TestDown(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	h.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Fail: codes.PermissionDenied})
	if w := h.send(t, h.classic(t), message("m1", "hi")); w.Code != http.StatusServiceUnavailable || len(stored(t, h.env)) != 0 {
		t.Errorf("store down: %d, %d stored", w.Code, len(stored(t, h.env)))
	}
	if h.client.Counts().Published != 0 {
		t.Error("announced what is not stored")
	}
	h.client.Faults.Add(testenv.Fault{Method: "Publish", Times: 1, Fail: codes.PermissionDenied})
	if w := h.send(t, h.classic(t), message("m1", "hi")); w.Code != http.StatusServiceUnavailable || len(stored(t, h.env)) != 1 {
		t.Errorf("Pub/Sub down: %d, %d stored; want 503 although it is stored", w.Code, len(stored(t, h.env)))
	}
	record := stored(t, h.env)[0]
	looker := boottest.Base(t, h.env, h.env.Client, clock.System{}, slog.New(slog.DiscardHandler)).Store
	due, err := looker.DueEvents(t.Context(), record.ReceivedAt.Add(time.Minute), 10)
	if err != nil || len(due) != 1 || due[0].Key != record.Key {
		t.Errorf("the sweep finds %+v, %v", due, err)
	}
	if w := h.send(t, h.classic(t), message("m1", "hi")); w.Code != http.StatusOK || h.client.Counts().Published != 1 {
		t.Errorf("the retry: %d, %d announced", w.Code, h.client.Counts().Published)
	}
	if !strings.Contains(h.log.String(), `"level":"ERROR"`) {
		t.Errorf("nothing to alert on:\n%s", h.log)
	}
}

// A lost answer of the store is no lost event: the retry finds it there.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	h.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Lose: codes.Internal})
	first := h.send(t, h.classic(t), message("m1", "hi"))
	if w := h.send(t, h.classic(t), message("m1", "hi")); w.Code != http.StatusOK || len(stored(t, h.env)) != 1 || h.client.Counts().Published == 0 {
		t.Errorf("first %d, retry %d, %d stored, %d announced", first.Code, w.Code, len(stored(t, h.env)), h.client.Counts().Published)
	}
}

// Keys that cannot be had are not the caller's fault: 503, not 401.
func TestKeysUnreachable(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	v := vars(h.google)
	v["CHAT_CERTS_URL"] = gone.URL
	var err error
	if h.handler, err = googlechat.New(t.Context(), h.base, boot.VarsOf(v)); err != nil {
		t.Fatal(err)
	}
	if w := h.send(t, h.classic(t), message("m1", "hi")); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d, want 503", w.Code)
	}
}

// Some events come without a time; theirs is that of their arrival, for a route's events are settled in order.
func TestEventWithoutTime(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	body := `{"type":"ADDED_TO_SPACE","user":` + ann + `,"space":{"name":"spaces/A","spaceType":"SPACE"}}`
	if w := h.send(t, h.classic(t), body); w.Code != http.StatusOK {
		t.Fatalf("%d", w.Code)
	}
	if all := stored(t, h.env); len(all) != 1 || all[0].At.IsZero() || !all[0].At.Equal(all[0].ReceivedAt) {
		t.Errorf("stored %+v", all)
	}
}

// The function does not start on an environment that would let strangers in, and says all that is wrong.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	for name, tt := range map[string]struct {
		vars map[string]string
		want []string
	}{
		"nothing":              {nil, []string{"CHAT_PROJECT_NUMBER", "CHAT_AUDIENCE"}},
		"audience no URL":      {map[string]string{"CHAT_PROJECT_NUMBER": "1", "CHAT_AUDIENCE": "hook"}, []string{"CHAT_AUDIENCE"}},
		"project is a name":    {map[string]string{"CHAT_PROJECT_NUMBER": "p", "CHAT_AUDIENCE": audience}, []string{"project number"}},
		"push account is Chat": {map[string]string{"CHAT_PROJECT_NUMBER": "1", "CHAT_AUDIENCE": audience, "CHAT_PUSH_ACCOUNT": chatAccount}, []string{"push account"}},
	} {
		_, err := googlechat.New(t.Context(), h.base, boot.VarsOf(tt.vars))
		for _, w := range tt.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v does not say %q", name, err, w)
			}
		}
	}
}

// D2: the function as it is deployed: found by its name, started by its environment, served by the framework.
func TestFramework(t *testing.T) {
	g, env := newGoogle(t), testenv.New(t)
	env.Topic(string(bus.TopicInbound))
	pair, err := emulator.Shared()
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range vars(g) {
		t.Setenv(name, value)
	}
	for name, value := range map[string]string{
		"FUNCTION_TARGET": "googlechat", "GOOGLE_CLOUD_PROJECT": env.ProjectID, "STAGING_BUCKET": "b", "STORAGE_EMULATOR_HOST": "127.0.0.1:1",
		"FIRESTORE_EMULATOR_HOST": pair.FirestoreHost, "PUBSUB_EMULATOR_HOST": pair.PubSubHost,
	} {
		t.Setenv(name, value)
	}
	address := freeAddress(t)
	host, port, _ := net.SplitHostPort(address)
	failed := make(chan error, 1)
	go func() { failed <- funcframework.StartHostPort(host, port) }() // it has no way to stop, and ends with the test process
	for {
		d := net.Dialer{Timeout: time.Second}
		conn, err := d.DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
			break
		}
		select {
		case err := <-failed:
			t.Fatal(err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	post := func(authorization string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/", strings.NewReader(message("m1", "hi")))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", authorization)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	if code, body := post(g.classic(t)); code != http.StatusOK || body != "{}" {
		t.Errorf("%d %q", code, body)
	}
	if code, _ := post("Bearer x"); code != http.StatusUnauthorized {
		t.Errorf("a stranger got %d", code)
	}
	if all := stored(t, env); len(all) != 1 || all[0].Text != "hi" {
		t.Errorf("stored %+v", all)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
