package page_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	chatv1 "google.golang.org/api/chat/v1"
	"google.golang.org/api/option"

	"kesoku.dev/emulators/googlechat"
	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/emulators/page"
	"kesoku.dev/shared/message"
)

var shots = flag.String("shots", "", "directory for screenshots of the page; none are taken without it")

// pause bounds one step in the browser; it is never waited out when the page works.
const pause = 30 * time.Second

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
	web := httptest.NewServer(page.New(chat, records))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return &stage{app: a, chat: chat, url: web.URL}
}

// browser starts Chromium on the page and returns a function that takes steps in it.
func browser(t *testing.T, url string, dark bool) func(scene) {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("Chromium is missing, which this test needs. Install it with: apt-get install -y --no-install-recommends chromium")
	}
	opts := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1440, 900), chromedp.Flag("hide-scrollbars", true),
	}
	for _, name := range []string{"quic", "background-networking", "component-update", "sync", "dev-shm-usage"} {
		opts = append(opts, chromedp.Flag("disable-"+name, true))
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(func() { cancel(); stop() })
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	media := chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return err
	})
	if err := chromedp.Do(ctx, media, chromedp.Navigate(url), chromedp.WaitVisible(`.place.here`)); err != nil {
		t.Fatal(err)
	}
	return func(steps scene) {
		t.Helper()
		limited, done := context.WithTimeout(ctx, pause)
		defer done()
		for i, step := range steps {
			if err := chromedp.Do(limited, step); err != nil {
				t.Fatalf("step %d: %v", i+1, err)
			}
		}
	}
}

// step is one thing done in the browser.
type step = chromedp.Action[chromedp.Void]

// scene is several steps, one after another.
type scene []step

// typed presses keys as a keyboard does: a key whose press the page has taken types nothing.
func typed(keys string, opts ...chromedp.KeyOption) step {
	return chromedp.KeyEvent(keys, append(opts, func(p *input.DispatchKeyEventParams) {
		if p.Type == kb.KeyDown {
			p.Type = kb.KeyRawDown
		}
	})...)
}

// see waits until a JavaScript expression is true.
func see(expression string) step {
	return chromedp.Poll[chromedp.Void](`(`+expression+`) || undefined`, chromedp.WithPollingTimeout(pause))
}

// shoot takes a picture of the page, when they are asked for.
func shoot(name string) step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if *shots == "" {
			return nil
		}
		png, err := chromedp.CaptureScreenshot()(ctx, target)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o600)
	})
}

// V: a turn as people see it: the card edited in place with its fold kept, the button that reaches the app, the records beside it.
func TestTurnOnThePage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	do := browser(t, s.url, false)
	do(scene{
		chromedp.WaitVisible(`.try .chip`), shoot("1-empty-light"),
		chromedp.Click(`.try .chip:first-child`), see(`document.activeElement.id === "input"`), typed(kb.Enter),
		see(`document.querySelector(".card-title")?.textContent.includes("Working")`),
		see(`document.querySelector(".s-processing") !== null`),
		chromedp.Click(`.fold-button`), see(`document.querySelector(".fold.open") !== null`), shoot("2-working-light"),
		chromedp.Click(`.w-buttons .button`),
	})
	if got := <-s.clicks; got["session"] != "s1" || got["__action_method_name__"] != "stop" {
		t.Errorf("Stop arrived as %v", got)
	}
	s.finish(<-s.cards)
	do(scene{
		see(`document.querySelector(".card-title").textContent.includes("Done")`),
		see(`document.querySelector(".fold.open") !== null && document.querySelector(".edited") !== null`),
		see(`document.querySelectorAll(".text strong").length === 1 && document.querySelectorAll(".text li").length === 2`),
		see(`document.querySelector(".text a").href === "https://example.com/tz"`),
		see(`document.querySelector(".s-processed") !== null`),
		see(`window.pwned === undefined && document.querySelector(".card img, .card script") === null`), shoot("3-done-light"),
		chromedp.Click(`#theme`), see(`document.documentElement.dataset.theme === "dark"`),
		see(`getComputedStyle(document.body).backgroundColor === "rgb(16, 17, 20)"`), shoot("4-done-dark"),
		chromedp.Click(`#tab-1`), see(`document.querySelectorAll(".calls .code.good").length === 2`), shoot("5-webhook-dark"),
	})
}

// Everything with the keyboard alone: mention, send, walk, quote, edit, delete, another space.
func TestKeyboardOnly(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if _, err := s.chat.Post(world.Post{Space: "spaces/AAQAtokyo002", User: "users/100000000000000000002", Text: "机票订好了吗？"}); err != nil {
		t.Fatal(err)
	}
	do := browser(t, s.url, true)
	do(scene{ // the way in, a mention and two lines
		typed(kb.Tab), see(`document.activeElement.className === "skip"`), typed(kb.Enter),
		typed(kb.Tab), see(`document.activeElement.id === "input"`),
		typed("hi @bui"), see(`!document.getElementById("people").hidden`), shoot("6-mention-dark"),
		typed(kb.Enter), see(`document.getElementById("input").value === "hi @Builder "`),
		typed("<img src=x onerror=alert(1)>"), typed(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierShift)), typed("second line"), typed(kb.Enter),
		see(`document.querySelector(".msg .text")?.textContent.includes("second line")`),
		see(`document.querySelector(".msg .text img") === null && document.querySelector(".msg .text br") !== null`),
		see(`document.querySelector(".mention").textContent === "@Builder"`),
		typed("another"), typed(kb.Enter), see(`document.querySelectorAll(".msg").length === 2`),
	})
	do(scene{ // a walk through the messages; quote, edit, delete
		chromedp.Focus(`.msg`), typed(kb.ArrowDown), see(`document.activeElement === document.querySelectorAll(".msg")[1]`),
		typed(kb.ArrowUp), typed("q"), see(`document.activeElement.id === "input" && document.querySelector(".context") !== null`),
		typed("I quote"), typed(kb.Enter), see(`document.querySelector(".quoted") !== null`),
		typed(kb.ArrowUp), see(`document.getElementById("input").value === "I quote"`), typed("d"), typed(kb.Enter),
		see(`[...document.querySelectorAll(".msg")].at(-1).textContent.includes("I quoted")`),
		see(`document.querySelector(".edited") !== null`),
		chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".msg")].at(-1).focus()`),
		typed(kb.Delete), see(`document.querySelector(".gone") !== null`),
		typed(kb.Escape), see(`document.activeElement.id === "input"`), shoot("7-keyboard-dark"),
	})
	do(scene{ // another space, and a narrow window
		chromedp.Focus(`.place.here`), typed(kb.ArrowDown), typed(kb.Enter),
		see(`document.querySelector(".bar h1").textContent === "东京出差"`),
		see(`document.querySelector(".msg .text").textContent.includes("机票")`),
		chromedp.EmulateViewport(900, 700), shoot("8-narrow-dark"),
		see(`document.documentElement.scrollWidth <= 900`),
	})
}

// A message in a space that is not open shows as unread there, and opening the space clears it.
func TestUnread(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	do := browser(t, s.url, false)
	if _, err := s.chat.Post(world.Post{Space: "spaces/AAQAtokyo002", User: "users/100000000000000000002", Text: "到了"}); err != nil {
		t.Fatal(err)
	}
	do(scene{
		see(`document.querySelector(".place.unread .count")?.textContent.startsWith("1")`), shoot("9-unread-light"),
		chromedp.Click(`.place.unread`),
		see(`document.querySelector(".place.unread") === null && document.querySelector(".msg .text").textContent === "到了"`),
	})
}
