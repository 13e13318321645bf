// Package oauth stands in for Google's OAuth token endpoint: it takes the signed assertion of a service account and hands out a bearer
// token, so that the real clients go their real way with a key that was made for this run.
package oauth

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	grant    = "urn:ietf:params:oauth:grant-type:jwt-bearer" // RFC 7523
	lifetime = time.Hour                                     // of Google's access tokens
	maxForm  = 64 << 10
)

// Server hands out tokens for one service account.
type Server struct {
	Account string
	key     *rsa.PrivateKey
}

// New makes a server with a fresh key for the service account.
func New(account string) (*Server, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make a key for %s: %w", account, err)
	}
	return &Server{Account: account, key: key}, nil
}

// WriteKey writes the account's key file, as GOOGLE_APPLICATION_CREDENTIALS names one, into dir; its token endpoint is tokenURL.
func (s *Server) WriteKey(dir, project, tokenURL string) (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		return "", fmt.Errorf("encode the key of %s: %w", s.Account, err)
	}
	file, err := json.MarshalIndent(map[string]string{
		"type": "service_account", "project_id": project, "private_key_id": "local", "client_email": s.Account, "client_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": tokenURL,
	}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode the key file of %s: %w", s.Account, err)
	}
	path := filepath.Join(dir, "credentials.json")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		return "", fmt.Errorf("write the key file of %s: %w", s.Account, err)
	}
	return path, nil
}

// ServeHTTP answers the token request of RFC 7523.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil || r.Method != http.MethodPost || r.PostForm.Get("grant_type") != grant {
		refuse(w, "unsupported_grant_type", "send a POST with grant_type "+grant)
		return
	}
	claims := jwt.RegisteredClaims{}
	_, err := jwt.ParseWithClaims(r.PostForm.Get("assertion"), &claims, func(*jwt.Token) (any, error) { return &s.key.PublicKey, nil },
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer(s.Account), jwt.WithExpirationRequired())
	if err != nil {
		refuse(w, "invalid_grant", err.Error())
		return
	}
	token := make([]byte, 16)
	_, _ = rand.Read(token) // never fails: it ends the program instead
	answer(w, http.StatusOK, map[string]any{"access_token": hex.EncodeToString(token), "token_type": "Bearer", "expires_in": int(lifetime.Seconds())})
}

func refuse(w http.ResponseWriter, code, description string) {
	answer(w, http.StatusBadRequest, map[string]any{"error": code, "error_description": description})
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone if this fails
}
