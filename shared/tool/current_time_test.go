package tool_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"kesoku.dev/shared/tool"
)

func TestCurrentTime(t *testing.T) {
	t.Parallel()
	scope := tool.Scope{Now: time.Date(2026, 5, 27, 12, 50, 0, 0, time.UTC)}
	for _, c := range []struct{ args, content, summary string }{
		{`{"timezone":"Asia/Tokyo"}`, "Asia/Tokyo: Wednesday, 2026-05-27 21:50:00, UTC+09:00 (JST)", "21:50 Asia/Tokyo"},
		{`{"timezone":"Pacific/Auckland"}`, "Pacific/Auckland: Thursday, 2026-05-28 00:50:00, UTC+12:00 (NZST)", "00:50 Pacific/Auckland"},
		{`{"timezone":"America/Sao_Paulo"}`, "America/Sao_Paulo: Wednesday, 2026-05-27 09:50:00, UTC-03:00", "09:50 America/Sao_Paulo"},
		{`{}`, "UTC: Wednesday, 2026-05-27 12:50:00, UTC+00:00 (UTC)", "12:50 UTC"},
		{`{"timezones":["Europe/London","Asia/Kolkata","Europe/London"]}`, "Europe/London: Wednesday, 2026-05-27 13:50:00, UTC+01:00 (BST)\n" +
			"Asia/Kolkata: Wednesday, 2026-05-27 18:20:00, UTC+05:30 (IST)", "13:50 Europe/London, 18:20 Asia/Kolkata"},
		{`{"timezone":"UTC","timezones":["Asia/Shanghai"]}`, "UTC: Wednesday, 2026-05-27 12:50:00, UTC+00:00 (UTC)\n" +
			"Asia/Shanghai: Wednesday, 2026-05-27 20:50:00, UTC+08:00 (CST)", "12:50 UTC, 20:50 Asia/Shanghai"},
	} {
		out, err := tool.CurrentTime{}.Run(t.Context(), scope, json.RawMessage(c.args))
		if err != nil || out.Content != c.content || out.Summary != c.summary {
			t.Errorf("%s: %+v, %v", c.args, out, err)
		}
	}
}

func TestCurrentTimeWrongZones(t *testing.T) {
	t.Parallel()
	for args, has := range map[string]string{
		`{"timezone":"Tokyo"}`:                     `"Asia/Tokyo"`,
		`{"timezone":"New York"}`:                  `"America/New_York"`,
		`{"timezone":"UTC+8"}`:                     `"UTC+8"`,
		`{"timezone":"Local"}`:                     `"Local"`,
		`{"timezone":"../../etc/passwd"}`:          "IANA",
		`{"timezone":"/etc/localtime"}`:            "IANA",
		`{"timezone":"东京"}`:                        "IANA",
		`{"timezones":["Asia/Tokyo","Nowhere/X"]}`: `"Nowhere/X"`,
	} {
		out, err := tool.CurrentTime{}.Run(t.Context(), tool.Scope{}, json.RawMessage(args))
		if err == nil || !strings.Contains(err.Error(), has) || !strings.Contains(err.Error(), "Area/City") {
			t.Errorf("%s: %+v, %v", args, out, err)
		}
	}
}
