package bridge

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"cloud.google.com/go/pubsub/v2"

	"kesoku.dev/shared/clock"
)

// Limits of Pub/Sub's push delivery, from its public documentation.
const (
	maxAckDeadline     = 600 * time.Second // a push request that takes longer counts as failed
	defaultMinBackoff  = 10 * time.Second  // of a subscription's retry policy
	defaultMaxBackoff  = 600 * time.Second // of a subscription's retry policy
	defaultConcurrency = 100               // requests in flight to one function
	outstanding        = 1000              // messages held of one subscription, those that wait for their next attempt included
)

// Config says how a bridge delivers. Only Client is required.
type Config struct {
	Client      *pubsub.Client
	Concurrency int           // requests in flight for one route; 0: 100
	Timeout     time.Duration // of one request; 0: 600 s, the longest ack deadline
	MinBackoff  time.Duration // before the second attempt, then doubling; 0: 10 s
	MaxBackoff  time.Duration // the longest wait before an attempt; 0: 600 s
	Grace       time.Duration // how long a stopping bridge waits for requests in flight; 0: Timeout

	// Authorize adds to each request what Pub/Sub would: the OIDC token of the push service account. Nil adds nothing.
	Authorize func(*http.Request) error
	Chaos     Chaos
	Clock     clock.Clock  // nil: the machine's
	Log       *slog.Logger // nil: slog's default
}

// Route is one subscription and the function that it feeds.
type Route struct {
	Subscription string // id or full name
	URL          string // of the function, without the path below
	// Path is appended to URL. Empty: "/projects/P/topics/T" of the subscription's own topic, from which functions-framework-go reads
	// the topic (without it an event has no source).
	Path string
}

func (c Config) withDefaults() (Config, error) {
	var errs []error
	if c.Client == nil {
		errs = append(errs, errors.New("no Pub/Sub client"))
	}
	if c.Timeout < 0 || c.Timeout > maxAckDeadline {
		errs = append(errs, fmt.Errorf("timeout %v is not within 0 and %v", c.Timeout, maxAckDeadline))
	}
	if c.Concurrency < 0 || c.Concurrency > outstanding {
		errs = append(errs, fmt.Errorf("concurrency %d is not within 0 and %d", c.Concurrency, outstanding))
	}
	c.Timeout = orElse(c.Timeout, maxAckDeadline)
	c.Concurrency = orElse(c.Concurrency, defaultConcurrency)
	c.MinBackoff = orElse(c.MinBackoff, defaultMinBackoff)
	c.MaxBackoff = orElse(c.MaxBackoff, max(c.MinBackoff, defaultMaxBackoff))
	c.Grace = orElse(c.Grace, c.Timeout)
	if c.MinBackoff < 0 || c.MaxBackoff < c.MinBackoff {
		errs = append(errs, fmt.Errorf("back-off from %v to %v is not a range", c.MinBackoff, c.MaxBackoff))
	}
	if c.Clock == nil {
		c.Clock = clock.System{}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c, errors.Join(append(errs, c.Chaos.validate())...)
}

func (r Route) validate() error {
	u, err := url.Parse(r.URL)
	switch {
	case r.Subscription == "":
		return fmt.Errorf("route to %q: no subscription", r.URL)
	case err != nil:
		return fmt.Errorf("route of %s: %w", r.Subscription, err)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("route of %s: %q is not an http URL", r.Subscription, r.URL)
	}
	return nil
}

func orElse[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}
