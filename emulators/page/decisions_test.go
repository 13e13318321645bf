package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"kesoku.dev/emulators/browser"
	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/emulators/page"
	"kesoku.dev/shared/chat"
)

// decide changes what was decided.
func (m *memory) decide(list ...page.Decision) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.decided = list
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *memory) Decisions(ctx context.Context, channel string) iter.Seq2[[]page.Decision, error] {
	return func(yield func([]page.Decision, error) bool) {
		for channel == room {
			m.mu.Lock()
			list, changed := m.decided, m.changed
			m.mu.Unlock()
			if !yield(list, nil) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// decided is a message with what was decided on it.
func decided(n int, who, text string, d chat.Decision, outcome string) page.Decision {
	at := time.Now().Add(time.Duration(n-100) * time.Second)
	e := chat.Event{
		Platform: "googlechat", Kind: chat.KindMessage, MessageID: fmt.Sprintf("%s/messages/%d", room, n), ChannelID: room, Text: text, At: at,
		Sender: chat.Sender{ID: "users/10000000000000000000" + who, Name: "Somebody", Type: chat.SenderHuman},
	}
	r := chat.NewRecord(e, at)
	if outcome != "" {
		r.Settle(d, outcome, "")
		for i, s := range []string{"veto", "engine", "activate", "hold", "censor", "observe", "model", "bind", "backfill", "media", "accept"} {
			r.Stages = append(r.Stages, chat.StageTime{Stage: s, Micros: int64(40 + 900*((i*7)%5))})
		}
	}
	return page.Decision{Record: r}
}

// everyKind is a room in which everything happens that can be decided.
func everyKind() []page.Decision {
	none := chat.Decision{Effect: chat.EffectIgnore, Reason: "none", By: "rule"}
	quiet := chat.Decision{Effect: chat.EffectObserve, Reason: "none", By: "rule", Urge: 0.21, Threshold: 0.45}
	lively := chat.Decision{Effect: chat.EffectWake, Priority: 10, Reason: "urge", By: "activity", Busy: chat.BusyStep, Urge: 0.52, Threshold: 0.45}
	judged := chat.Decision{Effect: chat.EffectWake, Priority: 20, Reason: "judge", By: "judge", Busy: chat.BusyStep, Urge: 0.8, Threshold: 0.55}
	at := chat.Decision{Effect: chat.EffectWake, Priority: 100, Reason: "at", By: "rule", Busy: chat.BusyStep}
	list := []page.Decision{
		decided(1, "1", "Lunch was good, <img src=x onerror=window.pwned=1> wasn't it", none, "ignored"),
		decided(2, "2", "我们下周去东京出差，机票订好了吗？ Flights are booked, 酒店还没有", quiet, "accepted"),
		decided(3, "3", "so who knows the way to the station from there?", lively, "accepted"),
		decided(4, "2", "有人知道怎么走吗？", judged, "accepted"),
		decided(5, "1", "what time is it in Tokyo?", at, "accepted"),
		decided(6, "1", "a reason that the page has no words for", chat.Decision{Effect: chat.EffectIgnore, Reason: "brand_new", By: "custom"}, "ignored"),
		decided(7, "3", "one moment", chat.Decision{}, ""),
		decided(8, "2", "还有一件事", chat.Decision{}, ""),
		decided(9, "1", "is anybody there?", chat.Decision{}, ""),
	}
	list[3].Verdict = &chat.Verdict{Done: true, Speak: true, Urge: 0.8, WaitMS: 1500, Reason: "a question to the room 没有人回答"}
	list[4].AtMe = true
	list[8].Verdict = &chat.Verdict{Until: time.Now().Add(time.Minute)}
	return list
}

// choices is a set of rules that remembers what was published.
type choices struct {
	mu  sync.Mutex
	set page.RuleSet
}

func (c *choices) Rules(context.Context) (page.RuleSet, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set, nil
}

func (c *choices) Publish(_ context.Context, name string, revision int64) (page.RuleSet, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if revision != c.set.Revision {
		return page.RuleSet{}, wire.Errorf(http.StatusConflict, "somebody else was faster")
	}
	c.set.Active, c.set.Revision = name, revision+1
	return c.set, nil
}

func newChoices() *choices {
	return &choices{set: page.RuleSet{Revision: 3, Active: "quiet", Choices: []page.RuleChoice{
		{Name: "quiet", Title: "Quiet", Says: "Says nothing."}, {Name: "lively", Title: "Lively 活泼", Says: "Joins in when the talk invites it."},
	}}}
}

// Why it spoke or stayed silent, message by message: in words, with the urge against its threshold, the judge's reason, the stages' times, and
// what still waits counting down to its end; by mouse, by keyboard, on a laptop and on a phone.
func TestDecisions(t *testing.T) {
	t.Parallel()
	records, list := newMemory(), everyKind()
	list[6].Closes = time.Now().Add(time.Hour)
	list[7].Closes = list[6].Closes // one burst
	records.decide(list...)
	web := httptest.NewServer(page.New(newChat(t), records, nil, newChoices()))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	do := browser.Open(t, web.URL, false)
	const row = `document.querySelectorAll(".decision")`
	do(browser.Scene{
		chromedp.EmulateViewport(1280, 860),
		chromedp.Focus(`#tab-0`), browser.Typed(kb.ArrowRight), browser.See(`document.activeElement.id === "tab-1" && ` + row + `.length === 9`),
		browser.See(`[...` + row + `].map((r) => r.classList[1]).join() === "ignore,observe,wake,wake,wake,ignore,waits,waits,waits"`),
		browser.See(row + `[0].textContent.includes("Nobody addressed it.") && ` + row + `[4].textContent.includes("It was mentioned.")`),
		browser.See(row + `[5].textContent.includes("brand_new") && window.pwned === undefined && document.querySelector(".decision img") === null`),
		browser.See(`[...document.querySelectorAll(".urge")].map((u) => u.classList.contains("reached")).join() === "false,true,true"`),
		browser.See(row + `[3].querySelector(".judge").textContent.includes("没有人回答")`),
		browser.See(row + `[4].querySelectorAll(".stages i").length === 11 && ` + row + `[4].querySelector(".stages i").title.startsWith("veto: ")`),
		browser.See(row + `[6].classList.contains("joins") && ` + row + `[6].querySelector(".countdown") === null && /^decides in 3\d\d\d\.\d s, if nobody writes$/.test(` + row + `[7].querySelector(".countdown").textContent)`),
		browser.See(row + `[8].textContent.includes("The judge is being asked")`),
		browser.See(`document.activeElement.closest(".panel") && document.documentElement.scrollWidth <= 1280 && document.documentElement.scrollHeight <= 860`), browser.Shoot("11-decisions-light"),
	})
	do(browser.Scene{ // unfolded, by keyboard; what changes leaves it open and focused
		chromedp.Evaluate[chromedp.Void](row + `[3].querySelector("summary").focus()`), browser.Typed(kb.Enter),
		browser.See(row + `[3].querySelector(".facts").checkVisibility() && ` + row + `[3].querySelector("dl").textContent.includes("wait 1500 ms")`),
		browser.See(row + `[3].querySelectorAll(".stage-list li").length === 11`),
		chromedp.Evaluate[chromedp.Void](row + `[3].scrollIntoView()`), browser.Shoot("12-decision-open-light"),
	})
	list[3].Outcome = "recalled"
	list[6].Decision = chat.Decision{Effect: chat.EffectWake, Reason: "urge", By: "activity", Settle: true, Urge: 0.446, Threshold: 0.449}
	records.decide(list...)
	do(browser.Scene{
		browser.See(row + `[3].textContent.includes("recalled") && ` + row + `[3].querySelector("details").open && ` + row + `[3].contains(document.activeElement)`),
		browser.See(row + `[7].querySelector(".countdown").textContent.startsWith("answers in ") && ` + row + `[6].textContent.includes("urge 0.446 < 0.449")`),
		chromedp.EmulateViewport(390, 844), chromedp.Click(`#theme`), browser.See(`document.documentElement.scrollWidth <= 390 && document.documentElement.scrollHeight <= 844`),
		chromedp.Evaluate[chromedp.Void](row + `[3].scrollIntoView()`), browser.Shoot("13-decisions-phone-dark"),
		chromedp.Evaluate[chromedp.Void](`document.getElementById("panel-body").scrollTo(0, 1e6)`), browser.Shoot("14-decisions-phone-dark"),
	})
}

// The rules are chosen from what there is; whoever chooses over another's choice is told, and sees it.
func TestChooseRules(t *testing.T) {
	t.Parallel()
	rules := newChoices()
	web := httptest.NewServer(page.New(newChat(t), newMemory(), nil, rules))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	do := browser.Open(t, web.URL, true)
	const choose = `(() => { const s = document.getElementById("rules"); s.value = "%s"; s.dispatchEvent(new Event("change")); })()`
	do(browser.Scene{
		chromedp.Click(`#tab-1`), browser.See(`document.querySelector(".revision")?.textContent === "revision 3" && document.getElementById("rules").value === "quiet"`),
		chromedp.Evaluate[chromedp.Void](fmt.Sprintf(choose, "lively")), browser.See(`document.querySelector(".revision").textContent === "revision 4"`),
		browser.See(`document.getElementById("rules-says").textContent.includes("Joins in") && document.querySelector(".followed").textContent.includes("within")`),
		browser.Shoot("15-rules-dark"),
	})
	if _, err := rules.Publish(t.Context(), "", 4); err != nil {
		t.Fatal(err)
	}
	do(browser.Scene{
		chromedp.Evaluate[chromedp.Void](fmt.Sprintf(choose, "quiet")), browser.See(`document.getElementById("toast").textContent.includes("faster")`),
		browser.See(`document.querySelector(".revision").textContent === "revision 5" && document.getElementById("rules").value === ""`),
	})
}

func TestRulesOverHTTP(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rules              page.Rules
		method, body, want string
		code               int
	}{
		"list":         {newChoices(), "GET", "", `"active":"quiet"`, 200},
		"publish":      {newChoices(), "POST", `{"name":"lively","revision":3}`, `"revision":4`, 200},
		"stale":        {newChoices(), "POST", `{"name":"lively","revision":2}`, "faster", 409},
		"none to list": {nil, "GET", "", "no rules", 404},
		"none":         {nil, "POST", `{"name":"lively","revision":3}`, "no rules", 404},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), tc.method, "/api/rules", strings.NewReader(tc.body))
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			page.New(newChat(t), nil, nil, tc.rules).ServeHTTP(w, r)
			if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("got %d %s, want %d with %s", w.Code, w.Body, tc.code, tc.want)
			}
		})
	}
}

// What the page's script reads of a decision is there under these names.
func TestDecisionAsJSON(t *testing.T) {
	t.Parallel()
	d := everyKind()[3]
	d.Closes = time.Date(2026, 11, 6, 21, 42, 0, 0, time.UTC)
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"key":`, `"closes":"2026-11-06T21:42:00Z"`, `"decision":{"effect":"wake"`, `"threshold":0.55`, `"outcome":"accepted"`, `"micros":40`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if text, err = json.Marshal(everyKind()[0]); err != nil || strings.Contains(string(text), "closes") {
		t.Errorf("what need not wait: %s, %v", text, err)
	}
}
