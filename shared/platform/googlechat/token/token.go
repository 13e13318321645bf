// Package token tells by the token of a request to the Google Chat webhook who sent it. It knows what Google signs for whom; it
// must not know what the requests say.
package token

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"cloud.google.com/go/auth/credentials/idtoken"

	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/errs"
)

// Caller is who sent a request to the webhook.
type Caller string

// The callers. Each may send its own form of body only; package webhook sees to that.
const (
	Chat Caller = "chat" // Google Chat, with interaction events
	Push Caller = "push" // Pub/Sub, with Workspace events
)

// ErrUnauthenticated says that a request bears no token that we accept: answer 401.
var ErrUnauthenticated = errors.New("not authenticated")

const (
	chatAccount    = "chat@system.gserviceaccount.com" // issuer of classic tokens, email of others
	addOnDomain    = "@gcp-sa-gsuiteaddons.iam.gserviceaccount.com"
	chatCertsURL   = "https://www.googleapis.com/service_accounts/v1/jwk/" + chatAccount
	googleCertsURL = "https://www.googleapis.com/oauth2/v3/certs"

	maxToken    = 8 << 10          // bytes; real ones have about 1,000
	maxSkew     = 5 * time.Minute  // between Google's clock and ours
	maxLifetime = 24 * time.Hour   // of a token; Google's live one hour
	certTimeout = 10 * time.Second // Chat gives up on us after 30
)

// Config says whose tokens are good.
type Config struct {
	ProjectNumber string // of the Chat app's project: audience of classic tokens, part of the add-on's account
	Endpoint      string // the webhook's URL as configured for the Chat app: audience of all other tokens
	PushAccount   string // service account of the push subscription; empty where there is none
	PushAudience  string // of its tokens; empty for Endpoint
	// Where the keys are. Empty for Google's own.
	ChatCertsURL   string
	GoogleCertsURL string
}

var digits = regexp.MustCompile(`^[0-9]{1,20}$`)

func (c Config) validate() error {
	var all []error
	if !digits.MatchString(c.ProjectNumber) {
		all = append(all, fmt.Errorf("project number %q is not a number", c.ProjectNumber))
	}
	for name, s := range map[string]string{
		"endpoint": c.Endpoint, "chat certificates URL": c.ChatCertsURL, "google certificates URL": c.GoogleCertsURL,
	} {
		if u, err := url.Parse(s); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
			all = append(all, fmt.Errorf("%s %q is not an absolute URL", name, s))
		}
	}
	if c.PushAccount == chatAccount || strings.HasSuffix(c.PushAccount, addOnDomain) {
		all = append(all, fmt.Errorf("push account %q is Google Chat's own", c.PushAccount))
	}
	return errors.Join(all...)
}

// Verifier tells by a request's token who sent it. It is safe for concurrent use and keeps the keys as long as they are good.
type Verifier struct {
	config Config
	clock  clock.Clock
	chat   *idtoken.Validator
	google *idtoken.Validator
}

// New returns a verifier. Every fault of the configuration is in its error.
func New(c Config, clk clock.Clock) (*Verifier, error) {
	c.ChatCertsURL = cmp.Or(c.ChatCertsURL, chatCertsURL)
	c.GoogleCertsURL = cmp.Or(c.GoogleCertsURL, googleCertsURL)
	c.PushAudience = cmp.Or(c.PushAudience, c.Endpoint)
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("google chat verifier: %w", err)
	}
	client := &http.Client{Transport: okOnly{http.DefaultTransport}, Timeout: certTimeout}
	fromChat, err := idtoken.NewValidator(&idtoken.ValidatorOptions{Client: client, RS256CertsURL: c.ChatCertsURL})
	if err != nil {
		return nil, fmt.Errorf("validator of chat tokens: %w", err)
	}
	fromGoogle, err := idtoken.NewValidator(&idtoken.ValidatorOptions{Client: client, RS256CertsURL: c.GoogleCertsURL})
	if err != nil {
		return nil, fmt.Errorf("validator of google tokens: %w", err)
	}
	return &Verifier{config: c, clock: clk, chat: fromChat, google: fromGoogle}, nil
}

// Verify reads the Authorization header of a request. Its error is ErrUnauthenticated, saying what was wrong and never the token; or, when
// the keys could not be had, retryable.
func (v *Verifier) Verify(ctx context.Context, authorization string) (Caller, error) {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
		return "", refuse("no bearer token of sensible length")
	}
	claimed, err := peek(token)
	if err != nil {
		return "", err
	}
	rules, err := v.rulesFor(claimed)
	if err != nil {
		return "", err
	}
	proven, err := rules.validator.Validate(ctx, token, rules.audience)
	var unreachable *url.Error
	switch {
	case errors.As(err, &unreachable):
		return "", errs.Retryable(fmt.Errorf("keys of %s: %w", rules.caller, err), 0)
	case err != nil:
		return "", refuse("%v", err)
	}
	return rules.caller, v.issuedWell(proven)
}

// rules are what a token must prove to come from the caller.
type rules struct {
	caller    Caller
	validator *idtoken.Validator
	audience  string
}

func (v *Verifier) rulesFor(claimed claims) (rules, error) {
	switch claimed.Issuer {
	case chatAccount:
		return rules{Chat, v.chat, v.config.ProjectNumber}, nil
	case "https://accounts.google.com", "accounts.google.com":
	default:
		return rules{}, refuse("issuer %.100q", claimed.Issuer)
	}
	if !claimed.Verified || claimed.Email == "" {
		return rules{}, refuse("no verified email")
	}
	switch claimed.Email {
	case chatAccount, "service-" + v.config.ProjectNumber + addOnDomain:
		return rules{Chat, v.google, v.config.Endpoint}, nil
	case v.config.PushAccount:
		return rules{Push, v.google, v.config.PushAudience}, nil
	default:
		return rules{}, refuse("email %.100q", claimed.Email)
	}
}

// issuedWell checks the times that the library does not look at.
func (v *Verifier) issuedWell(p *idtoken.Payload) error {
	issued, expires := time.Unix(p.IssuedAt, 0), time.Unix(p.Expires, 0)
	switch now := v.clock.Now(); {
	case issued.After(now.Add(maxSkew)):
		return refuse("issued in the future")
	case expires.Sub(issued) <= 0 || expires.Sub(issued) > maxLifetime:
		return refuse("lifetime out of bounds")
	default:
		return nil
	}
}

// claims are what picks the rules. They are unproven until the library has checked the signature over the very same bytes.
type claims struct {
	Issuer   string `json:"iss"`
	Email    string `json:"email"`
	Verified bool   `json:"email_verified"`
}

// peek reads the claims, and keeps from the library what makes it panic: claims that are null, and a short ES256 signature, which no token
// of Google's for us has.
func peek(token string) (claims, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}, refuse("token has %d parts", len(parts))
	}
	var header *struct {
		Algorithm string `json:"alg"`
	}
	if err := decodePart(parts[0], &header); err != nil || header == nil || header.Algorithm != "RS256" {
		return claims{}, refuse("token is not signed with RS256")
	}
	var c *claims
	if err := decodePart(parts[1], &c); err != nil || c == nil {
		return claims{}, refuse("claims cannot be read")
	}
	return *c, nil
}

func decodePart(part string, v any) error {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return fmt.Errorf("base64url: %w", err)
	}
	return json.Unmarshal(raw, v)
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnauthenticated, fmt.Sprintf(format, args...))
}

// okOnly makes an error of an answer without keys, so that it counts as keys not had rather than as a bad token.
type okOnly struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t okOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("status %d", resp.StatusCode), resp.Body.Close())
	}
	return resp, nil
}
