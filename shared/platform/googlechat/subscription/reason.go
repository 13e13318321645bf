package subscription

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/googleapis/gax-go/v2/apierror"

	"kesoku.dev/shared/platform/googlechat/internal/fault"
)

// reasonOf names a refusal by the reason that Google gives, else by its status.
func reasonOf(err error) string {
	var e *apierror.APIError
	reason := ""
	if errors.As(err, &e) {
		reason = e.Reason()
	}
	return cmp.Or(reason, http.StatusText(fault.Code(err)), "OTHER")
}

const approve = "have a Workspace administrator approve the Chat app for the scope https://www.googleapis.com/auth/chat.app.messages.readonly " +
	"(Admin console, Apps, Marketplace apps; the function's service account needs a Marketplace-compatible OAuth client)"

const endpoint = "let serviceAccount:chat-api-push@system.gserviceaccount.com publish to the topic (roles/pubsub.publisher), and let no organisation " +
	"policy forbid it"

// remedies are what to do about a reason: those of google.rpc.ErrorInfo, of Subscription.suspension_reason, and statuses.
var remedies = map[string]string{
	"SERVICE_DISABLED":                    "turn on the Google Workspace Events API (workspaceevents.googleapis.com) in the project",
	"ACCESS_TOKEN_SCOPE_INSUFFICIENT":     approve,
	"APP_SCOPE_REVOKED":                   approve,
	http.StatusText(http.StatusForbidden): approve,
	"ENDPOINT_PERMISSION_DENIED":          endpoint,
	"ENDPOINT_NOT_FOUND":                  "make the topic that WORKSPACE_EVENTS_TOPIC names, in the Chat app's own project",
	"ENDPOINT_RESOURCE_EXHAUSTED":         "raise the project's Pub/Sub quota",
	"APP_AUTHORIZATION_FAILURE":           "add the app to the space again",
	"RESOURCE_DELETED":                    "nothing: the space is gone",
	http.StatusText(http.StatusNotFound):  "nothing if the space is gone; else add the app to it again",
	http.StatusText(http.StatusBadRequest): "check that WORKSPACE_EVENTS_TOPIC names a topic of the Chat app's own project, and that its message " +
		"storage policy allows Google's nearest region",
}

// Remedy says what a person can do about the reason in a record.
func Remedy(reason string) string {
	return cmp.Or(remedies[reason], fmt.Sprintf("look %q up in the Workspace Events API's documentation", reason))
}
