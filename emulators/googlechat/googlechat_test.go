package googlechat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/chat/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"kesoku.dev/emulators/googlechat"
	"kesoku.dev/emulators/googlechat/fault"
	"kesoku.dev/emulators/googlechat/media"
	"kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/shared/clock"
)

const (
	room  = "spaces/AAQAkesoku01"
	dm    = "spaces/dmKesoku001"
	alice = "users/100000000000000000001"
)

// start serves a stand-in and returns it with Google's own client for it.
func start(t *testing.T, opts googlechat.Options) (*googlechat.Server, *chat.Service, string) {
	t.Helper()
	s, err := googlechat.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	client, err := chat.NewService(t.Context(), option.WithEndpoint(web.URL+"/"), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	return s, client, web.URL
}

func unlimited() googlechat.Options { return googlechat.Options{WritesPerSecond: -1} }

func wantCode(t *testing.T, err error, code int) {
	t.Helper()
	_ = apiError(t, err, code)
}

// apiError is err as the API told it, which must be with the code.
func apiError(t *testing.T, err error, code int) *googleapi.Error {
	t.Helper()
	var api *googleapi.Error
	if !errors.As(err, &api) || api.Code != code {
		t.Fatalf("got %v, want an API error %d", err, code)
	}
	return api
}

// case B69: a create repeated after a lost answer finds the message that exists.
func TestCreateIsIdempotent(t *testing.T) {
	t.Parallel()
	s, client, _ := start(t, unlimited())
	if err := s.Inject(fault.Fault{Op: "create", Kind: fault.KindTimeoutAfterWrite, Times: 1}); err != nil {
		t.Fatal(err)
	}
	create := func(text string) (*chat.Message, error) {
		return client.Spaces.Messages.Create(room, &chat.Message{Text: text}).RequestId("r1").MessageId("client-a").Do()
	}
	if _, err := create("first"); err == nil {
		t.Fatal("the answer of the first create arrived, though it was to be lost")
	}
	again, err := create("second")
	if err != nil {
		t.Fatal(err)
	}
	if again.Text != "first" || len(s.Messages(room, 10)) != 1 {
		t.Errorf("got %q and %d messages, want the first and one", again.Text, len(s.Messages(room, 10)))
	}
	byClientID, err := client.Spaces.Messages.Get(room + "/messages/client-a").Do()
	if err != nil || byClientID.Name != again.Name {
		t.Errorf("by client id: got %v, %v, want %s", byClientID, err, again.Name)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s, client, _ := start(t, unlimited())
	post, err := s.Post(world.Post{Space: room, User: alice, Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	messages := client.Spaces.Messages
	if _, err := messages.Create(room, &chat.Message{Text: "x"}).MessageId("client-taken").Do(); err != nil {
		t.Fatal(err)
	}
	text := func(s string) *chat.Message { return &chat.Message{Text: s} }
	for name, tc := range map[string]struct {
		do     func() error
		code   int
		status string
	}{
		"client id taken": {func() error {
			_, err := messages.Create(room, text("x")).RequestId("2").MessageId("client-taken").Do()
			return err
		}, 409, "ALREADY_EXISTS"},
		"client id bad": {func() error { _, err := messages.Create(room, text("x")).MessageId("Client_1").Do(); return err }, 400, "INVALID_ARGUMENT"},
		"empty":         {func() error { _, err := messages.Create(room, &chat.Message{}).Do(); return err }, 400, "INVALID_ARGUMENT"},
		// case B65
		"too long": {func() error { _, err := messages.Create(room, text(strings.Repeat("é", 16_001))).Do(); return err }, 400, "INVALID_ARGUMENT"},
		"no space": {func() error { _, err := messages.Create("spaces/none", text("x")).Do(); return err }, 404, "NOT_FOUND"},
		"no mask":  {func() error { _, err := messages.Patch(room+"/messages/client-taken", text("y")).Do(); return err }, 400, "INVALID_ARGUMENT"},
		"bad mask": {func() error {
			_, err := messages.Patch(room+"/messages/client-taken", text("y")).UpdateMask("sender").Do()
			return err
		}, 400, "INVALID_ARGUMENT"},
		"someone else's":   {func() error { _, err := messages.Patch(post.Name, text("y")).UpdateMask("text").Do(); return err }, 403, "PERMISSION_DENIED"},
		"delete another's": {func() error { _, err := messages.Delete(post.Name).Do(); return err }, 403, "PERMISSION_DENIED"},
		"not there":        {func() error { _, err := messages.Get(room + "/messages/nothing").Do(); return err }, 404, "NOT_FOUND"},
		"reaction": {func() error {
			_, err := messages.Reactions.Create(post.Name, &chat.Reaction{Emoji: &chat.Emoji{Unicode: "👍"}}).Do()
			return err
		}, 403, "PERMISSION_DENIED"},
		"bad filter": {func() error { _, err := messages.List(room).Filter("text = 1").Do(); return err }, 400, "INVALID_ARGUMENT"},
		"bad order":  {func() error { _, err := messages.List(room).OrderBy("text").Do(); return err }, 400, "INVALID_ARGUMENT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := apiError(t, tc.do(), tc.code)
			var body struct{ Error struct{ Status string } }
			if err := json.Unmarshal([]byte(api.Body), &body); err != nil || body.Error.Status != tc.status {
				t.Errorf("body %s, want status %s", api.Body, tc.status)
			}
		})
	}
}

// case B67, case B68: where a reply lands.
func TestThreads(t *testing.T) {
	t.Parallel()
	s, client, _ := start(t, unlimited())
	post, err := s.Post(world.Post{Space: room, User: alice, Text: "start"})
	if err != nil {
		t.Fatal(err)
	}
	inThread := &chat.Thread{Name: post.Thread.Name}
	lost := &chat.Thread{Name: room + "/threads/lost"}
	const fallback, orFail = "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD", "REPLY_MESSAGE_OR_FAIL"
	for _, tc := range []struct {
		name, space, option string
		thread              *chat.Thread
		reply               bool
		code                int
	}{
		{name: "named", space: room, option: fallback, thread: inThread, reply: true},
		{name: "option missing", space: room, thread: inThread},
		{name: "lost, fallback", space: room, option: fallback, thread: lost},
		{name: "lost, or fail", space: room, option: orFail, thread: lost, code: 404},
		{name: "new key", space: room, option: orFail, thread: &chat.Thread{ThreadKey: "k"}},
		{name: "known key", space: room, option: fallback, thread: &chat.Thread{ThreadKey: "k"}, reply: true},
		{name: "direct", space: dm, option: fallback, thread: inThread},
		{name: "bad option", space: room, option: "NO", thread: inThread, code: 400},
	} {
		call := client.Spaces.Messages.Create(tc.space, &chat.Message{Text: tc.name, Thread: tc.thread})
		if tc.option != "" {
			call.MessageReplyOption(tc.option)
		}
		made, err := call.Do()
		if tc.code != 0 {
			wantCode(t, err, tc.code)
			continue
		}
		if err != nil || made.ThreadReply != tc.reply {
			t.Errorf("%s: got %+v, %v, want a reply: %t", tc.name, made, err, tc.reply)
		}
	}
}

// case B73: one budget of writes per space, whatever the write.
func TestWriteLimit(t *testing.T) {
	t.Parallel()
	hands := clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	_, client, _ := start(t, googlechat.Options{Clock: hands})
	messages := client.Spaces.Messages
	create := func(space string) error {
		_, err := messages.Create(space, &chat.Message{Text: "x"}).MessageId("client-x").RequestId("x").Do()
		return err
	}
	if err := create(room); err != nil {
		t.Fatal(err)
	}
	wantCode(t, create(room), 429)
	_, err := messages.Patch(room+"/messages/client-x", &chat.Message{Text: "y"}).UpdateMask("text").Do()
	wantCode(t, err, 429)
	_, err = messages.Delete(room + "/messages/client-x").Do()
	wantCode(t, err, 429)
	if err := create(dm); err != nil {
		t.Errorf("another space: %v", err)
	}
	hands.Advance(time.Second)
	if _, err := messages.Delete(room + "/messages/client-x").Do(); err != nil {
		t.Errorf("a second later: %v", err)
	}
}

func TestPatchAndDelete(t *testing.T) {
	t.Parallel()
	s, client, _ := start(t, unlimited())
	messages := client.Spaces.Messages
	card := func(title string) []*chat.CardWithId {
		return []*chat.CardWithId{{CardId: "c", Card: &chat.GoogleAppsCardV1Card{Header: &chat.GoogleAppsCardV1CardHeader{Title: title}}}}
	}
	made, err := messages.Create(room, &chat.Message{Text: "text <" + alice + ">", CardsV2: card("one")}).MessageId("client-card").Do()
	if err != nil {
		t.Fatal(err)
	}
	if made.Text != "text @Alice" || made.Annotations[0].StartIndex != 5 || made.LastUpdateTime != "" {
		t.Errorf("made %q %+v, want Alice mentioned", made.Text, made.Annotations)
	}
	got, err := messages.Patch(room+"/messages/client-card", &chat.Message{Text: "ignored", CardsV2: card("two")}).UpdateMask("cardsV2").Do()
	if err != nil {
		t.Fatal(err)
	}
	if got.Text != "text @Alice" || got.CardsV2[0].Card.Header.Title != "two" || got.LastUpdateTime <= got.CreateTime {
		t.Errorf("patched to %+v", got)
	}
	if _, err := messages.Update(made.Name, &chat.Message{Text: "put"}).UpdateMask("text").Do(); err != nil {
		t.Errorf("PUT: %v", err)
	}
	if _, err := messages.Delete(made.Name).Do(); err != nil {
		t.Fatal(err)
	}
	_, err = messages.Patch(made.Name, &chat.Message{Text: "z"}).UpdateMask("text").Do()
	wantCode(t, err, 404)
	missing, err := messages.Patch(room+"/messages/client-new", &chat.Message{Text: "new"}).UpdateMask("text").AllowMissing(true).Do()
	if err != nil || missing.ClientAssignedMessageId != "client-new" {
		t.Errorf("allowMissing: %+v, %v", missing, err)
	}
	if last := s.Messages(room, 1); len(last) != 1 || last[0].Text != "new" {
		t.Errorf("the last message is %+v", last)
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	s, client, _ := start(t, googlechat.Options{WritesPerSecond: -1, KeepMessages: 5})
	var thread, third string
	for i := range 7 {
		m, err := s.Post(world.Post{Space: room, User: alice, Text: fmt.Sprint(i), Thread: thread})
		if err != nil {
			t.Fatal(err)
		}
		if i == 4 {
			thread, third = m.Thread.Name, m.CreateTime
		}
	}
	list := func(call *chat.SpacesMessagesListCall) (texts []string) {
		t.Helper()
		if err := call.PageSize(2).Pages(t.Context(), func(page *chat.ListMessagesResponse) error {
			for _, m := range page.Messages {
				texts = append(texts, m.Text)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return texts
	}
	messages := client.Spaces.Messages
	for _, tc := range []struct {
		call *chat.SpacesMessagesListCall
		want []string
	}{
		{messages.List(room), []string{"2", "3", "4", "5", "6"}}, // two have been forgotten
		{messages.List(room).OrderBy("createTime DESC"), []string{"6", "5", "4", "3", "2"}},
		{messages.List(room).Filter(fmt.Sprintf("create_time > %q AND thread.name = %s", third, thread)), []string{"5", "6"}},
		{messages.List(room).Filter(fmt.Sprintf("createTime < %q", third)), []string{"2", "3"}},
		{messages.List(dm), nil},
	} {
		if diff := cmp.Diff(tc.want, list(tc.call)); diff != "" {
			t.Errorf("listed (-want +got):\n%s", diff)
		}
	}
}

func TestSpacesMembersAndMedia(t *testing.T) {
	t.Parallel()
	s, client, url := start(t, googlechat.Options{RequireBearer: true})
	_, err := client.Spaces.List().Do()
	wantCode(t, err, 401)
	client, err = chat.NewService(t.Context(), option.WithEndpoint(url+"/"), option.WithHTTPClient(&http.Client{Transport: bearer{}}))
	if err != nil {
		t.Fatal(err)
	}
	spaces, err := client.Spaces.List().Do()
	if err != nil || len(spaces.Spaces) != 5 {
		t.Fatalf("spaces: %+v, %v, want 5", spaces, err)
	}
	members, err := client.Spaces.Members.List(room).Do()
	if err != nil || len(members.Memberships) != 3 {
		t.Errorf("members: %+v, %v, want 3 people", members, err)
	}
	m, err := s.Post(world.Post{Space: room, User: alice, Files: []media.Upload{{Name: "../a.txt", Type: "text/plain", Data: []byte("hi")}}})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Media.Download(m.Attachment[0].AttachmentDataRef.ResourceName).Download()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, _ := io.ReadAll(resp.Body); string(body) != "hi" || m.Attachment[0].ContentName != "a.txt" {
		t.Errorf("downloaded %q of %+v", body, m.Attachment[0])
	}
	if err := s.SetApp(room, alice, false); err != nil {
		t.Fatal(err)
	}
	_, err = client.Spaces.Get(room).Do()
	wantCode(t, err, 403)
}

type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer any")
	return http.DefaultTransport.RoundTrip(r)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s, client, url := start(t, unlimited())
	arm := func(body string) int {
		resp, err := http.Post(url+"/control/faults", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if got := arm(`{"op":"create","kind":"nonsense","times":1}`); got != 400 {
		t.Errorf("an unknown kind: %d, want 400", got)
	}
	if got := arm(`{"op":"create","kind":"429","times":1,"retry_after_seconds":7,"space":"` + room + `"}`); got != 200 {
		t.Fatalf("arm: %d", got)
	}
	create := func(space string) error {
		_, err := client.Spaces.Messages.Create(space, &chat.Message{Text: "x"}).Do()
		return err
	}
	if err := create(dm); err != nil {
		t.Errorf("another space: %v", err)
	}
	if api := apiError(t, create(room), 429); api.Header.Get("Retry-After") != "7" {
		t.Errorf("Retry-After %q, want 7", api.Header.Get("Retry-After"))
	}
	for kind, code := range map[string]int{"500": 500, "503": 503, "403": 403, "404": 404, "invalid_argument": 400} {
		if err := s.Inject(fault.Fault{Op: "create", Kind: kind, Times: 1}); err != nil {
			t.Fatal(err)
		}
		wantCode(t, create(room), code)
	}
	if err := s.Inject(fault.Fault{Op: "create", Kind: fault.KindDrop, Times: 1}); err != nil {
		t.Fatal(err)
	}
	var api *googleapi.Error
	if err := create(room); err == nil || errors.As(err, &api) || len(s.Messages(room, 9)) != 0 {
		t.Errorf("drop: %v and %d messages, want a lost connection and none", err, len(s.Messages(room, 9)))
	}
	if err := create(room); err != nil || len(s.Faults()) != 0 {
		t.Errorf("afterwards: %v, armed %v", err, s.Faults())
	}
}

func TestFeed(t *testing.T) {
	t.Parallel()
	s, _, _ := start(t, unlimited())
	ctx, cancel := context.WithCancel(t.Context())
	feed := s.Subscribe(ctx)
	m, err := s.Post(world.Post{Space: room, User: alice, Text: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	if c := <-feed; c.Space != room || c.Message.Name != m.Name {
		t.Errorf("got %+v", c)
	}
	cancel()
	for range feed {
		continue // ends because the feed is closed
	}
}
