package tool_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"

	"kesoku.dev/shared/tool"
	"kesoku.dev/shared/tool/egress"
)

func fetch(t *testing.T, cfg egress.Config, target string) (tool.Output, error) {
	t.Helper()
	args, err := json.Marshal(map[string]string{"url": target})
	if err != nil {
		t.Fatal(err)
	}
	return tool.NewFetchURL(cfg).Run(t.Context(), tool.Scope{}, args)
}

// site serves pages for the tests; huge and bomb never end before a reader's limit.
func site(t *testing.T) (*httptest.Server, egress.Config) {
	t.Helper()
	mux := http.NewServeMux()
	serve := func(path, contentType, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil // the server shall not guess one
			if contentType != "" {
				w.Header().Set("Content-Type", contentType)
			}
			_, _ = w.Write([]byte(body))
		})
	}
	gbk, err := simplifiedchinese.GBK.NewEncoder().String("<title>标题</title><p>你好，世界")
	if err != nil {
		t.Fatal(err)
	}
	serve("/html", "text/html; charset=utf-8", `<title> A  page </title><script>evil()</script><h1>Head</h1><p>Text <a href="/x">link</a>`)
	serve("/gbk", "text/html; charset=GBK", gbk)
	serve("/json", "application/json", `{"a": "ü"}`)
	serve("/none", "", "plain words")
	serve("/png", "image/png", "\x89PNG\r\n\x1a\n\x00")
	serve("/pngnone", "", "\x89PNG\r\n\x1a\n\x00")
	serve("/liar", "text/plain", "words\x00\x01\x02")
	serve("/zip", "application/zip", "PK")
	serve("/empty", "text/html", "")
	mux.HandleFunc("/huge", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		for range 500 { // 3.5 MB
			if _, err := w.Write([]byte(strings.Repeat("汉字 ", 1000))); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range 20 {
			if _, err := z.Write(bytes.Repeat([]byte("a"), 1<<20)); err != nil {
				return
			}
		}
		_ = z.Close()
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/html", http.StatusMovedPermanently)
	})
	mux.HandleFunc("/inward", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://10.0.0.1/", http.StatusFound)
	})
	mux.HandleFunc("/seen", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		if strings.HasPrefix(r.UserAgent(), "Kesoku/1.0") && len(r.Header["Cookie"])+len(r.Header["Authorization"]) == 0 {
			_, _ = w.Write([]byte("named and without credentials"))
		}
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv, egress.Config{Allow: []netip.AddrPort{netip.MustParseAddrPort(srv.Listener.Addr().String())}}
}

func TestFetchURL(t *testing.T) {
	t.Parallel()
	srv, cfg := site(t)
	for _, c := range []struct {
		path, summary string
		has           []string
		fails         string
	}{
		{path: "/html", summary: "A page", has: []string{"URL: " + srv.URL + "/html\nTitle: A page\n", "# Head\n\nText [link](" + srv.URL + "/x)"}},
		{path: "/moved", summary: "A page", has: []string{"URL: " + srv.URL + "/html\n"}},
		{path: "/gbk", summary: "标题", has: []string{"你好，世界"}},
		{path: "/json", has: []string{`{"a": "ü"}`}},
		{path: "/none", has: []string{"plain words"}},
		{path: "/seen", has: []string{"named and without credentials"}},
		{path: "/empty", has: []string{"URL: "}},
		{path: "/huge", has: []string{"longer than 2097152 bytes", "汉字"}},
		{path: "/bomb", has: []string{"longer than 2097152 bytes"}}, // bounded after decompression
		{path: "/png", fails: `"image/png"`},
		{path: "/pngnone", fails: `"image/png"`},
		{path: "/zip", fails: `"application/zip"`},
		{path: "/liar", fails: "binary"},
		{path: "/missing", fails: "404 Not Found"},
		{path: "/inward", fails: "not a public web address"},
	} {
		t.Run(c.path, func(t *testing.T) {
			t.Parallel()
			out, err := fetch(t, cfg, srv.URL+c.path)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("%+v, %v; want an error with %q", out, err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.has {
				if !strings.Contains(out.Content, want) {
					t.Errorf("%.300q lacks %q", out.Content, want)
				}
			}
			if len(out.Content) > 3<<20 || strings.Contains(out.Content, "evil") || strings.Contains(out.Content, "\uFFFD") {
				t.Errorf("%d bytes: %.300q", len(out.Content), out.Content)
			}
			if c.summary != "" && out.Summary != c.summary {
				t.Errorf("summary %q, want %q", out.Summary, c.summary)
			}
		})
	}
}

// TestFetchURLEnds stalls before the headers and within the body: the fetch ends with its context, and says that time ran out.
func TestFetchURLEnds(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte("beginning"))
			_ = http.NewResponseController(w).Flush()
		}
		<-release
	}))
	defer srv.Close()
	defer close(release)
	cfg := egress.Config{Allow: []netip.AddrPort{netip.MustParseAddrPort(srv.Listener.Addr().String())}}
	for _, path := range []string{"/headers", "/body"} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		out, err := tool.NewFetchURL(cfg).Run(ctx, tool.Scope{}, json.RawMessage(`{"url":"`+srv.URL+path+`"}`))
		cancel()
		if err == nil || !strings.Contains(err.Error(), "in time") {
			t.Errorf("%s: %+v, %v", path, out, err)
		}
	}
}

func TestFetchURLRefuses(t *testing.T) {
	t.Parallel()
	for target, has := range map[string]string{
		"http://127.0.0.1/":                       "not a public web address",
		"http://169.254.169.254/computeMetadata/": "not a public web address",
		"http://[::1]/":                           "not a public web address",
		"http://[::ffff:10.0.0.1]/":               "not a public web address",
		"https://[64:ff9b::a9fe:a9fe]/":           "not a public web address",
		"http://8.8.8.8:22/":                      "not a public web address",
		"file:///etc/passwd":                      "http://",
		"https://user:pass@example.com/":          "password",
		"nonsense":                                "http://",
	} {
		out, err := fetch(t, egress.Config{}, target)
		if err == nil || !strings.Contains(err.Error(), has) {
			t.Errorf("%s: %+v, %v; want an error with %q", target, out, err, has)
		}
	}
}
