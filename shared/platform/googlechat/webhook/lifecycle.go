package webhook

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"kesoku.dev/shared/platform/googlechat/token"
)

// lifecycleEvents is what the types of events on a subscription itself start with, lifecycle those that there are. Google says to ignore
// others (developers.google.com/workspace/events/guides/events-lifecycle).
const lifecycleEvents = "google.workspace.events.subscription.v1."

var lifecycle = []string{"suspended", "expirationReminder", "expired"}

var subscriptionName = regexp.MustCompile(`^subscriptions/[A-Za-z0-9_.~=+-]{1,500}$`)

// Subscription tells of a body that the caller sent whether it is an event on a subscription rather than on messages, and which it is about:
// something has become of it that asks for a look. The name is empty if the event is none that Google documents.
func Subscription(from token.Caller, body []byte) (name string, ok bool) {
	var p push
	if from != token.Push || json.Unmarshal(body, &p) != nil {
		return "", false
	}
	kind, ok := strings.CutPrefix(p.Message.Attributes["ce-type"], lifecycleEvents)
	if !ok {
		return "", false
	}
	var data struct {
		Subscription struct {
			Name string `json:"name"`
		} `json:"subscription"`
	}
	if !slices.Contains(lifecycle, kind) || json.Unmarshal(p.Message.Data, &data) != nil || !subscriptionName.MatchString(data.Subscription.Name) {
		return "", true
	}
	return data.Subscription.Name, true
}
