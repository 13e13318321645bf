package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"8.8.8.8":                  true,
		"93.184.216.34":            true,
		"172.15.255.255":           true,
		"172.32.0.0":               true,
		"100.63.255.255":           true,
		"2606:4700:4700::1111":     true,
		"2a00:1450:4001:81b::200e": true,
		"0.0.0.0":                  false, // unspecified: Linux dials itself
		"0.1.2.3":                  false,
		"10.1.2.3":                 false,
		"100.64.0.1":               false, // carrier-grade NAT
		"100.100.100.200":          false, // metadata of another cloud
		"127.0.0.1":                false,
		"127.255.255.254":          false,
		"169.254.169.254":          false, // metadata
		"168.63.129.16":            false, // metadata
		"172.16.0.1":               false,
		"172.31.255.255":           false,
		"192.0.0.192":              false, // metadata
		"192.168.1.1":              false,
		"198.18.0.1":               false,
		"224.0.0.1":                false, // multicast
		"239.255.255.250":          false,
		"255.255.255.255":          false,
		"::":                       false,
		"::1":                      false,
		"::ffff:127.0.0.1":         false, // IPv4-mapped
		"::ffff:10.0.0.1":          false,
		"::ffff:8.8.8.8":           true,  // the same host as 8.8.8.8
		"::127.0.0.1":              false, // IPv4-compatible
		"64:ff9b::7f00:1":          false, // NAT64 of 127.0.0.1
		"64:ff9b:1::a9fe:a9fe":     false, // local NAT64
		"2002:7f00:1::":            false, // 6to4 of 127.0.0.1
		"2001:0:7f00:1::":          false, // Teredo
		"2001:db8::1":              false,
		"3fff::1":                  false,
		"fc00::1":                  false, // unique local
		"fd00:ec2::254":            false, // metadata
		"fe80::1":                  false,
		"fe80::1%eth0":             false,
		"2606:4700:4700::1111%lo":  false,
		"fec0::1":                  false, // site-local
		"ff02::1":                  false, // multicast
		"5f00::1":                  false,
		"100::1":                   false, // discard-only
	} {
		if got := public(netip.MustParseAddr(addr)); got != want {
			t.Errorf("public(%s) = %v, want %v", addr, got, want)
		}
	}
}

func TestControlPorts(t *testing.T) {
	t.Parallel()
	cfg := Config{Allow: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8080")}}
	for _, c := range []struct {
		network, address string
		ok               bool
	}{
		{"tcp4", "8.8.8.8:80", true},
		{"tcp4", "8.8.8.8:443", true},
		{"tcp6", "[2606:4700:4700::1111]:443", true},
		{"tcp4", "8.8.8.8:22", false},
		{"tcp4", "8.8.8.8:8080", false},
		{"udp4", "8.8.8.8:443", false},
		{"tcp4", "127.0.0.1:8080", true}, // allowed by the configuration
		{"tcp6", "[::ffff:127.0.0.1]:8080", true},
		{"tcp4", "127.0.0.1:80", false}, // another port of the allowed host
		{"tcp4", "127.0.0.2:8080", false},
		{"tcp4", "nonsense", false},
	} {
		err := cfg.control(t.Context(), c.network, c.address, nil)
		if (err == nil) != c.ok || (err != nil && !errors.Is(err, ErrRefused)) {
			t.Errorf("control(%s, %s) = %v, want ok %v", c.network, c.address, err, c.ok)
		}
	}
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://example.com/a?b=c#d": "https://example.com/a?b=c",
		"http://example.com":          "http://example.com",
		"HTTP://例子.测试/路":              "http://例子.测试/%E8%B7%AF",
		"":                            "",
		"example.com":                 "",
		"//example.com":               "",
		"file:///etc/passwd":          "",
		"ftp://example.com":           "",
		"javascript:alert(1)":         "",
		"http:example.com":            "",
		"http://":                     "",
		"https://user@example.com":    "",
		"https://u:p@example.com":     "",
		"http://exa mple.com":         "",
		"http://example.com/\r\nX: y": "",
		"https://example.com/" + strings.Repeat("a", maxURL): "",
	} {
		u, err := ParseURL(text)
		switch {
		case want == "" && err == nil:
			t.Errorf("ParseURL(%.60q) = %v, want an error", text, u)
		case want != "" && (err != nil || mustUnescapeHost(u) != want):
			t.Errorf("ParseURL(%.60q) = %v, %v, want %q", text, u, err, want)
		}
	}
}

// mustUnescapeHost writes u with its host as it was given, where String escapes it.
func mustUnescapeHost(u *url.URL) string {
	if u == nil {
		return ""
	}
	s, err := url.PathUnescape(u.Host)
	if err != nil {
		return ""
	}
	return strings.Replace((&url.URL{Scheme: u.Scheme, Host: "HOST", Path: u.Path, RawQuery: u.RawQuery}).String(), "HOST", s, 1)
}

// allow returns a configuration that lets only srv through.
func allow(t *testing.T, srv *httptest.Server) Config {
	t.Helper()
	return Config{Allow: []netip.AddrPort{netip.MustParseAddrPort(srv.Listener.Addr().String())}}
}

func get(t *testing.T, c Config, target string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := New(c).Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestLoopbackIsRefused(t *testing.T) {
	t.Parallel()
	hit := atomic.Bool{}
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hit.Store(true) }))
	defer srv.Close()
	port := srv.Listener.Addr().(*net.TCPAddr).Port
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"} {
		// The numeric spellings fail at the name server of some systems, and are refused by control on the others.
		if _, err := get(t, Config{}, "http://"+host+":"+strconv.Itoa(port)); err == nil {
			t.Errorf("%s was reached", host)
		}
	}
	if hit.Load() {
		t.Error("the server saw a request")
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secret") }))
	defer inner.Close()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	defer srv.Close()
	mux.HandleFunc("/end", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "end") })
	mux.HandleFunc("/inner", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inner.URL, http.StatusFound) })
	mux.HandleFunc("/metadata", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/computeMetadata/v1/", http.StatusFound)
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	})
	mux.HandleFunc("/user", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://u:p@"+srv.Listener.Addr().String()+"/end", http.StatusFound)
	})
	mux.HandleFunc("/hop/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.PathValue("n"))
		if err != nil || n <= 1 {
			http.Redirect(w, r, "/end", http.StatusFound)
			return
		}
		http.Redirect(w, r, "/hop/"+strconv.Itoa(n-1), http.StatusFound)
	})
	for _, c := range []struct {
		path    string
		want    string
		refused bool
	}{
		{path: "/end", want: "end"},
		{path: "/hop/5", want: "end"},
		{path: "/hop/6"},
		{path: "/inner", refused: true},
		{path: "/metadata", refused: true},
		{path: "/file"},
		{path: "/user"},
	} {
		body, err := get(t, allow(t, srv), srv.URL+c.path)
		if body != c.want || (err == nil) != (c.want != "") || errors.Is(err, ErrRefused) != c.refused {
			t.Errorf("%s: %q, %v", c.path, body, err)
		}
	}
}

// TestNamesThatLeadInwards resolves public-looking names to addresses that are not, one of them only from the second answer on.
func TestNamesThatLeadInwards(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") }))
	defer srv.Close()
	port := ":" + strconv.Itoa(srv.Listener.Addr().(*net.TCPAddr).Port)
	var asked atomic.Int32
	resolver := nameServer(t, func(name string) netip.Addr {
		switch name {
		case "metadata.example.":
			return netip.MustParseAddr("169.254.169.254")
		case "rebind.example.": // allowed when first looked up, not when looked up again
			if asked.Add(1) == 1 {
				return netip.MustParseAddr("127.0.0.1")
			}
			return netip.MustParseAddr("127.0.0.2")
		default:
			return netip.MustParseAddr("127.0.0.1")
		}
	})
	cfg := allow(t, srv)
	cfg.Resolver = resolver
	if body, err := get(t, cfg, "http://rebind.example"+port); err != nil || body != "page" {
		t.Fatalf("first: %q, %v", body, err)
	}
	for _, target := range []string{"http://rebind.example" + port, "http://metadata.example", "https://loopback.example"} {
		if _, err := get(t, cfg, target); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", target, err)
		}
	}
}

func TestProxyOfTheEnvironmentIsIgnored(t *testing.T) {
	t.Parallel()
	if tr, ok := New(Config{}).Transport.(*http.Transport); !ok || tr.Proxy != nil {
		t.Error("the transport asks for a proxy, which would dial for it")
	}
}

// nameServer runs a DNS server that answers A questions with answer's address, and returns a resolver that asks it.
func nameServer(t *testing.T, answer func(name string) netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := dnsReply(buf[:n], answer); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp4", conn.LocalAddr().String())
	}}
}

func dnsReply(query []byte, answer func(name string) netip.Addr) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	out := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true, Authoritative: true},
		Questions: m.Questions,
	}
	if q.Type == dnsmessage.TypeA {
		out.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
			Body:   &dnsmessage.AResource{A: answer(q.Name.String()).As4()},
		}}
	}
	reply, err := out.Pack()
	if err != nil {
		return nil
	}
	return reply
}
