package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a function's image need not have the zone files

	"kesoku.dev/shared/model"
)

// CurrentTime tells the time in one or more time zones, by the scope's clock.
type CurrentTime struct{}

type currentTimeArgs struct {
	Timezone  string   `json:"timezone"`
	Timezones []string `json:"timezones"`
}

const howZone = `write a zone as the IANA database names it, Area/City, for example "Asia/Tokyo", "Europe/London", "America/New_York" or "UTC"` +
	` (not an offset such as "UTC+8", not a country)`

// areas are where the IANA database keeps its cities.
var areas = []string{"Asia", "Europe", "America", "Africa", "Australia", "Pacific", "Atlantic", "Indian"}

// Spec describes the tool.
func (CurrentTime) Spec() model.Tool {
	return model.Tool{
		Name:        "current_time",
		Description: "Tells the current date and time, weekday and UTC offset in one or more time zones.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"timezone":{"type":"string","maxLength":64,"description":"IANA time zone, for example Asia/Tokyo. UTC if left out."},` +
			`"timezones":{"type":"array","maxItems":20,"items":{"type":"string","maxLength":64},` +
			`"description":"More IANA time zones, for several places at once."}},"additionalProperties":false}`),
	}
}

// Run answers with one line a zone; one zone that does not exist fails the call, naming all that do not.
func (CurrentTime) Run(_ context.Context, scope Scope, args json.RawMessage) (Output, error) {
	var a currentTimeArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return Output{}, fmt.Errorf("read arguments: %w", err)
	}
	zones := a.Timezones
	if a.Timezone != "" || len(zones) == 0 {
		zones = append([]string{a.Timezone}, zones...)
	}
	var lines, short, bad []string
	for i, name := range zones {
		loc, err := loadZone(name)
		switch {
		case slices.Contains(zones[:i], name):
		case err != nil:
			bad = append(bad, err.Error())
		default:
			lines = append(lines, describe(scope.Now.In(loc)))
			short = append(short, scope.Now.In(loc).Format("15:04 ")+loc.String())
		}
	}
	if len(bad) > 0 {
		return Output{}, fmt.Errorf("%s; %s", strings.Join(bad, "; "), howZone)
	}
	return Output{Content: strings.Join(lines, "\n"), Summary: strings.Join(short, ", ")}, nil
}

// describe writes t like "Asia/Tokyo: Wednesday, 2026-05-27 21:50:00, UTC+09:00 (JST)".
func describe(t time.Time) string {
	line := t.Location().String() + ": " + t.Format("Monday, 2006-01-02 15:04:05, UTC-07:00")
	if abbreviation, _ := t.Zone(); !strings.ContainsAny(abbreviation, "+-0123456789") {
		line += " (" + abbreviation + ")"
	}
	return line
}

// loadZone finds a zone by name. "Local" is the machine's zone, which means nothing to anybody.
func loadZone(name string) (*time.Location, error) {
	loc, err := time.LoadLocation(name)
	if err == nil && name != "Local" {
		return loc, nil
	}
	city := strings.ReplaceAll(name, " ", "_")
	for _, area := range areas {
		if _, err := time.LoadLocation(area + "/" + city); err == nil && city != "" {
			return nil, fmt.Errorf("there is no time zone %q, but there is %q", name, area+"/"+city)
		}
	}
	return nil, fmt.Errorf("there is no time zone %q", name)
}
