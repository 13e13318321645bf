package token_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/platform/googlechat/token"
)

const (
	project   = "1234567890"
	endpoint  = "https://hook.example/googlechat"
	pushURL   = "https://hook.example/push"
	pusher    = "push@p.iam.gserviceaccount.com"
	chatEmail = "chat@system.gserviceaccount.com"
	addOn     = "service-1234567890@gcp-sa-gsuiteaddons.iam.gserviceaccount.com"
	google    = "https://accounts.google.com"
)

// google signs with one key as Chat and with another as itself, as the real one does.
type signer struct {
	chat, accounts *rsa.PrivateKey
	server         *httptest.Server
	verifier       *token.Verifier
}

func newSigner(t *testing.T, clk clock.Clock) *signer {
	t.Helper()
	s := &signer{chat: key(t), accounts: key(t)}
	mux := http.NewServeMux()
	mux.HandleFunc("/chat", serve(s.chat, "chat-key"))
	mux.HandleFunc("/accounts", serve(s.accounts, "accounts-key"))
	s.server = httptest.NewServer(mux)
	t.Cleanup(s.server.Close)
	var err error
	s.verifier, err = token.New(token.Config{
		ProjectNumber: project, Endpoint: endpoint, PushAccount: pusher, PushAudience: pushURL,
		ChatCertsURL: s.server.URL + "/chat", GoogleCertsURL: s.server.URL + "/accounts",
	}, clk)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func key(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func serve(k *rsa.PrivateKey, id string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []map[string]string{{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": id,
			"n": base64.RawURLEncoding.EncodeToString(k.N.Bytes()),
			"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(k.E)).Bytes()),
		}}})
	}
}

func sign(t *testing.T, k *rsa.PrivateKey, id string, claims jwt.MapClaims) string {
	t.Helper()
	j := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	j.Header["kid"] = id
	s, err := j.SignedString(k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// claims of an hour, changed by the pairs of name and value; a nil value removes.
func claims(changes ...any) jwt.MapClaims {
	now := time.Now()
	c := jwt.MapClaims{"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "sub": "1"}
	for pair := range slices.Chunk(changes, 2) {
		name := pair[0].(string)
		if c[name] = pair[1]; pair[1] == nil {
			delete(c, name)
		}
	}
	return c
}

// case B10, case B12: both forms of token are good, each by its own rules only.
func TestVerify(t *testing.T) {
	t.Parallel()
	s := newSigner(t, clock.System{})
	classic := func(changes ...any) string {
		return sign(t, s.chat, "chat-key", claims(append([]any{"iss", chatEmail, "aud", project}, changes...)...))
	}
	oidc := func(changes ...any) string {
		all := append([]any{"iss", google, "aud", endpoint, "email", chatEmail, "email_verified", true}, changes...)
		return sign(t, s.accounts, "accounts-key", claims(all...))
	}
	past, future := time.Now().Add(-2*time.Hour).Unix(), time.Now().Add(time.Hour).Unix()
	tests := map[string]struct {
		token string
		want  token.Caller // empty for refused
	}{
		"classic":                      {classic(), token.Chat},
		"classic of another project":   {classic("aud", "999"), ""},
		"classic for the endpoint":     {classic("aud", endpoint), ""},
		"classic, expired":             {classic("iat", past-3600, "exp", past), ""},
		"classic, by the other key":    {sign(t, s.accounts, "accounts-key", claims("iss", chatEmail, "aud", project)), ""},
		"OIDC of Chat":                 {oidc(), token.Chat},
		"OIDC, short issuer":           {oidc("iss", "accounts.google.com"), token.Chat},
		"OIDC of the add-on":           {oidc("email", addOn), token.Chat},
		"add-on of another project":    {oidc("email", "service-9@gcp-sa-gsuiteaddons.iam.gserviceaccount.com"), ""},
		"add-on's name as a prefix":    {oidc("email", addOn+".evil.example"), ""},
		"OIDC for another URL":         {oidc("aud", endpoint+"/"), ""},
		"OIDC for the project":         {oidc("aud", project), ""},
		"OIDC without audience":        {oidc("aud", nil), ""},
		"OIDC of another account":      {oidc("email", "me@example.com"), ""},
		"OIDC without email":           {oidc("email", nil), ""},
		"OIDC, email not verified":     {oidc("email_verified", false), ""},
		"OIDC, email verified as text": {oidc("email_verified", "true"), ""},
		"another issuer":               {oidc("iss", "https://evil.example"), ""},
		"IAP as issuer":                {oidc("iss", "https://cloud.google.com/iap"), ""},
		"issued in the future":         {oidc("iat", future, "exp", future+3600), ""},
		"lives too long":               {oidc("exp", future+30*24*3600), ""},
		"without issue time":           {oidc("iat", nil), ""},
		"push":                         {oidc("email", pusher, "aud", pushURL), token.Push},
		"push for the chat endpoint":   {oidc("email", pusher), ""},
		"chat for the push endpoint":   {oidc("aud", pushURL), ""},
		"signed by somebody else":      {sign(t, key(t), "accounts-key", claims("iss", google, "aud", endpoint, "email", chatEmail, "email_verified", true)), ""},
		"unknown key":                  {sign(t, s.accounts, "none", claims("iss", google, "aud", endpoint, "email", chatEmail, "email_verified", true)), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := s.verifier.Verify(t.Context(), "Bearer "+tt.token)
			if tt.want == "" {
				refused(t, tt.token, got, err)
				return
			}
			if got != tt.want || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func refused(t *testing.T, tok string, got token.Caller, err error) {
	t.Helper()
	if !errors.Is(err, token.ErrUnauthenticated) {
		t.Fatalf("%q, %v", got, err)
	}
	if tok != "" && strings.Contains(err.Error(), tok) {
		t.Errorf("the token is in the error: %v", err)
	}
}

func TestVerifyOfNoToken(t *testing.T) {
	t.Parallel()
	s := newSigner(t, clock.System{})
	part := func(v string) string { return base64.RawURLEncoding.EncodeToString([]byte(v)) }
	body := part(`{"iss":"accounts.google.com","aud":"` + endpoint + `","email":"` + chatEmail + `","email_verified":true,"exp":99999999999}`)
	for name, header := range map[string]string{
		"nothing":               "",
		"scheme only":           "Bearer ",
		"another scheme":        "Basic abc",
		"garbage":               "Bearer abc",
		"dots":                  "Bearer ..",
		"huge":                  "Bearer " + strings.Repeat("a", 10_000),
		"no algorithm":          "Bearer " + part(`{"alg":"none"}`) + "." + body + ".",
		"null":                  "Bearer " + part(`null`) + "." + part(`null`) + ".",
		"null payload":          "Bearer " + part(`{"alg":"RS256"}`) + "." + part(`null`) + ".",
		"HMAC":                  "Bearer " + part(`{"alg":"HS256","kid":"accounts-key"}`) + "." + body + "." + part("x"),
		"ES256, short":          "Bearer " + part(`{"alg":"ES256","kid":"accounts-key"}`) + "." + body + "." + part("x"),
		"RS256, empty":          "Bearer " + part(`{"alg":"RS256","kid":"accounts-key"}`) + "." + body + ".",
		"RS256, no key":         "Bearer " + part(`{"alg":"RS256"}`) + "." + body + "." + part("x"),
		"payload of wrong type": "Bearer " + part(`{"alg":"RS256"}`) + "." + part(`{"iss":1}`) + "." + part("x"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := s.verifier.Verify(t.Context(), header)
			refused(t, "", got, err)
		})
	}
}

// Keys that cannot be had are our trouble, not the caller's.
func TestVerifyWithoutKeys(t *testing.T) {
	t.Parallel()
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer down.Close()
	v, err := token.New(token.Config{
		ProjectNumber: project, Endpoint: endpoint, ChatCertsURL: down.URL, GoogleCertsURL: down.URL,
	}, clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	tok := sign(t, key(t), "k", claims("iss", chatEmail, "aud", project))
	if _, err := v.Verify(t.Context(), "Bearer "+tok); errs.KindOf(err) != errs.KindRetryable || errors.Is(err, token.ErrUnauthenticated) {
		t.Errorf("keys answered 502: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Verify(ctx, "Bearer "+tok); errors.Is(err, token.ErrUnauthenticated) {
		t.Errorf("ended context: %v", err)
	}
}

// A push token is worth nothing where no push account is configured.
func TestPushNeedsAnAccount(t *testing.T) {
	t.Parallel()
	s := newSigner(t, clock.System{})
	v, err := token.New(token.Config{
		ProjectNumber: project, Endpoint: endpoint, ChatCertsURL: s.server.URL + "/chat", GoogleCertsURL: s.server.URL + "/accounts",
	}, clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	for _, email := range []string{pusher, ""} {
		tok := sign(t, s.accounts, "accounts-key", claims("iss", google, "aud", endpoint, "email", email, "email_verified", true))
		got, err := v.Verify(t.Context(), "Bearer "+tok)
		refused(t, tok, got, err)
	}
}

func TestConfigTellsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := token.New(token.Config{ProjectNumber: "my-project", Endpoint: "/googlechat", PushAccount: chatEmail}, clock.System{})
	if err == nil {
		t.Fatal("no error")
	}
	if n := len(strings.Split(err.Error(), "\n")); n != 3 {
		t.Errorf("%d faults told, there are 3: %v", n, err)
	}
}
