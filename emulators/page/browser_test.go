package page_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	chatv1 "google.golang.org/api/chat/v1"
	"google.golang.org/api/option"

	"kesoku.dev/emulators/browser"
	"kesoku.dev/emulators/googlechat"
	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/emulators/page"
	"kesoku.dev/shared/message"
)

// app is a tiny Chat app: it answers a message with a card and a text, and passes on the buttons that are pressed.
type app struct {
	t       *testing.T
	api     *chatv1.Service
	records *memory
	clicks  chan map[string]string
	cards   chan string // names of the cards made
}

type addOnEvent struct {
	Common struct {
		Parameters map[string]string `json:"parameters"`
	} `json:"commonEventObject"`
	Chat struct {
		MessagePayload *struct{ Message chatv1.Message } `json:"messagePayload"`
		Clicked        *struct{ Message chatv1.Message } `json:"buttonClickedPayload"`
	} `json:"chat"`
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var e addOnEvent
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		a.t.Errorf("event: %v", err)
	}
	switch {
	case e.Chat.Clicked != nil:
		a.clicks <- e.Common.Parameters
	case e.Chat.MessagePayload != nil:
		a.records.put(story(message.StatusProcessing)...)
		in := e.Chat.MessagePayload.Message
		made, err := a.api.Spaces.Messages.Create(in.Space.Name, &chatv1.Message{Thread: in.Thread, CardsV2: workCard("⏳ Working on it", true)}).
			MessageReplyOption("REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD").Do()
		if err != nil {
			a.t.Errorf("create the card: %v", err)
			return
		}
		a.cards <- made.Name
	}
	_, _ = w.Write([]byte("{}"))
}

// finish edits the card and sends the reply, as at the end of a turn.
func (a *app) finish(card string) {
	a.t.Helper()
	done, err := a.api.Spaces.Messages.Patch(card, &chatv1.Message{CardsV2: workCard("✅ Done in 3.2 s", false)}).UpdateMask("cardsV2").Do()
	if err != nil {
		a.t.Fatal(err)
	}
	const reply = "It is *21:42* in _Tokyo_ now.\n* `Asia/Tokyo` is UTC+9\n* no ~summer~ time there\n" +
		"```\n$ date\nFri 21:42 JST\n```\nMore: <https://example.com/tz|time zones>"
	if _, err := a.api.Spaces.Messages.Create("spaces/"+strings.Split(card, "/")[1], &chatv1.Message{Text: reply, Thread: done.Thread}).
		MessageReplyOption("REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD").Do(); err != nil {
		a.t.Fatal(err)
	}
	a.records.put(story(message.StatusProcessed)...)
}

func workCard(title string, running bool) []*chatv1.CardWithId {
	step := func(top, text, bottom string) *chatv1.GoogleAppsCardV1Widget {
		return &chatv1.GoogleAppsCardV1Widget{DecoratedText: &chatv1.GoogleAppsCardV1DecoratedText{
			TopLabel: top, Text: text, BottomLabel: bottom, WrapText: true, StartIcon: &chatv1.GoogleAppsCardV1Icon{KnownIcon: "CLOCK"},
		}}
	}
	card := &chatv1.GoogleAppsCardV1Card{
		Header: &chatv1.GoogleAppsCardV1CardHeader{Title: title, Subtitle: "Turn 1 · 2 tool calls"},
		Sections: []*chatv1.GoogleAppsCardV1Section{{
			Header: "Steps", Collapsible: true, UncollapsibleWidgetsCount: 1,
			Widgets: []*chatv1.GoogleAppsCardV1Widget{
				step("thought", "The person asks for the time; <b>Tokyo</b> has one zone.", ""),
				step("tool", "✅ <b>clock</b> <font color=\"#80868b\">{\"zone\": \"Asia/Tokyo\"}</font>", "2026-11-06 21:42 JST"),
				step("tool", "✅ <b>memory</b> <img src=x onerror=\"window.pwned=1\"><script>window.pwned=1</script>", "nothing noted"),
			},
		}},
	}
	if running {
		card.Sections = append(card.Sections, &chatv1.GoogleAppsCardV1Section{Widgets: []*chatv1.GoogleAppsCardV1Widget{{
			ButtonList: &chatv1.GoogleAppsCardV1ButtonList{Buttons: []*chatv1.GoogleAppsCardV1Button{{
				Text: "Stop", OnClick: &chatv1.GoogleAppsCardV1OnClick{Action: &chatv1.GoogleAppsCardV1Action{
					Function: "stop", Parameters: []*chatv1.GoogleAppsCardV1ActionParameter{{Key: "session", Value: "s1"}},
				}},
			}}},
		}}})
	}
	return []*chatv1.CardWithId{{CardId: "work", Card: card}}
}

// story is a turn in the records.
func story(prompt message.Status) []message.Message {
	author := message.Author{SessionID: "s-1f2e3d4c5b", ChatbotID: "googlechat", ChannelID: room, Now: time.Now()}
	at := message.Spot{Turn: 1, Step: 1}
	list := []message.Message{
		author.UserPrompt("Alice", "What time is it in Tokyo?", time.Now(), message.Metadata{}),
		author.Thought(at, "The person asks for the time; Tokyo has one zone.", nil),
		author.ToolCall(at, "", message.Call{ID: "c1", Name: "clock", Arguments: `{"zone":"Asia/Tokyo"}`}),
		author.ToolResult(at, message.Outcome{CallID: "c1", Name: "clock", Content: "2026-11-06 21:42 JST", Summary: "21:42"}),
	}
	list[0].Status, list[0].Turn = prompt, 1
	if prompt == message.StatusProcessed {
		reply := author.FinalReply(message.Spot{Turn: 1, Step: 2}, "It is 21:42 in Tokyo now.", message.TurnMetrics{SessionTurns: 1}, nil)
		reply.Status = message.StatusDelivered
		list = append(list, reply)
	}
	for i := range list {
		list[i].ID = fmt.Sprintf("m%d", i+1)
	}
	return list
}

// stage is the page, the stand-in and the app, together.
type stage struct {
	*app
	chat *googlechat.Server
	url  string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	chat, records := newChat(t), newMemory()
	rest := httptest.NewServer(chat.Handler())
	t.Cleanup(rest.Close)
	api, err := chatv1.NewService(t.Context(), option.WithEndpoint(rest.URL+"/"), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	a := &app{t: t, api: api, records: records, clicks: make(chan map[string]string, 9), cards: make(chan string, 9)}
	listens := httptest.NewServer(a)
	t.Cleanup(listens.Close)
	chat.SetWebhook(hook.Webhook{URL: listens.URL, ProjectNumber: "123456789012"})
	web := httptest.NewServer(page.New(chat, records, nil, nil))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return &stage{app: a, chat: chat, url: web.URL}
}

// V: a turn as people see it: the card edited in place with its fold kept, the button that reaches the app, the records beside it.
func TestTurnOnThePage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	do := browser.Open(t, s.url, false)
	do(browser.Scene{
		chromedp.WaitVisible(`.try .chip`), browser.Shoot("1-empty-light"),
		chromedp.Click(`.try .chip:first-child`), browser.See(`document.activeElement.id === "input"`), browser.Typed(kb.Enter),
		browser.See(`document.querySelector(".card-title")?.textContent.includes("Working")`),
		browser.See(`document.querySelector(".s-processing") !== null`),
		chromedp.Click(`.fold-button`), browser.See(`document.querySelector(".fold.open") !== null`), browser.Shoot("2-working-light"),
		chromedp.Click(`.w-buttons .button`),
	})
	if got := <-s.clicks; got["session"] != "s1" || got["__action_method_name__"] != "stop" {
		t.Errorf("Stop arrived as %v", got)
	}
	s.finish(<-s.cards)
	do(browser.Scene{
		browser.See(`document.querySelector(".card-title").textContent.includes("Done")`),
		browser.See(`document.querySelector(".fold.open") !== null && document.querySelector(".edited") !== null`),
		browser.See(`document.querySelectorAll(".text strong").length === 1 && document.querySelectorAll(".text li").length === 2`),
		browser.See(`document.querySelector(".text a").href === "https://example.com/tz"`),
		browser.See(`document.querySelector(".s-processed") !== null`),
		browser.See(`window.pwned === undefined && document.querySelector(".card img, .card script") === null`), browser.Shoot("3-done-light"),
		chromedp.Click(`#theme`), browser.See(`document.documentElement.dataset.theme === "dark"`),
		browser.See(`getComputedStyle(document.body).backgroundColor === "rgb(16, 17, 20)"`), browser.Shoot("4-done-dark"),
		chromedp.Click(`#tab-2`), browser.See(`document.querySelectorAll(".calls .code.good").length === 2`), browser.Shoot("5-webhook-dark"),
	})
}

// Everything with the keyboard alone: mention, send, walk, quote, edit, delete, another space.
func TestKeyboardOnly(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if _, err := s.chat.Post(world.Post{Space: "spaces/AAQAtokyo002", User: "users/100000000000000000002", Text: "机票订好了吗？"}); err != nil {
		t.Fatal(err)
	}
	do := browser.Open(t, s.url, true)
	do(browser.Scene{ // the way in, a mention and two lines
		browser.Typed(kb.Tab), browser.See(`document.activeElement.className === "skip"`), browser.Typed(kb.Enter),
		browser.Typed(kb.Tab), browser.See(`document.activeElement.id === "input"`),
		browser.Typed("hi @bui"), browser.See(`!document.getElementById("people").hidden`), browser.Shoot("6-mention-dark"),
		browser.Typed(kb.Enter), browser.See(`document.getElementById("input").value === "hi @Builder "`),
		browser.Typed("<img src=x onerror=alert(1)>"), browser.Typed(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierShift)), browser.Typed("second line"), browser.Typed(kb.Enter),
		browser.See(`document.querySelector(".msg .text")?.textContent.includes("second line")`),
		browser.See(`document.querySelector(".msg .text img") === null && document.querySelector(".msg .text br") !== null`),
		browser.See(`document.querySelector(".mention").textContent === "@Builder"`),
		browser.Typed("another"), browser.Typed(kb.Enter), browser.See(`document.querySelectorAll(".msg").length === 2`),
	})
	do(browser.Scene{ // a walk through the messages; quote, edit, delete
		chromedp.Focus(`.msg`), browser.Typed(kb.ArrowDown), browser.See(`document.activeElement === document.querySelectorAll(".msg")[1]`),
		browser.Typed(kb.ArrowUp), browser.Typed("q"), browser.See(`document.activeElement.id === "input" && document.querySelector(".context") !== null`),
		browser.Typed("I quote"), browser.Typed(kb.Enter), browser.See(`document.querySelector(".quoted") !== null`),
		browser.Typed(kb.ArrowUp), browser.See(`document.getElementById("input").value === "I quote"`), browser.Typed("d"), browser.Typed(kb.Enter),
		browser.See(`[...document.querySelectorAll(".msg")].at(-1).textContent.includes("I quoted")`),
		browser.See(`document.querySelector(".edited") !== null`),
		chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".msg")].at(-1).focus()`),
		browser.Typed(kb.Delete), browser.See(`document.querySelector(".gone") !== null`),
		browser.Typed(kb.Escape), browser.See(`document.activeElement.id === "input"`), browser.Shoot("7-keyboard-dark"),
	})
	do(browser.Scene{ // another space, and a narrow window
		chromedp.Focus(`.place.here`), browser.Typed(kb.ArrowDown), browser.Typed(kb.Enter),
		browser.See(`document.querySelector(".bar h1").textContent === "东京出差"`),
		browser.See(`document.querySelector(".msg .text").textContent.includes("机票")`),
		chromedp.EmulateViewport(900, 700), browser.Shoot("8-narrow-dark"),
		browser.See(`document.documentElement.scrollWidth <= 900`),
	})
}

// A message in a space that is not open shows as unread there, and opening the space clears it.
func TestUnread(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	do := browser.Open(t, s.url, false)
	if _, err := s.chat.Post(world.Post{Space: "spaces/AAQAtokyo002", User: "users/100000000000000000002", Text: "到了"}); err != nil {
		t.Fatal(err)
	}
	do(browser.Scene{
		browser.See(`document.querySelector(".place.unread .count")?.textContent.startsWith("1")`), browser.Shoot("9-unread-light"),
		chromedp.Click(`.place.unread`),
		browser.See(`document.querySelector(".place.unread") === null && document.querySelector(".msg .text").textContent === "到了"`),
	})
}
