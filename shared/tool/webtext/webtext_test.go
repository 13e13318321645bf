package webtext_test

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"kesoku.dev/shared/tool/webtext"
)

var base = &url.URL{Scheme: "https", Host: "example.com", Path: "/dir/page"}

func TestHTML(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Long enough to be the page itself. ", 10)
	for _, c := range []struct{ name, in, title, want string }{
		{"paragraphs", "<p>One\n  two<p>three", "", "One two\n\nthree"},
		{"inline", "<p>a<b>b</b> <i>c</i>\nd<br>e", "", "ab c d\ne"},
		{"heading", "<title>T\n t</title><h2>Head <em>line</em></h2>text", "T t", "## Head line\n\ntext"},
		{"list", "<ul><li>a<li><p>b</p><ul><li>c</ul><li></ul>d", "", "- a\n- b\n\n- c\n\nd"},
		{"table", "<table><tr><th>A<th>B\n<tr><td>1</td>\n<td>2</td></table>", "", "A | B\n1 | 2"},
		{"code", "<pre>a\n  b &lt;c&gt;</pre>after", "", "```\na\n  b <c>\n```\n\nafter"},
		{"links", `<a href="../x">up</a> <a href="#a">here</a> <a href="javascript:x()">js</a> <a href="mailto:a@b">m</a> <a>none</a>`, "",
			"[up](https://example.com/x) here js m none"},
		{"image", `<p>see <img alt="a cat" src="x"> and <img src="y">`, "", "see a cat and"},
		{"gone", "<nav>menu</nav><script>s</script><style>t</style><noscript>n</noscript><template>p</template><svg><title>v</title></svg>ok", "", "ok"},
		{"hidden", `<div hidden>a</div><div style="color:red; DISPLAY : none">b</div><span aria-hidden="true">c</span>d`, "", "d"},
		{"form stays", "<form><p>all of the page</form>", "", "all of the page"},
		{"main only", "<header>noise</header><main><p>" + long + "</main><footer>noise</footer>", "", strings.TrimSpace(long)},
		{"small main", "<header>head</header><main>tiny</main>", "", "head\n\ntiny"},
		{"entities", "<p>&amp;&lt;&nbsp;&#x6C49;", "", "&< 汉"},
		{"empty", "", "", ""},
	} {
		p, err := webtext.Decode([]byte(c.in), "text/html; charset=utf-8", base)
		if err != nil || p.Title != c.title || p.Text != c.want {
			t.Errorf("%s: title %q, text %q, %v; want %q, %q", c.name, p.Title, p.Text, err, c.title, c.want)
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	t.Parallel()
	if _, err := webtext.Decode([]byte(strings.Repeat("<div>", 100_000)), "text/html", base); err == nil {
		t.Error("a tree of 100,000 levels was read")
	}
}

func encode(t *testing.T, e encoding.Encoding, text string) []byte {
	t.Helper()
	b, err := e.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(b)
}

func TestCharsets(t *testing.T) {
	t.Parallel()
	ascii := strings.Repeat("a ", 1000)
	for _, c := range []struct {
		name, contentType string
		body              []byte
		want              string
	}{
		{"header", "text/plain; charset=shift_jis", encode(t, japanese.ShiftJIS, "日本語"), "日本語"},
		{"meta", "text/html", encode(t, simplifiedchinese.GBK, `<meta charset="gbk"><p>汉字`), "汉字"},
		{"meta of seven bits", "text/html", encode(t, japanese.ISO2022JP, `<meta charset="iso-2022-jp"><p>日本語`), "日本語"},
		{"XML declaration", "application/xml", encode(t, simplifiedchinese.GBK, `<?xml version="1.0" encoding="GBK"?><a>汉字</a>`),
			`<?xml version="1.0" encoding="GBK"?><a>汉字</a>`},
		{"BOM", "text/plain", encode(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "汉字"), "汉字"},
		{"UTF-8 BOM", "application/json", []byte("\xef\xbb\xbf{}"), "{}"},
		{"undeclared UTF-8 late in the page", "text/plain", []byte(ascii + "汉字"), ascii + "汉字"},
		{"undeclared Latin", "text/plain", []byte("caf\xe9"), "café"},
		{"cut in a rune", "text/plain", []byte("汉字")[:5], "汉"},
		{"wrong declaration", "text/plain; charset=utf-8", []byte("a\xffb"), "a\uFFFDb"},
		{"unknown charset", "text/plain; charset=x-none", []byte("汉字"), "汉字"},
	} {
		p, err := webtext.Decode(c.body, c.contentType, base)
		if err != nil || p.Text != c.want {
			t.Errorf("%s: %.80q, %v; want %.80q", c.name, p.Text, err, c.want)
		}
	}
}

func TestAccepts(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]bool{
		"text/html": true, "TEXT/HTML; Charset=utf-8": true, "application/xhtml+xml": true, "text/plain": true, "application/json": true,
		"application/ld+json": true, "application/rss+xml": true, "text/xml": true, "text/csv": true, "": false, "image/png": false,
		"application/octet-stream": false, "image/svg+xml": false, "text/javascript": false, "multipart/form-data; boundary=x": false,
		"application/pdf": false, "text": false, "/": false,
	} {
		if got := webtext.Accepts(contentType); got != want {
			t.Errorf("Accepts(%q) = %v", contentType, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("<title>t</title><ul><li><p>a<pre>b</pre><a href='x'>c</a></ul>"), "text/html")
	f.Add([]byte("<?xml version='1.0' encoding='gbk'?><a>\xba\xba</a>"), "text/xml")
	f.Add([]byte("\xff\xfea\x00"), "")
	f.Add([]byte("\xe6\xb1"), "text/plain; charset=utf-16be")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		p, err := webtext.Decode(body, contentType, base)
		if err == nil && (!utf8.ValidString(p.Text) || strings.ContainsRune(p.Text, 0) || strings.ContainsAny(p.Title, "\n\r")) {
			t.Errorf("title %q, text %q", p.Title, p.Text)
		}
	})
}
