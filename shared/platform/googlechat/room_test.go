package googlechat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	chatapi "google.golang.org/api/chat/v1"
	"google.golang.org/api/option"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/platform/googlechat"
)

// lookUp serves the calls that look things up, over one room with n messages, each a minute after the other.
func lookUp(t *testing.T, n int, refuse int) (*googlechat.Adapter, *[]string) {
	t.Helper()
	var asked []string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/spaces/{space}/messages", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		asked = append(asked, q.Get("filter")+" "+q.Get("orderBy")+" "+q.Get("pageSize"))
		from, _ := strconv.Atoi(q.Get("pageToken"))
		page := &chatapi.ListMessagesResponse{}
		for i := from; i < min(from+2, n); i++ { // pages come short
			page.Messages = append(page.Messages, historical(n-i))
		}
		if from+2 < n {
			page.NextPageToken = strconv.Itoa(from + 2)
		}
		_ = json.NewEncoder(w).Encode(page)
	})
	mux.HandleFunc("GET /v1/spaces/{space}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("space") == "gone" {
			refuse404(w)
			return
		}
		kind := map[string]string{"room": "SPACE", "group": "GROUP_CHAT", "dm": "DIRECT_MESSAGE"}[r.PathValue("space")]
		_ = json.NewEncoder(w).Encode(&chatapi.Space{Name: "spaces/" + r.PathValue("space"), SpaceType: kind})
	})
	mux.HandleFunc("GET /v1/spaces", func(w http.ResponseWriter, r *http.Request) {
		page := &chatapi.ListSpacesResponse{Spaces: []*chatapi.Space{{Name: "spaces/a", SpaceType: "SPACE"}, {Name: "spaces/d", SpaceType: "DIRECT_MESSAGE"}}}
		if r.URL.Query().Get("pageToken") == "" {
			page.NextPageToken = "2"
		} else {
			page.Spaces = []*chatapi.Space{{Name: "spaces/b", SpaceType: "GROUP_CHAT"}}
		}
		_ = json.NewEncoder(w).Encode(page)
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if refuse != 0 {
			w.WriteHeader(refuse)
			_, _ = fmt.Fprintf(w, `{"error":{"code":%d,"message":"no"}}`, refuse)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	a, err := googlechat.New(t.Context(), googlechat.Config{Endpoint: server.URL, AppUser: "users/999"}, option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	return a, &asked
}

func refuse404(w http.ResponseWriter) {
	w.WriteHeader(http.StatusNotFound)
	_, _ = fmt.Fprint(w, `{"error":{"code":404}}`)
}

// historical is message i: of three one is a person's, one the app's, and one the app's card.
func historical(i int) *chatapi.Message {
	m := &chatapi.Message{
		Name: fmt.Sprintf("spaces/room/messages/m%d", i), CreateTime: noon.Add(time.Duration(i) * time.Minute).Format(time.RFC3339Nano),
		Text: fmt.Sprint("text ", i), Sender: &chatapi.User{Name: "users/1", DisplayName: "Ann", Type: "HUMAN"}, Thread: &chatapi.Thread{Name: "spaces/room/threads/t"},
	}
	switch i % 3 {
	case 1:
		m.Sender = &chatapi.User{Name: "users/999", Type: "BOT"}
	case 2:
		m.Sender, m.Text, m.ClientAssignedMessageId = &chatapi.User{Name: "users/app", Type: "BOT"}, "", "client-kesoku-card"
	}
	return m
}

var noon = time.Date(2026, 5, 27, 12, 0, 0, 0, time.UTC)

// What was said comes back oldest first, our own marked, cards left out, and no more than was asked for.
func TestHistory(t *testing.T) {
	t.Parallel()
	a, asked := lookUp(t, 9, 0)
	got, err := a.History(t.Context(), "spaces/room", noon.Add(time.Hour), 4)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, e := range got {
		seen = append(seen, fmt.Sprintf("%s %s %t", e.Text, e.Sender.ID, e.Sender.Self))
		if e.Kind != chat.KindMessage || e.ChannelID != "spaces/room" || e.ThreadID != "spaces/room/threads/t" || e.At.IsZero() || e.MessageID == "" {
			t.Errorf("event %+v", e)
		}
	}
	want := []string{"text 4 users/999 true", "text 6 users/1 false", "text 7 users/999 true", "text 9 users/1 false"}
	if !slices.Equal(seen, want) {
		t.Errorf("history %q, want %q", seen, want)
	}
	if (*asked)[0] != `createTime < "2026-05-27T13:00:00Z" createTime desc 4` || len(*asked) != 3 {
		t.Errorf("asked %q", *asked)
	}
	if all, err := a.History(t.Context(), "spaces/room", noon, 0); err != nil || len(all) != 0 || len(*asked) != 3 {
		t.Errorf("asked for nothing: %v, %v", all, err)
	}
	long, asked := lookUp(t, 1000, 0)
	if all, err := long.History(t.Context(), "spaces/room", noon, 1000); err != nil || len(*asked) > 10 || len(all) == 0 {
		t.Errorf("%d pages, %d messages, %v: want an end", len(*asked), len(all), err)
	}
}

func TestDirect(t *testing.T) {
	t.Parallel()
	a, _ := lookUp(t, 0, 0)
	for space, want := range map[string]bool{"spaces/room": false, "spaces/group": false, "spaces/dm": true} {
		if got, err := a.Direct(t.Context(), space); err != nil || got != want {
			t.Errorf("%s: %t, %v", space, got, err)
		}
	}
	if _, err := a.Direct(t.Context(), "spaces/gone"); !errors.Is(err, errs.ErrNotFound) || errs.KindOf(err) != errs.KindPermanent {
		t.Errorf("gone: %v", err)
	}
	if _, err := a.Direct(t.Context(), "spaces/a/../b"); errs.KindOf(err) != errs.KindPermanent {
		t.Errorf("bad name: %v", err)
	}
}

func TestChannels(t *testing.T) {
	t.Parallel()
	a, _ := lookUp(t, 0, 0)
	if got, err := a.Channels(t.Context()); err != nil || !slices.Equal(got, []string{"spaces/a", "spaces/b"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// Without the administrator's approval a look into the past is refused for good, and a busy server is not.
func TestLookUpFaults(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]errs.Kind{http.StatusForbidden: errs.KindPermanent, http.StatusServiceUnavailable: errs.KindRetryable} {
		a, _ := lookUp(t, 1, code)
		_, history := a.History(t.Context(), "spaces/room", noon, 1)
		_, direct := a.Direct(t.Context(), "spaces/room")
		_, channels := a.Channels(t.Context())
		for name, err := range map[string]error{"history": history, "direct": direct, "channels": channels} {
			if errs.KindOf(err) != want {
				t.Errorf("%d, %s: %v", code, name, err)
			}
		}
	}
}
