package stack_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"kesoku.dev/emulators/browser"
	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/googlechat/world"
)

// Ten quick messages of three people, none of them for the agent: they wait for the pause, are decided on together, and the panel says why the
// agent stays silent. Then one is for it: that waits too, and the panel says why it speaks. (P4, P9, P10)
func TestDecisionsOnThePage(t *testing.T) {
	t.Parallel()
	s, url := start(t)
	room := s.Chat.Spaces()[0].Space.Name
	if err := s.Chat.Configure(room, hook.Settings{SpaceEvents: true}); err != nil {
		t.Fatal(err)
	}
	people := s.Chat.People()
	said := []string{
		"午饭吃什么？", "The usual place?", "又是拉面……", "It is quick, though", "我想吃点清淡的", "There is the new salad bar", "那家关门了",
		"Already? It opened in May", "对，上周", "Ramen it is, then",
	}
	do := browser.Open(t, url, false)
	const row = `document.querySelectorAll(".decision%s")`
	count := func(class string, n int) string { return fmt.Sprintf(row+`.length === %d`, class, n) }
	do(browser.Scene{
		chromedp.EmulateViewport(1280, 860), chromedp.Click(`#tab-1`), browser.See(`document.getElementById("rules")?.value === "base"`),
		// The functions have read no rules yet, so that they follow these at once.
		chromedp.Evaluate[chromedp.Void](`(() => { const s = document.getElementById("rules"); s.value = "settle"; s.dispatchEvent(new Event("change")); })()`),
		browser.See(`document.querySelector(".revision").textContent === "revision 2"`),
	})
	for i, text := range said {
		if _, err := s.Chat.Post(world.Post{Space: room, User: people[i%3].Name, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	do(browser.Scene{
		browser.See(count(".waits", 10)), browser.See(`document.querySelectorAll(".countdown").length === 1`),
		browser.See(`/^decides in \d+\.\d s, if nobody writes$/.test(document.querySelector(".countdown").textContent)`), browser.Shoot("decisions-waiting"),
		browser.See(count(".observe", 10)), browser.See(count(".waits", 0)),
		browser.See(`[...document.querySelectorAll(".decision .why")].every((w) => w.textContent === "Nobody addressed it.")`),
		browser.See(`document.querySelectorAll(".decision .stage-list").length === 10`),
		browser.See(`[...document.querySelectorAll(".msg .fate")].every((f) => f.textContent === "Observed: nobody addressed Kesoku")`),
		chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".msg")].at(-1).focus()`),
		browser.See(`getComputedStyle([...document.querySelectorAll(".fate")].at(-1)).opacity === "1"`), browser.Shoot("decisions-silent"),
	})
	if _, err := s.Chat.Post(world.Post{Space: room, User: people[0].Name, Text: "@Kesoku what time is it in Tokyo?"}); err != nil {
		t.Fatal(err)
	}
	do(browser.Scene{
		browser.See(`document.querySelector(".waits .countdown")?.textContent.startsWith("decides in ")`), browser.Shoot("decisions-waiting-2"),
		browser.See(count(".wake", 1)), browser.See(`document.querySelector(".decision.wake .why").textContent === "It was mentioned."`),
		browser.See(`document.querySelector(".decision.wake .record-meta").textContent.startsWith("at · by rule · priority 100 · accepted")`),
		browser.See(lastText + `.includes("In Tokyo it is")`), browser.Shoot("decisions-laptop"),
		browser.See(`document.querySelectorAll(".msg .fate:not(:empty)").length === 10`),
		chromedp.Click(`.decision.wake summary`), browser.See(`document.querySelector(".decision.wake .stage-list").textContent.includes("activate")`),
		chromedp.Evaluate[chromedp.Void](`document.querySelector(".decision.wake").scrollIntoView({ block: "end" })`), browser.Shoot("decisions-laptop-open"),
		chromedp.Click(`.decision.wake summary`), chromedp.EmulateViewport(390, 844), browser.See(`document.documentElement.scrollWidth <= 390`),
		chromedp.Click(`#theme`), browser.See(`document.documentElement.dataset.theme === "dark"`), browser.Shoot("decisions-phone-dark"),
	})
}
