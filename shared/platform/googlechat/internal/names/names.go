// Package names is what the two halves of Google Chat, the webhook and the adapter, must agree on: the forms of resource names and our
// own conventions inside messages. It knows no SDK and no event.
package names

import (
	"regexp"
	"strings"
)

const (
	// Platform is the platform's name in events, and the chatbot_id of its messages.
	Platform = "googlechat"
	// ClientPrefix starts the ids that we give our messages. Google demands "client-"; the rest tells ours from other apps'.
	ClientPrefix = "client-kesoku-"
	// ActionParameter is the button parameter that carries the name of the action: an add-on's function is the URL to call.
	ActionParameter = "kesoku_action"

	media     = "media/"
	drive     = "drive/"
	maxSource = 2048 // bytes
)

var (
	space   = regexp.MustCompile(`^spaces/[A-Za-z0-9_-]{1,128}$`)
	message = regexp.MustCompile(`^spaces/[A-Za-z0-9_-]{1,128}/messages/[A-Za-z0-9_.-]{1,128}$`)
	thread  = regexp.MustCompile(`^spaces/[A-Za-z0-9_-]{1,128}/threads/[A-Za-z0-9_.-]{1,128}$`)
	user    = regexp.MustCompile(`^users/[A-Za-z0-9_.@-]{1,128}$`)
	// handle is opaque, and becomes a part of a URL.
	handle = regexp.MustCompile(`^[A-Za-z0-9_=+.~-]+(/[A-Za-z0-9_=+.~-]+)*$`)
)

// IsSpace tells whether s names a space.
func IsSpace(s string) bool { return space.MatchString(s) }

// IsMessage tells whether s names a message.
func IsMessage(s string) bool { return message.MatchString(s) }

// IsUser tells whether s names a user.
func IsUser(s string) bool { return user.MatchString(s) }

// IsThreadOf tells whether s names a thread of the space.
func IsThreadOf(spaceName, s string) bool {
	return thread.MatchString(s) && strings.HasPrefix(s, spaceName+"/")
}

// Source is an attachment's handle as events keep it: of a file uploaded to Chat, else of one in Drive, else, or where the handle is
// not fit for a URL, empty.
func Source(uploaded, driveFile string) string {
	switch {
	case uploaded != "" && fit(uploaded):
		return media + uploaded
	case uploaded == "" && driveFile != "" && fit(driveFile):
		return drive + driveFile
	default:
		return ""
	}
}

// Uploaded returns the handle of a file uploaded to Chat from its source.
func Uploaded(source string) (string, bool) {
	s, ok := strings.CutPrefix(source, media)
	return s, ok && fit(s)
}

func fit(s string) bool {
	return len(s) <= maxSource && handle.MatchString(s) && !strings.Contains(s, "..")
}
