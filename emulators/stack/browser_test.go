package stack_test

import (
	"crypto/rand"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"kesoku.dev/emulators/browser"
	"kesoku.dev/emulators/models"
	"kesoku.dev/emulators/stack"
	"kesoku.dev/shared/testenv/emulator"
)

// TestMain lets the test's own binary be the functions: the stack starts it again for each, with FUNCTION_TARGET set.
func TestMain(m *testing.M) {
	if os.Getenv("FUNCTION_TARGET") != "" {
		if err := stack.ServeFunction(os.Getenv("PORT")); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// start runs a whole stack for the test, in a project of its own on the shared emulators, and returns it with its page's URL. change has the last
// word on its options.
func start(t *testing.T, change ...func(*stack.Options)) (*stack.Stack, string) {
	t.Helper()
	pair, err := emulator.Shared()
	if err != nil {
		t.Fatal(err)
	}
	files, err := stack.ConfigFiles(os.DirFS("../../infra/config"))
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := &strings.Builder{}
	o := stack.Options{
		Command: []string{self}, Project: "stack-" + strings.ToLower(rand.Text()[:12]), Emulators: pair, Config: files,
		Models: models.Options{Pace: models.Lively()}, FunctionLog: &locked{b: log},
	}
	for _, f := range change {
		f(&o)
	}
	s, err := stack.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.Page())
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		s.Stop()
		if t.Failed() {
			t.Log(log)
		}
	})
	return s, web.URL
}

// locked lets several functions write to one log.
type locked struct {
	mu sync.Mutex
	b  *strings.Builder
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// lastCard and lastText look at the newest card and text on the page.
const (
	lastCard = `[...document.querySelectorAll(".card-title")].at(-1)?.textContent`
	lastText = `[...document.querySelectorAll(".msg .text")].at(-1)?.textContent`
)

// A newcomer's first minute: asks for the time in Tokyo and sees the steps fold in one card that turns to ✅, the answer land in the
// thread, and the records come to rest; then stops a turn that takes long, and asks in Chinese.
func TestFirstMinute(t *testing.T) {
	t.Parallel()
	_, url := start(t)
	do := browser.Open(t, url, false)
	do(browser.Scene{
		chromedp.WaitVisible(`.try .chip`), browser.Shoot("first-minute-0"),
		chromedp.Click(`.try .chip:first-child`), browser.See(`document.activeElement.id === "input"`), browser.Typed(kb.Enter),
		browser.See(lastCard + `.includes("⏳")`),
		browser.See(lastText + `.includes("In Tokyo it is")`), browser.See(lastCard + `.includes("✅")`),
		browser.See(`document.querySelectorAll(".s-processed").length === 1 && document.querySelectorAll(".s-delivered").length === 5`),
		browser.See(`document.querySelectorAll(".thread").length === 1`),
		chromedp.Click(`.fold-button`), browser.See(`document.querySelector(".fold.open") !== null`), browser.Shoot("first-minute-1"),
	})
	do(browser.Scene{
		chromedp.Focus(`#input`), browser.Typed("@Kesoku think hard about lunch"), browser.Typed(kb.Enter),
		browser.See(`document.querySelector(".w-buttons .button") !== null`),
		chromedp.Click(`.w-buttons .button`),
		browser.See(lastCard + `.includes("⏹")`), browser.See(`document.querySelectorAll(".s-interrupted").length === 1`),
		browser.Shoot("first-minute-2"),
	})
}

// The trace of a turn is a waterfall beside its records: every part of the road has its bars, a tap shows what a span knows, and it is whole
// on a laptop and on a phone.
func TestTraceOnThePage(t *testing.T) {
	t.Parallel()
	_, url := start(t)
	do := browser.Open(t, url, false)
	do(browser.Scene{
		chromedp.EmulateViewport(1280, 860),
		chromedp.WaitVisible(`.try .chip`), chromedp.Click(`.try .chip:first-child`), browser.See(`document.activeElement.id === "input"`), browser.Typed(kb.Enter),
		browser.See(`document.querySelectorAll(".s-delivered").length === 5`),
		chromedp.Click(`.trace > details > summary`),
		// The last span to come is the delivery's own, which ends after what it sent.
		browser.See(`[...document.querySelectorAll(".waterfall .span-name")].some((s) => s.textContent === "process deliveries")`),
		browser.See(`["webhook", "pipeline", "turn", "model", "tool", "deliver"].every((k) => document.querySelector(".waterfall .w-" + k))`),
		chromedp.Evaluate[chromedp.Void](`document.querySelector(".trace").scrollIntoView()`), browser.Shoot("trace-laptop"),
		chromedp.Click(`.waterfall .w-model summary`), browser.See(`document.querySelector(".waterfall .w-model dl").textContent.includes("gen_ai.usage.input_tokens")`),
		browser.Shoot("trace-laptop-span"),
		chromedp.Click(`.trace-large`), browser.See(`document.querySelector("dialog .waterfall") !== null`), browser.Shoot("trace-large"),
		chromedp.EmulateViewport(390, 844), browser.See(`document.querySelector("dialog").scrollWidth <= 390`), browser.Shoot("trace-large-phone"),
		browser.Typed(kb.Escape), browser.See(`document.querySelector("dialog") === null && document.querySelector(".trace .waterfall") !== null`),
		browser.See(`document.documentElement.scrollWidth <= 390`),
		chromedp.Evaluate[chromedp.Void](`document.querySelector(".trace").scrollIntoView()`), browser.Shoot("trace-phone"),
	})
}
