// Package webtext turns the body of a web page into text for a reader who sees no layout: it decodes whatever charset the page has and
// reduces HTML to light Markdown. It is pure: it fetches nothing and follows no reference of the page.
package webtext

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/htmlindex"
)

// form is how a content type is read.
type form int

const (
	formNone form = iota
	formHTML
	formText
	formXML
)

// formOf is the allow-list of content types.
func formOf(contentType string) form {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil && media == "" {
		return formNone
	}
	switch media {
	case "text/html", "application/xhtml+xml":
		return formHTML
	case "text/plain", "text/markdown", "text/csv", "text/x-markdown", "application/json", "application/x-ndjson", "application/yaml":
		return formText
	case "text/xml", "application/xml":
		return formXML
	}
	switch {
	case strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"):
		return formText
	case strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+xml"):
		return formXML
	default:
		return formNone
	}
}

// Page is what a reader sees.
type Page struct {
	Title string // one line; empty where the page has none
	Text  string
}

// Accepts reports whether a page of this Content-Type header can be read as text.
func Accepts(contentType string) bool { return formOf(contentType) != formNone }

// Decode reads a body; contentType is its header, which may be empty, and base the address that links start from. A page that Accepts
// refuses, or that holds binary data whatever its header says, is an error.
func Decode(body []byte, contentType string, base *url.URL) (Page, error) {
	kind := contentType
	if kind == "" {
		kind = http.DetectContentType(body)
	}
	form := formOf(kind)
	if form == formNone {
		return Page{}, fmt.Errorf("a page of type %.80q cannot be read as text", kind)
	}
	text := toUTF8(body, contentType, form)
	if strings.ContainsRune(text, 0) {
		return Page{}, errors.New("the page is binary, though it says it is text")
	}
	if form != formHTML {
		return Page{Text: strings.TrimSpace(text)}, nil
	}
	title, text, err := readable(text, base)
	return Page{Title: title, Text: text}, err
}

var xmlEncoding = regexp.MustCompile(`^<\?xml[^>]{0,100}encoding=["']([A-Za-z0-9._:-]{1,40})["']`)

// toUTF8 decodes body by its declared charset, else as UTF-8 if it is that, else as windows-1252, the guess of browsers and of the
// library, which looks at 1024 bytes only. The declaration of HTML is found by the library, that of XML by the expression above.
func toUTF8(body []byte, contentType string, f form) string {
	enc, name, certain := charset.DetermineEncoding(body, contentType)
	if m := xmlEncoding.FindSubmatch(body); f == formXML && m != nil {
		if declared, err := htmlindex.Get(string(m[1])); err == nil {
			enc, name, certain = declared, string(m[1]), true
		}
	}
	if guessed := !certain && name == "windows-1252"; name == "utf-8" || guessed {
		if whole := trimTornRune(body); utf8.Valid(whole) {
			return strings.TrimPrefix(string(whole), "\uFEFF")
		}
	}
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil { // a decoder of this library replaces what it cannot read; should one fail, so do we
		text = body
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(text), "\uFFFD"), "\uFEFF")
}

// trimTornRune drops the beginning of a rune that a size limit cut in two, if there are whole ones before it: a single odd byte after
// nothing but ASCII is more likely the end of a Latin word.
func trimTornRune(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		head, tail := b[:len(b)-i], b[len(b)-i:]
		if !utf8.RuneStart(tail[0]) {
			continue
		}
		if !utf8.FullRune(tail) && bytes.ContainsFunc(head, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return head
		}
		break
	}
	return b
}
