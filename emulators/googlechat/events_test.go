package googlechat_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/auth/credentials/idtoken"
	"google.golang.org/api/chat/v1"

	"kesoku.dev/emulators/googlechat"
	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/shared/clock"
)

const project = "123456789012"

// received is one call of the app's webhook.
type received struct {
	token string
	body  map[string]any
}

// webhook is an app that answers with the given status and passes on what it got.
func webhook(t *testing.T, status int) (string, chan received) {
	t.Helper()
	got := make(chan received, 100)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		rec := received{token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}
		if err := json.Unmarshal(raw, &rec.body); err != nil {
			t.Errorf("body %s: %v", raw, err)
		}
		got <- rec
		w.WriteHeader(status)
	}))
	t.Cleanup(web.Close)
	return web.URL, got
}

func startHooked(t *testing.T, set hook.Settings) (*googlechat.Server, *chat.Service, string, string, chan received) {
	t.Helper()
	target, got := webhook(t, http.StatusOK)
	s, client, url := start(t, googlechat.Options{WritesPerSecond: -1, Settings: set, Webhook: hook.Webhook{
		URL: target, ProjectNumber: project, PushServiceAccount: "push@example.iam.gserviceaccount.com",
	}})
	return s, client, url, target, got
}

// at walks down a decoded JSON object.
func at(t *testing.T, v any, path ...string) any {
	t.Helper()
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			t.Fatalf("%v: nothing at %q", path, p)
		}
		v = m[p]
	}
	return v
}

// case B10, case B12: the three kinds of token, checked by Google's own library.
func TestTokens(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		set                  hook.Settings
		certs, issuer, email string
		byURL                bool
	}{
		"classic": {hook.Settings{Form: wire.FormClassic}, "chat", "chat@system.gserviceaccount.com", "", false},
		"classic endpoint": {hook.Settings{Form: wire.FormClassic, EndpointAudience: true}, "oidc", "https://accounts.google.com",
			"chat@system.gserviceaccount.com", true},
		"add-on": {hook.Settings{}, "oidc", "https://accounts.google.com",
			"service-" + project + "@gcp-sa-gsuiteaddons.iam.gserviceaccount.com", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, url, target, got := startHooked(t, tc.set)
			if _, err := s.Post(world.Post{Space: dm, User: alice, Text: "hi"}); err != nil {
				t.Fatal(err)
			}
			audience := project
			if tc.byURL {
				audience = target
			}
			v, err := idtoken.NewValidator(&idtoken.ValidatorOptions{RS256CertsURL: url + "/certs/" + tc.certs + ".json"})
			if err != nil {
				t.Fatal(err)
			}
			token := (<-got).token
			p, err := v.Validate(t.Context(), token, audience)
			if err != nil {
				t.Fatal(err)
			}
			email, _ := p.Claims["email"].(string)
			if p.Issuer != tc.issuer || email != tc.email || (email != "" && p.Claims["email_verified"] != true) {
				t.Errorf("claims %v", p.Claims)
			}
			if _, err := v.Validate(t.Context(), token, "https://else.example"); err == nil {
				t.Error("another audience was accepted")
			}
		})
	}
}

// case B21: offsets are UTF-16 code units, and the argument text has the mention cut out exactly.
func TestMessageEvents(t *testing.T) {
	t.Parallel()
	s, _, _, _, got := startHooked(t, hook.Settings{})
	if _, err := s.Post(world.Post{Space: room, User: alice, Text: "nobody is called"}); err != nil {
		t.Fatal(err)
	}
	m, err := s.Post(world.Post{Space: room, User: alice, Text: "🎩 @Kesoku hi @小波 Bo"})
	if err != nil {
		t.Fatal(err)
	}
	body := (<-got).body
	if at(t, body, "chat", "messagePayload", "message", "name") != m.Name { // the first message told nobody
		t.Fatalf("got %v", body)
	}
	for path, want := range map[string]any{
		"commonEventObject/userLocale": "en", "commonEventObject/hostApp": "CHAT", "chat/user/name": alice, "chat/user/type": "HUMAN",
		"chat/messagePayload/space/type":           "ROOM",
		"chat/messagePayload/message/argumentText": "🎩  hi @小波 Bo",
	} {
		if have := at(t, body, strings.Split(path, "/")...); have != want {
			t.Errorf("%s is %v, want %v", path, have, want)
		}
	}
	first := at(t, body, "chat", "messagePayload", "message", "annotations").([]any)[0]
	if at(t, first, "startIndex") != 3.0 || at(t, first, "length") != 7.0 || at(t, first, "userMention", "user", "type") != "BOT" {
		t.Errorf("annotation %v", first)
	}
}

// case B25: an app is not told what another app says.
func TestBotsAreNotHeard(t *testing.T) {
	t.Parallel()
	s, _, _, _, got := startHooked(t, hook.Settings{})
	if _, err := s.Post(world.Post{Space: room, User: "users/100000000000000000009", Text: "@Kesoku hi"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Post(world.Post{Space: dm, User: alice, Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	if at(t, (<-got).body, "chat", "messagePayload", "space", "type") != "DM" {
		t.Error("the bot's message was told")
	}
}

func TestQuoteThreadAndMembership(t *testing.T) {
	t.Parallel()
	s, _, _, _, got := startHooked(t, hook.Settings{Form: wire.FormClassic})
	root, err := s.Post(world.Post{Space: room, User: alice, Text: "root"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Post(world.Post{Space: room, User: alice, Text: "@Kesoku this", Thread: root.Thread.Name, Quote: root.Name}); err != nil {
		t.Fatal(err)
	}
	body := (<-got).body
	if at(t, body, "type") != "MESSAGE" || at(t, body, "message", "quotedMessageMetadata", "name") != root.Name ||
		at(t, body, "thread", "name") != root.Thread.Name || at(t, body, "common", "userLocale") != "en" {
		t.Errorf("got %v", body)
	}
	for _, in := range []bool{false, true} {
		if err := s.SetApp(room, alice, in); err != nil {
			t.Fatal(err)
		}
		if kind := at(t, (<-got).body, "type"); kind != map[bool]string{true: "ADDED_TO_SPACE", false: "REMOVED_FROM_SPACE"}[in] {
			t.Errorf("app in: %t is told as %v", in, kind)
		}
	}
}

func TestClicks(t *testing.T) {
	t.Parallel()
	for _, form := range []wire.Form{wire.FormClassic, wire.FormAddOn} {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			s, client, _, _, got := startHooked(t, hook.Settings{Form: form})
			card := []*chat.CardWithId{{CardId: "c", Card: &chat.GoogleAppsCardV1Card{Name: "x"}}}
			m, err := client.Spaces.Messages.Create(room, &chat.Message{CardsV2: card}).Do()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Click(world.Click{User: alice, Message: m.Name, Function: "stop", Parameters: map[string]string{"session": "s1"}}); err != nil {
				t.Fatal(err)
			}
			body := (<-got).body
			if form == wire.FormClassic {
				if at(t, body, "type") != "CARD_CLICKED" || at(t, body, "action", "actionMethodName") != "stop" ||
					at(t, body, "common", "invokedFunction") != "stop" || at(t, body, "common", "parameters", "session") != "s1" {
					t.Errorf("got %v", body)
				}
				return
			}
			common := at(t, body, "commonEventObject")
			if at(t, common, "parameters", "session") != "s1" || at(t, common, "parameters", "__action_method_name__") != "stop" ||
				at(t, common, "invokedFunction") != nil || at(t, body, "chat", "buttonClickedPayload", "message", "name") != m.Name ||
				at(t, body, "chat", "buttonClickedPayload", "message", "cardsV2") != nil {
				t.Errorf("got %v", body)
			}
		})
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	s, _, _, _, got := startHooked(t, hook.Settings{})
	if _, err := s.Command(world.Command{Space: room, User: alice, ID: 3, Name: "/role", Text: "pirate"}); err != nil {
		t.Fatal(err)
	}
	payload := at(t, (<-got).body, "chat", "appCommandPayload")
	if at(t, payload, "appCommandMetadata", "appCommandId") != 3.0 || at(t, payload, "appCommandMetadata", "appCommandType") != "SLASH_COMMAND" ||
		at(t, payload, "message", "text") != "/role pirate" || at(t, payload, "message", "argumentText") != " pirate" {
		t.Errorf("got %v", payload)
	}
	if err := s.Configure(room, hook.Settings{Form: wire.FormClassic}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Command(world.Command{Space: room, User: alice, ID: 3, Name: "/role", Text: "pirate"}); err != nil {
		t.Fatal(err)
	}
	body := (<-got).body
	if at(t, body, "type") != "MESSAGE" || at(t, body, "message", "slashCommand", "commandId") != "3" {
		t.Errorf("got %v", body)
	}
	if _, err := s.Command(world.Command{Space: room, User: alice, ID: 4}); err != nil {
		t.Fatal(err)
	}
	if body := (<-got).body; at(t, body, "type") != "APP_COMMAND" || body["message"] != nil {
		t.Errorf("got %v", body)
	}
}

// case B2: the same event several times at once. case B20: space events name people by id alone.
func TestSpaceEvents(t *testing.T) {
	t.Parallel()
	s, _, url, target, got := startHooked(t, hook.Settings{SpaceEvents: true, Copies: 3})
	m, err := s.Post(world.Post{Space: room, User: alice, Text: "first"})
	if err != nil {
		t.Fatal(err)
	}
	pushed := func() (attributes map[string]any, message map[string]any, token string) {
		t.Helper()
		rec := <-got
		attributes = at(t, rec.body, "message", "attributes").(map[string]any)
		data, err := base64.StdEncoding.DecodeString(at(t, rec.body, "message", "data").(string))
		var body struct{ Message map[string]any }
		if err == nil {
			err = json.Unmarshal(data, &body)
		}
		if err != nil {
			t.Fatal(err)
		}
		return attributes, body.Message, rec.token
	}
	ids := map[any]bool{}
	for range 3 {
		attributes, message, token := pushed()
		ids[attributes["ce-id"]] = true
		if attributes["ce-type"] != wire.EventCreated || attributes["ce-subject"] != "//chat.googleapis.com/"+room ||
			message["text"] != "first" || at(t, message, "sender", "displayName") != nil {
			t.Errorf("got %v %v", attributes, message)
		}
		v, err := idtoken.NewValidator(&idtoken.ValidatorOptions{RS256CertsURL: url + "/certs/oidc.json"})
		if err != nil {
			t.Fatal(err)
		}
		if p, err := v.Validate(t.Context(), token, target); err != nil || p.Claims["email"] != "push@example.iam.gserviceaccount.com" {
			t.Errorf("token: %+v, %v", p, err)
		}
	}
	if len(ids) != 1 {
		t.Errorf("three copies have the ids %v, want one", ids)
	}
	if err := s.Configure(room, hook.Settings{SpaceEvents: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Edit(alice, m.Name, "second"); err != nil {
		t.Fatal(err)
	}
	if attributes, message, _ := pushed(); attributes["ce-type"] != wire.EventUpdated || message["text"] != "second" {
		t.Errorf("got %v %v", attributes, message)
	}
	if err := s.Delete(alice, m.Name); err != nil {
		t.Fatal(err)
	}
	if attributes, message, _ := pushed(); attributes["ce-type"] != wire.EventDeleted || message["text"] != nil || message["deleteTime"] == nil {
		t.Errorf("got %v %v", attributes, message)
	}
}

// A refused delivery is sent again as often as asked, and each attempt is remembered.
func TestRetriesAndRecord(t *testing.T) {
	t.Parallel()
	target, got := webhook(t, http.StatusInternalServerError)
	s, _, _ := start(t, googlechat.Options{
		Clock: hasty{}, Settings: hook.Settings{Retries: 2}, Webhook: hook.Webhook{URL: target, ProjectNumber: project},
	})
	feed := s.Subscribe(t.Context())
	if _, err := s.Post(world.Post{Space: dm, User: alice, Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	for done := 0; done < 3; {
		if c := <-feed; c.Delivery != nil && c.Delivery.Done {
			done++
		}
	}
	if len(got) != 3 {
		t.Errorf("%d calls, want 3", len(got))
	}
	for i, d := range s.Deliveries() {
		if d.Status != 500 || d.Attempt != i+1 || d.Kind != "MESSAGE" || d.Space != dm || !d.Done {
			t.Errorf("recorded %+v", d)
		}
	}
}

// hasty is a clock that never waits.
type hasty struct{ clock.System }

func (hasty) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }
