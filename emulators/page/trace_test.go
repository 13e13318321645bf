package page_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"kesoku.dev/emulators/browser"
	"kesoku.dev/emulators/page"
	"kesoku.dev/emulators/telemetry"
	"kesoku.dev/shared/message"
)

// course is a turn that failed: its model twice, a tool once; the span that began it has not come yet.
type course struct{}

func (course) Turn(session string, turn int) [][]telemetry.Span {
	if turn != 1 || !strings.HasPrefix(session, "s-") {
		return nil
	}
	begun := time.Date(2026, 11, 6, 21, 42, 0, 123_456_789, time.UTC)
	span := func(id, parent, service, name, kind string, from, to int, failed string) telemetry.Span {
		s := telemetry.Span{
			Trace: strings.Repeat("0a", 16), ID: id, Parent: parent, Service: service, Name: name, Kind: kind,
			Start: begun.Add(time.Duration(from) * time.Microsecond), End: begun.Add(time.Duration(to) * time.Microsecond), Attrs: map[string]any{"n": int64(1)},
		}
		if failed != "" {
			s.Failed, s.Attrs["error.type"] = true, failed
		}
		return s
	}
	list := []telemetry.Span{
		span("2", "1", "turn", "process turns", "consumer", 0, 61_500_000, ""),
		span("3", "2", "turn", "invoke_agent kesoku", "internal", 20_000, 61_400_000, "overloaded"),
		span("4", "3", "turn", "chat gemini-2.5-flash-with-a-name-that-is-long-beyond-reason", "client", 30_000, 20_000_000, "overloaded"),
		span("5", "3", "turn", "execute_tool <img src=x onerror=window.pwned=1>", "internal", 21_000_000, 21_000_090, "tool_error"),
		span("6", "3", "turn", "chat gemini-2.5-flash", "client", 22_000_000, 61_000_000, "overloaded"),
		span("7", "2", "cron", "something else", "internal", 61_400_000, 61_400_000, ""),
	}
	list[0].Links = map[string]string{strings.Repeat("0b", 16): "99"}
	return [][]telemetry.Span{list}
}

func (course) Heard() <-chan struct{} { return nil }

// What failed is red and says how; a name is text and nothing more; a span whose parent is missing stands at the top; and what is very short can be seen.
func TestFailedTrace(t *testing.T) {
	t.Parallel()
	records := newMemory()
	records.put(story(message.StatusProcessed)...)
	web := httptest.NewServer(page.New(newChat(t), records, course{}, nil))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	do := browser.Open(t, web.URL, true)
	do(browser.Scene{
		chromedp.EmulateViewport(1280, 860),
		chromedp.WaitVisible(`.trace`), chromedp.Click(`.trace > details > summary`), browser.See(`document.querySelectorAll(".waterfall li").length === 6`),
		browser.See(`document.querySelectorAll(".waterfall li.failed").length === 4 && document.querySelector(".trace-failed").textContent.includes("4 failed")`),
		browser.See(`getComputedStyle(document.querySelector(".failed .track i")).backgroundColor === "rgb(220, 68, 55)"`),
		browser.See(`[...document.querySelectorAll(".track i")].every((b) => b.getBoundingClientRect().width >= 3)`),
		browser.See(`document.querySelector(".trace-sum").textContent.startsWith("1 min 2 s")`),
		browser.See(`document.querySelector(".trace-id").textContent.includes("linked") && window.pwned === undefined && document.querySelector(".waterfall img") === null`),
		chromedp.Click(`.waterfall .w-tool summary`), browser.See(`document.querySelector(".w-tool dl").textContent.includes("tool_error")`),
		chromedp.Evaluate[chromedp.Void](`document.querySelector(".trace").scrollIntoView()`), browser.Shoot("10-trace-failed-dark"),
	})
}

// A page without traces has no rows for them, and says so when it is asked.
func TestNoTraces(t *testing.T) {
	t.Parallel()
	handler := page.New(newChat(t), nil, nil, nil)
	for path, want := range map[string]int{"/api/trace?session=s&turn=1": 404, "/api/trace": 404} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
