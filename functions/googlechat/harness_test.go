package googlechat_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"kesoku.dev/functions/googlechat"
	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/boot/boottest"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/testenv"
)

const (
	projectNumber = "1234567890"
	audience      = "https://hook.example/googlechat"
	pushAccount   = "push@p.iam.gserviceaccount.com"
	chatAccount   = "chat@system.gserviceaccount.com"
	addOnAccount  = "service-" + projectNumber + "@gcp-sa-gsuiteaddons.iam.gserviceaccount.com"
	accounts      = "https://accounts.google.com"
)

// google signs with one key as Chat and with another as its accounts service, and publishes both.
type google struct {
	chat, accounts *rsa.PrivateKey
	url            string
}

// keys are made once: they take longer than all the rest.
var keys = sync.OnceValues(func() (*google, error) {
	a, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	b, err := rsa.GenerateKey(rand.Reader, 2048)
	return &google{chat: a, accounts: b}, err
})

func newGoogle(t *testing.T) *google {
	t.Helper()
	k, err := keys()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/chat", publish(k.chat))
	mux.HandleFunc("/accounts", publish(k.accounts))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &google{chat: k.chat, accounts: k.accounts, url: server.URL}
}

func publish(k *rsa.PrivateKey) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		enc := base64.RawURLEncoding
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []map[string]string{{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k", "n": enc.EncodeToString(k.N.Bytes()), "e": enc.EncodeToString(big.NewInt(int64(k.E)).Bytes()),
		}}})
	}
}

// token signs claims of an hour with more of them; nil takes one away.
func token(t *testing.T, k *rsa.PrivateKey, claims jwt.MapClaims) string {
	t.Helper()
	now := time.Now()
	all := jwt.MapClaims{"iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	for name, value := range claims {
		all[name] = value
		if value == nil {
			delete(all, name)
		}
	}
	j := jwt.NewWithClaims(jwt.SigningMethodRS256, all)
	j.Header["kid"] = "k"
	signed, err := j.SignedString(k)
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + signed
}

// classic is the token of an interaction event, oidc that of anything else by a service account.
func (g *google) classic(t *testing.T) string {
	t.Helper()
	return token(t, g.chat, jwt.MapClaims{"iss": chatAccount, "aud": projectNumber})
}

func (g *google) oidc(t *testing.T, email string) string {
	t.Helper()
	return token(t, g.accounts, jwt.MapClaims{"iss": accounts, "aud": audience, "email": email, "email_verified": true})
}

// hook is the function under test on a project of its own.
type hook struct {
	*google
	env     *testenv.Env
	client  *testenv.Client
	base    *boot.Base
	handler http.Handler
	log     *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func vars(g *google) map[string]string {
	return map[string]string{
		"CHAT_PROJECT_NUMBER": projectNumber, "CHAT_AUDIENCE": audience, "CHAT_PUSH_ACCOUNT": pushAccount, "CHAT_APP_USER": "users/999",
		"CHAT_CERTS_URL": g.url + "/chat", "GOOGLE_CERTS_URL": g.url + "/accounts",
	}
}

func newHook(t *testing.T) *hook {
	t.Helper()
	h := &hook{google: newGoogle(t), env: testenv.New(t), log: &syncBuffer{}}
	h.client = h.env.Instance("googlechat")
	h.base = boottest.Base(t, h.env, h.client, clock.System{}, slog.New(slog.NewJSONHandler(h.log, nil)))
	v := boot.VarsOf(vars(h.google))
	var err error
	if h.handler, err = googlechat.New(t.Context(), h.base, v); err != nil || v.Err() != nil {
		t.Fatal(err, v.Err())
	}
	return h
}

// send posts a body under an Authorization header and returns the answer.
func (h *hook) send(t *testing.T, authorization, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	return w
}

// stored are the events in the store.
func stored(t *testing.T, env *testenv.Env) []chat.Record {
	t.Helper()
	snaps, err := env.Firestore.Collection("events").Documents(t.Context()).GetAll()
	if err != nil {
		t.Fatal(err)
	}
	out := make([]chat.Record, len(snaps))
	for i, s := range snaps {
		if err := s.DataTo(&out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// message is a classic interaction event of a message in a room, pushed is the same as a Workspace event.
func message(id, text string) string {
	return `{"type":"MESSAGE","eventTime":"2026-05-27T09:00:00Z","user":` + ann + `,"space":{"name":"spaces/A","spaceType":"SPACE"},"message":` + said(id, text) + `}`
}

func pushed(id, text string) string {
	data := base64.StdEncoding.EncodeToString([]byte(`{"message":` + said(id, text) + `}`))
	return `{"message":{"attributes":{"ce-type":"google.workspace.chat.message.v1.created","ce-time":"2026-05-27T09:00:00Z"},"data":"` + data + `"},"subscription":"s"}`
}

const ann = `{"name":"users/1","displayName":"Ann","type":"HUMAN"}`

func said(id, text string) string {
	encoded, _ := json.Marshal(text) // a string always encodes
	return `{"name":"spaces/A/messages/` + id + `","sender":` + ann + `,"createTime":"2026-05-27T09:00:00Z","text":` + string(encoded) +
		`,"space":{"name":"spaces/A"},"thread":{"name":"spaces/A/threads/t"}}`
}
