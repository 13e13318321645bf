// Package signer makes the tokens that Google sends along with its calls, and the public keys to check them by: the ones Google Chat
// signs itself and the OIDC ones that Google's accounts service issues. Keys live as long as the process. It knows no chat and no HTTP
// client.
package signer

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// IssuerChat signs what a Chat app with a project number as audience receives.
	IssuerChat = "chat@system.gserviceaccount.com"
	// IssuerOIDC signs everything else: add-on events, endpoint-URL audiences and Pub/Sub pushes.
	IssuerOIDC = "https://accounts.google.com"

	keyBits  = 2048
	lifetime = time.Hour
	// maxAge is what the key endpoints allow to be cached, in seconds. Google's own is some hours; keys here die with the process.
	maxAge = 60
)

// Signer holds one key pair.
type Signer struct {
	issuer string
	kid    string
	key    *rsa.PrivateKey
	now    func() time.Time
}

// New makes a key pair for the issuer.
func New(issuer string, now func() time.Time) (*Signer, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("generate a key for %s: %w", issuer, err)
	}
	id := make([]byte, 20)
	if _, err := rand.Read(id); err != nil {
		return nil, fmt.Errorf("make a key id for %s: %w", issuer, err)
	}
	return &Signer{issuer: issuer, kid: fmt.Sprintf("%x", id), key: key, now: now}, nil
}

// Token signs a token for the audience, valid for an hour. With an email it also carries the claims of an OIDC token of that service
// account.
func (s *Signer) Token(audience, email string) (string, error) {
	now := s.now()
	claims := jwt.MapClaims{"iss": s.issuer, "aud": audience, "iat": now.Unix(), "exp": now.Add(lifetime).Unix()}
	if email != "" {
		claims["email"], claims["email_verified"] = email, true
		claims["sub"], claims["azp"] = "111111111111111111111", "111111111111111111111"
	}
	t := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	t.Header["kid"] = s.kid
	signed, err := t.SignedString(s.key)
	if err != nil {
		return "", fmt.Errorf("sign a token for %s: %w", audience, err)
	}
	return signed, nil
}

// jwk is one key in the form Google publishes.
type jwk struct {
	Kid string `json:"kid"`
	Kty string `json:"kty"`
	Alg string `json:"alg"`
	Use string `json:"use"`
	N   string `json:"n"`
	E   string `json:"e"`
}

// ServeHTTP answers with the public key as a JWK set.
func (s *Signer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	enc := base64.RawURLEncoding
	set := map[string][]jwk{"keys": {{
		Kid: s.kid, Kty: "RSA", Alg: jwt.SigningMethodRS256.Alg(), Use: "sig",
		N: enc.EncodeToString(s.key.N.Bytes()), E: enc.EncodeToString(big.NewInt(int64(s.key.E)).Bytes()),
	}}}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d, must-revalidate, no-transform", maxAge))
	_ = json.NewEncoder(w).Encode(set) // the reader has gone, there is nobody left to tell
}
