package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Profile is one way in which people use the app.
type Profile struct {
	Name     string
	Model    time.Duration // how long the model takes to answer
	Clients  int           // people who write at the same time, each only after the last reply
	Spaces   int           // that they write in, one after the other
	Messages int
	// Quota has the Chat stand-in refuse more than one write a second in a space, as Google does.
	Quota bool
}

// String names the profile and its model.
func (p Profile) String() string {
	if p.Model == 0 {
		return p.Name + " instant"
	}
	return fmt.Sprintf("%s %s", p.Name, p.Model)
}

// Bounds of a profile, so that a slip of the finger does not take the machine down.
const (
	maxClients  = 1_000
	maxSpaces   = 100_000
	maxMessages = 1_000_000
)

func (p Profile) validate() error {
	if p.Name == "" || p.Clients < 1 || p.Clients > maxClients || p.Spaces < 1 || p.Spaces > maxSpaces || p.Messages < 1 ||
		p.Messages > maxMessages || p.Model < 0 || p.Model > time.Minute {
		return fmt.Errorf("profile %+v: clients 1 to %d, spaces 1 to %d, messages 1 to %d, a model of up to a minute", p, maxClients, maxSpaces,
			maxMessages)
	}
	return nil
}

// slowModel is a model as quick as real ones are at best.
const slowModel = 200 * time.Millisecond

// Profiles are the profiles that are measured by default. Quick ones take seconds and show that all works, not how fast.
func Profiles(quick bool) []Profile {
	all := []Profile{
		// One client goes through many spaces so as not to wait for Google's quota, which the app keeps by itself.
		{Name: "a", Clients: 1, Spaces: 100, Messages: 200},
		{Name: "a", Clients: 1, Spaces: 100, Messages: 100, Model: slowModel},
		{Name: "b", Clients: 32, Spaces: 3000, Messages: 1500},
		{Name: "b", Clients: 32, Spaces: 3000, Messages: 1500, Model: slowModel},
		{Name: "c", Clients: 32, Spaces: 20, Messages: 600},
		{Name: "c", Clients: 32, Spaces: 20, Messages: 600, Model: slowModel},
		{Name: "c-quota", Clients: 32, Spaces: 20, Messages: 600, Quota: true},
	}
	if quick {
		for i := range all {
			all[i].Messages = 4 * all[i].Clients
		}
	}
	return all
}

// Pick returns the profiles of the given names, separated by commas; none means all. Clients and messages, if not 0, replace the profiles' own.
func Pick(all []Profile, names string, clients, messages int) ([]Profile, error) {
	wanted := strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })
	var picked []Profile
	known := map[string]bool{}
	for _, p := range all {
		known[p.Name] = true
		if len(wanted) > 0 && !slices.Contains(wanted, p.Name) {
			continue
		}
		if clients != 0 {
			p.Clients = clients
		}
		if messages != 0 {
			p.Messages = messages
		}
		picked = append(picked, p)
	}
	var problems []error
	for _, name := range wanted {
		if !known[name] {
			problems = append(problems, fmt.Errorf("no profile is named %q", name))
		}
	}
	for _, p := range picked {
		problems = append(problems, p.validate())
	}
	return picked, errors.Join(problems...)
}
