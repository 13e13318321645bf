package query_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"google.golang.org/api/chat/v1"

	"kesoku.dev/emulators/googlechat/query"
	"kesoku.dev/emulators/googlechat/wire"
)

// Whatever is asked, the answer is a page or an error that the API could give.
func FuzzQuery(f *testing.F) {
	f.Add(`create_time > "2026-01-01T00:00:00Z" AND thread.name = spaces/a/threads/b`, "createTime DESC", "10", "")
	f.Add(`x`, "", "-1", "!!")
	all := []*wire.Message{
		{Name: "spaces/a/messages/1", CreateTime: "2026-01-02T00:00:00.000001Z", Thread: &chat.Thread{Name: "spaces/a/threads/b"}},
		{Name: "spaces/a/messages/2", CreateTime: "2026-01-02T00:00:00.000002Z", Thread: &chat.Thread{Name: "spaces/a/threads/c"}},
	}
	f.Fuzz(func(t *testing.T, filter, order, size, token string) {
		q, err := query.Parse(url.Values{"filter": {filter}, "orderBy": {order}, "pageSize": {size}, "pageToken": {token}})
		var page *query.Page
		if err == nil {
			page, err = q.Run(all)
		}
		var api *wire.Error
		switch {
		case err == nil && len(page.Messages) > len(all):
			t.Errorf("%d messages of %d", len(page.Messages), len(all))
		case err != nil && (!errors.As(err, &api) || api.Code != http.StatusBadRequest):
			t.Errorf("got %v, want an invalid argument", err)
		}
	})
}
