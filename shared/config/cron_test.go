package config_test

import (
	"testing"
	"time"

	"kesoku.dev/shared/config"
)

// C2: the last time at which a job was due, by its own clock on the wall.
func TestDue(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		schedule, zone, now string
		want                string // empty for none
	}{
		"on the dot":            {"0 9 * * *", "", "2026-05-27T09:00:00Z", "2026-05-27T09:00:00Z"},
		"just after":            {"0 9 * * *", "", "2026-05-27T09:00:00.000001Z", "2026-05-27T09:00:00Z"},
		"just before":           {"0 9 * * *", "", "2026-05-27T08:59:59.999999Z", "2026-05-26T09:00:00Z"},
		"hours late":            {"0 9 * * *", "", "2026-05-27T23:00:00Z", "2026-05-27T09:00:00Z"},
		"every minute":          {"* * * * *", "", "2026-05-27T09:17:42Z", "2026-05-27T09:17:00Z"},
		"zone ahead":            {"0 9 * * *", "Asia/Tokyo", "2026-05-27T00:00:00Z", "2026-05-27T00:00:00Z"},
		"zone ahead, before":    {"0 9 * * *", "Asia/Tokyo", "2026-05-26T23:59:59Z", "2026-05-26T00:00:00Z"},
		"zone behind":           {"0 9 * * *", "America/New_York", "2026-05-27T13:00:00Z", "2026-05-27T13:00:00Z"},
		"half-hour zone":        {"0 9 * * *", "Asia/Kolkata", "2026-05-27T03:30:00Z", "2026-05-27T03:30:00Z"},
		"weekday of the zone":   {"0 1 * * 1", "Asia/Tokyo", "2026-05-24T16:00:00Z", "2026-05-24T16:00:00Z"}, // Monday there, Sunday in UTC
		"not within a day":      {"0 9 * * 1", "", "2026-05-27T10:00:00Z", ""},                               // a Wednesday
		"never":                 {"0 9 30 2 *", "", "2026-05-27T10:00:00Z", ""},
		"a day and no more ago": {"0 9 * * 2", "", "2026-05-27T09:00:00Z", ""}, // exactly 24 h: the next one's window
		"bad zone":              {"0 9 * * *", "Mars/Olympus", "2026-05-27T09:00:00Z", ""},
		"bad schedule":          {"61 9 * * *", "", "2026-05-27T09:00:00Z", ""},

		// 29 March 2026, 02:00 CET becomes 03:00 CEST: 02:30 is not.
		"winter":           {"0 9 * * *", "Europe/Berlin", "2026-03-28T08:00:00Z", "2026-03-28T08:00:00Z"},
		"summer":           {"0 9 * * *", "Europe/Berlin", "2026-03-29T07:00:00Z", "2026-03-29T07:00:00Z"},
		"summer, before":   {"0 9 * * *", "Europe/Berlin", "2026-03-29T06:59:00Z", "2026-03-28T08:00:00Z"},
		"hour that is not": {"30 2 * * *", "Europe/Berlin", "2026-03-29T01:10:00Z", "2026-03-28T01:30:00Z"},
		"day after it":     {"30 2 * * *", "Europe/Berlin", "2026-03-30T00:30:00Z", "2026-03-30T00:30:00Z"},
		// 25 October 2026, 03:00 CEST becomes 02:00 CET: 02:30 is twice, and Cloud Scheduler runs by the wall.
		"hour that is twice, first":  {"30 2 * * *", "Europe/Berlin", "2026-10-25T00:40:00Z", "2026-10-25T00:30:00Z"},
		"hour that is twice, second": {"30 2 * * *", "Europe/Berlin", "2026-10-25T01:40:00Z", "2026-10-25T01:30:00Z"},
		"day of 25 hours":            {"0 9 * * *", "Europe/Berlin", "2026-10-25T08:00:00Z", "2026-10-25T08:00:00Z"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, err := time.Parse(time.RFC3339Nano, tt.now)
			if err != nil {
				t.Fatal(err)
			}
			j := config.Job{Schedule: tt.schedule, TimeZone: tt.zone}
			got, ok := j.Due(now)
			if ok != (tt.want != "") || (ok && got.Due.Format(time.RFC3339Nano) != tt.want) {
				t.Errorf("due at %s, %v; want %s", got.Due.Format(time.RFC3339Nano), ok, tt.want)
			}
		})
	}
}

// However late a trigger comes before the next one is due, it means the same firing.
func TestDueIsOneFiring(t *testing.T) {
	t.Parallel()
	j := config.Job{Schedule: "0 9 * * *", TimeZone: "Europe/Berlin"}
	start := time.Date(2026, 10, 24, 7, 0, 0, 0, time.UTC)
	want, _ := j.Due(start)
	for late := time.Duration(0); late < 24*time.Hour; late += 37 * time.Minute {
		if got, ok := j.Due(start.Add(late)); !ok || got != want {
			t.Fatalf("a trigger %s late means %s (%v), want %s", late, got, ok, want)
		}
	}
}

// A trigger may come half a minute before its time and still mean it; each time and each job has a firing of its own.
func TestTriggered(t *testing.T) {
	t.Parallel()
	j := config.Job{Name: "daily", Schedule: "0 9 * * *", TimeZone: "Asia/Tokyo"}
	nine := time.Date(2026, 5, 27, 0, 0, 0, 0, time.UTC)
	want, ok := j.Due(nine)
	if !ok || want.ID == "" || !want.Due.Equal(nine) {
		t.Fatalf("%+v, %v", want, ok)
	}
	for early, same := range map[time.Duration]bool{-time.Hour: true, 0: true, 30 * time.Second: true, 30*time.Second + 1: false} {
		if got, ok := j.Triggered(nine.Add(-early)); !ok || (got == want) != same {
			t.Errorf("a trigger %s early means %+v, %v", early, got, ok)
		}
	}
	other := config.Job{Name: "other", Schedule: j.Schedule, TimeZone: j.TimeZone}
	if got, _ := other.Due(nine); got.ID == want.ID {
		t.Error("two jobs have one firing")
	}
	if got, _ := j.Due(nine.Add(24 * time.Hour)); got.ID == want.ID {
		t.Error("two days have one firing")
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	j := config.Job{Schedule: "0 9 * * *", TimeZone: "Asia/Tokyo"}
	got := j.Next(time.Date(2026, 5, 27, 0, 0, 0, 0, time.UTC), 2)
	if len(got) != 2 || got[0].Format(time.RFC3339) != "2026-05-28T09:00:00+09:00" || got[1].Sub(got[0]) != 24*time.Hour {
		t.Errorf("%v", got)
	}
	for _, never := range []config.Job{{Schedule: "0 9 30 2 *"}, {Schedule: "x"}, {Schedule: "0 9 * * *", TimeZone: "Mars/Olympus"}} {
		if got := never.Next(time.Now(), 3); len(got) != 0 {
			t.Errorf("%+v: %v", never, got)
		}
	}
}
