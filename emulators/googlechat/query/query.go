// Package query is what spaces.messages.list can be asked: filter, order, page. It is pure.
package query

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"kesoku.dev/emulators/googlechat/wire"
)

const (
	defaultPage = 25
	maxPage     = 1000
)

// Query is what spaces.messages.list was asked.
type Query struct {
	after, before time.Time
	thread        string
	descending    bool
	deleted       bool
	size          int
	from          string // resource name of the last message of the page before
}

var (
	timeTerm   = regexp.MustCompile(`^(?:create_time|createTime)\s*([<>])\s*"([^"]+)"$`)
	threadTerm = regexp.MustCompile(`^thread\.name\s*=\s*"?(spaces/[\w-]+/threads/[\w-]+)"?$`)
	andWord    = regexp.MustCompile(`(?i)\s+and\s+`)
)

// Parse reads the parameters of the call, and fails as the API does.
func Parse(v url.Values) (Query, error) {
	q := Query{size: defaultPage, deleted: v.Get("showDeleted") == "true"}
	if size := v.Get("pageSize"); size != "" {
		n, err := strconv.Atoi(size)
		if err != nil || n < 0 {
			return q, wire.Errorf(http.StatusBadRequest, "Invalid value at 'page_size': %.40q", size)
		}
		if n > 0 {
			q.size = min(n, maxPage)
		}
	}
	switch order := strings.ToLower(strings.Join(strings.Fields(v.Get("orderBy")), " ")); order {
	case "", "createtime", "createtime asc", "create_time", "create_time asc":
	case "createtime desc", "create_time desc":
		q.descending = true
	default:
		return q, wire.Errorf(http.StatusBadRequest, "Invalid value at 'order_by': %.40q", order)
	}
	token, err := base64.RawURLEncoding.DecodeString(v.Get("pageToken"))
	if err != nil {
		return q, wire.Errorf(http.StatusBadRequest, "Invalid page token.")
	}
	q.from = string(token)
	return q, q.filter(v.Get("filter"))
}

func (q *Query) filter(text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	for _, term := range andWord.Split(strings.TrimSpace(text), -1) {
		if m := threadTerm.FindStringSubmatch(term); m != nil && q.thread == "" {
			q.thread = m[1]
			continue
		}
		m := timeTerm.FindStringSubmatch(term)
		if m == nil {
			return wire.Errorf(http.StatusBadRequest, "Invalid filter: %.80q", term)
		}
		at, err := time.Parse(time.RFC3339Nano, m[2])
		if err != nil {
			return wire.Errorf(http.StatusBadRequest, "Invalid time in the filter: %.40q", m[2])
		}
		if m[1] == ">" {
			q.after = at
		} else {
			q.before = at
		}
	}
	return nil
}

func (q *Query) matches(m *wire.Message) bool {
	at, err := time.Parse(wire.TimeFormat, m.CreateTime)
	switch {
	case err != nil, m.DeleteTime != "" && !q.deleted, q.thread != "" && m.Thread.Name != q.thread:
		return false
	case !q.after.IsZero() && !at.After(q.after), !q.before.IsZero() && !at.Before(q.before):
		return false
	}
	return true
}

// Page is the answer to the call.
type Page struct {
	Messages []*wire.Message `json:"messages,omitempty"`
	Next     string          `json:"nextPageToken,omitempty"`
}

// Run answers the query from all messages of a space, which come in the order of their creation.
func (q *Query) Run(all []*wire.Message) (*Page, error) {
	var found []*wire.Message
	for _, m := range all {
		if q.matches(m) {
			found = append(found, m)
		}
	}
	if q.descending {
		slices.Reverse(found)
	}
	if q.from != "" {
		i := slices.IndexFunc(found, func(m *wire.Message) bool { return m.Name == q.from })
		if i < 0 {
			return nil, wire.Errorf(http.StatusBadRequest, "Invalid page token.")
		}
		found = found[i+1:]
	}
	if len(found) <= q.size {
		return &Page{Messages: found}, nil
	}
	return &Page{Messages: found[:q.size], Next: base64.RawURLEncoding.EncodeToString([]byte(found[q.size-1].Name))}, nil
}
