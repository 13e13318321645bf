// Package geminiapi is what the drivers of the Gemini protocol share whichever SDK carries it: ids for calls that come without one,
// arguments and results as JSON objects, and the reading of endings and errors as faults. It knows the protocol and no SDK.
package geminiapi

import (
	"fmt"
	"regexp"

	"kesoku.dev/shared/history"
)

// madeID is the form of the ids that IDs makes. No API of Google's makes such, so they are told apart by it.
var madeID = regexp.MustCompile(`^call-[0-9]+$`)

// IDs names the calls of one answer, uniquely within the request that it answers.
type IDs struct {
	used map[string]bool
	made int
}

// NewIDs knows the ids that turns hold already.
func NewIDs(turns []history.Turn) *IDs {
	ids := &IDs{used: map[string]bool{}}
	for _, t := range turns {
		for _, p := range t.Parts {
			if p.Call != nil {
				ids.used[p.Call.ID] = true
			}
		}
	}
	return ids
}

// Take returns the id under which the next call is known: the provider's own where it gave one that is free, else call-1, call-2, …
func (ids *IDs) Take(given string) string {
	id := given
	for id == "" || ids.used[id] {
		ids.made++
		id = fmt.Sprintf("call-%d", ids.made)
	}
	ids.used[id] = true
	return id
}

// OnWire maps an id back to what the provider knows: nothing for one that IDs made.
func OnWire(id string) string {
	if madeID.MatchString(id) {
		return ""
	}
	return id
}
