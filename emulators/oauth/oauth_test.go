package oauth_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/auth/credentials"
	"github.com/golang-jwt/jwt/v5"

	"kesoku.dev/emulators/oauth"
)

const account = "function@local.iam.gserviceaccount.com"

func serve(t *testing.T) (tokenURL, keyFile string) {
	t.Helper()
	server, err := oauth.New(account)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	if keyFile, err = server.WriteKey(t.TempDir(), "p", web.URL+"/token"); err != nil {
		t.Fatal(err)
	}
	return web.URL + "/token", keyFile
}

// Google's own client gets its token the real way, with the key file that names where.
func TestRealClient(t *testing.T) {
	t.Parallel()
	_, keyFile := serve(t)
	info, err := os.Stat(keyFile)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v; want it for its owner alone", info.Mode(), err)
	}
	seen := map[string]bool{}
	for range 2 {
		creds, err := credentials.NewCredentialsFromFile(credentials.ServiceAccount, keyFile, &credentials.DetectOptions{Scopes: []string{"https://www.googleapis.com/auth/chat.bot"}})
		if err != nil {
			t.Fatal(err)
		}
		token, err := creds.Token(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if left := time.Until(token.Expiry); token.Value == "" || token.Type != "Bearer" || left < 50*time.Minute || left > time.Hour {
			t.Errorf("token of %d characters, type %s, good for %s", len(token.Value), token.Type, left)
		}
		seen[token.Value] = true
	}
	if len(seen) != 2 {
		t.Error("the same token twice")
	}
}

// Nobody gets a token without an assertion that the account's own key signed.
func TestRefusals(t *testing.T) {
	t.Parallel()
	tokenURL, keyFile := serve(t)
	own := ownKey(t, keyFile)
	foreign, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	hour := time.Now().Add(time.Hour).Unix()
	sign := func(method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
		s, err := jwt.NewWithClaims(method, claims).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	good := sign(jwt.SigningMethodRS256, own, jwt.MapClaims{"iss": account, "exp": hour})
	const grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	for name, tt := range map[string]struct {
		grant, assertion string
		want             int
		code             string
	}{
		"good":          {grant, good, http.StatusOK, ""},
		"another grant": {"authorization_code", good, http.StatusBadRequest, "unsupported_grant_type"},
		"no grant":      {"", good, http.StatusBadRequest, "unsupported_grant_type"},
		"no assertion":  {grant, "", http.StatusBadRequest, "invalid_grant"},
		"foreign key":   {grant, sign(jwt.SigningMethodRS256, foreign, jwt.MapClaims{"iss": account, "exp": hour}), http.StatusBadRequest, "invalid_grant"},
		"unsigned":      {grant, sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, jwt.MapClaims{"iss": account, "exp": hour}), http.StatusBadRequest, "invalid_grant"},
		"another's":     {grant, sign(jwt.SigningMethodRS256, own, jwt.MapClaims{"iss": "other@local", "exp": hour}), http.StatusBadRequest, "invalid_grant"},
		"expired":       {grant, sign(jwt.SigningMethodRS256, own, jwt.MapClaims{"iss": account, "exp": hour - 7200}), http.StatusBadRequest, "invalid_grant"},
		"endless":       {grant, sign(jwt.SigningMethodRS256, own, jwt.MapClaims{"iss": account}), http.StatusBadRequest, "invalid_grant"},
		"too long":      {grant, strings.Repeat("a", 100<<10), http.StatusBadRequest, ""},
	} {
		status, body := post(t, tokenURL, url.Values{"grant_type": {tt.grant}, "assertion": {tt.assertion}})
		if status != tt.want || (tt.code != "" && body["error"] != tt.code) || (body["access_token"] != nil) != (tt.want == http.StatusOK) {
			t.Errorf("%s: %d %v", name, status, body)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tokenURL+"?grant_type="+url.QueryEscape(grant)+"&assertion="+good, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := http.DefaultClient.Do(r); err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("GET: %v, %v", resp, err)
	}
}

func ownKey(t *testing.T, keyFile string) *rsa.PrivateKey {
	t.Helper()
	raw, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]string
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(file["private_key"]))
	if err != nil || file["client_email"] != account || file["type"] != "service_account" {
		t.Fatal(file, err)
	}
	return key
}

func post(t *testing.T, tokenURL string, form url.Values) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return resp.StatusCode, body
}
