// Package egress is the way out to the web for URLs that a model or a stranger wrote: an HTTP client that reaches public hosts only,
// however the URL, the name server or a redirect tries to lead it inwards. It may know of addresses and HTTP; it must not know what
// the pages are for, and it carries no credentials, cookies or proxy of the environment.
package egress

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

const (
	maxRedirects = 5
	maxURL       = 2048     // bytes; what browsers and proxies agree on
	maxHeader    = 64 << 10 // bytes of response header
	dialTimeout  = 10 * time.Second
)

// Config is what may differ from place to place.
type Config struct {
	// Allow names addresses that may be reached although they are not public, each with its port. None in production; the local stack
	// names its own demonstration page.
	Allow []netip.AddrPort
	// Resolver looks names up; nil means the system's.
	Resolver *net.Resolver
}

// New returns a client that refuses every connection to an address that is neither public nor allowed, with an error that is
// ErrRefused. It follows at most five redirects, each checked like the first URL. Deadlines and body sizes are the caller's.
func New(c Config) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout, Resolver: c.Resolver, ControlContext: c.control}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    dialTimeout,
			MaxResponseHeaderBytes: maxHeader,
			// A page is fetched once; an idle connection would only keep a frozen function's socket.
			DisableKeepAlives: true,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return checkURL(req.URL)
		},
	}
}

// ParseURL reads a URL that somebody else wrote: absolute, http or https, with a host and without credentials, at most 2048 bytes.
func ParseURL(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, fmt.Errorf("the URL is longer than %d bytes", maxURL)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("not a URL: %w", err)
	}
	if err := checkURL(u); err != nil {
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("scheme %q cannot be fetched: write an absolute http:// or https:// URL", u.Scheme)
	case u.Host == "" || u.Opaque != "":
		return errors.New("the URL names no host: write an absolute http:// or https:// URL")
	case u.User != nil:
		return errors.New("a URL with a user name or password is not fetched")
	default:
		return nil
	}
}
