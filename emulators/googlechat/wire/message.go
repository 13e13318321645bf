// Package wire is what goes over the wire between Google Chat and an app: messages with their annotations, interaction events in both
// of Google's forms, space events as Pub/Sub pushes them, and errors. Its forms are those of google.golang.org/api/chat/v1 and of events
// recorded in public. It is pure: no state, no clock, no HTTP.
package wire

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"google.golang.org/api/chat/v1"
)

// TimeFormat is how Google Chat writes times: UTC, always six digits, so that times sort as text.
const TimeFormat = "2006-01-02T15:04:05.000000Z"

// Message is a Chat message as it is stored and sent. It is never changed once shared: an edit makes a new one. Cards and widgets are kept
// byte for byte as the app sent them.
type Message struct {
	Name                    string                      `json:"name"`
	Sender                  *chat.User                  `json:"sender,omitempty"`
	CreateTime              string                      `json:"createTime,omitempty"`
	LastUpdateTime          string                      `json:"lastUpdateTime,omitempty"`
	DeleteTime              string                      `json:"deleteTime,omitempty"`
	Text                    string                      `json:"text,omitempty"`
	FormattedText           string                      `json:"formattedText,omitempty"`
	ArgumentText            string                      `json:"argumentText,omitempty"`
	FallbackText            string                      `json:"fallbackText,omitempty"`
	Annotations             []*chat.Annotation          `json:"annotations,omitempty"`
	CardsV2                 json.RawMessage             `json:"cardsV2,omitempty"`
	AccessoryWidgets        json.RawMessage             `json:"accessoryWidgets,omitempty"`
	Attachment              []*chat.Attachment          `json:"attachment,omitempty"`
	Thread                  *chat.Thread                `json:"thread,omitempty"`
	ThreadReply             bool                        `json:"threadReply,omitempty"`
	Space                   *chat.Space                 `json:"space,omitempty"`
	QuotedMessageMetadata   *chat.QuotedMessageMetadata `json:"quotedMessageMetadata,omitempty"`
	SlashCommand            *chat.SlashCommand          `json:"slashCommand,omitempty"`
	ClientAssignedMessageID string                      `json:"clientAssignedMessageId,omitempty"`
	DeletionMetadata        *chat.DeletionMetadata      `json:"deletionMetadata,omitempty"`
}

// Empty reports whether there is nothing to see in m.
func (m *Message) Empty() bool {
	return m.Text == "" && len(m.CardsV2) == 0 && len(m.Attachment) == 0 && len(m.AccessoryWidgets) == 0
}

// SetText sets the text a person typed: mentions of the given users become annotations, and what is left without the app's
// mentions becomes the argument text.
func (m *Message) SetText(text string, users []*chat.User, app string) {
	m.Text = text
	m.Annotations = mentions(text, users)
	m.ArgumentText, m.FormattedText = rewrite(text, m.Annotations, app)
}

// SetAppText sets a text that an app sent, in which <users/…> mentions somebody.
func (m *Message) SetAppText(text string, users []*chat.User) {
	var out strings.Builder
	m.Annotations = nil
	for rest := text; rest != ""; {
		before, user, after := cutMention(rest, users)
		out.WriteString(before)
		if user != nil {
			name := "@" + user.DisplayName
			m.Annotations = append(m.Annotations, mention(user, utf16Len(out.String()), utf16Len(name)))
			out.WriteString(name)
		}
		rest = after
	}
	m.Text, m.FormattedText, m.ArgumentText = out.String(), text, out.String()
}

// Mentions reports whether m mentions the user of that resource name.
func (m *Message) Mentions(user string) bool {
	for _, a := range m.Annotations {
		if a.UserMention != nil && a.UserMention.User.Name == user {
			return true
		}
	}
	return false
}

// cutMention splits text at its first <users/…> that names one of the users; with none, all of it is before.
func cutMention(text string, users []*chat.User) (before string, user *chat.User, after string) {
	for at := 0; ; {
		i := strings.Index(text[at:], "<users/")
		if i < 0 {
			return text, nil, ""
		}
		at += i
		for _, u := range users {
			if strings.HasPrefix(text[at:], "<"+u.Name+">") {
				return text[:at], u, text[at+len(u.Name)+2:]
			}
		}
		at++
	}
}

// mentions finds "@Name" of each user, the longest name first. Indexes are UTF-16 code units, as the public events show.
func mentions(text string, users []*chat.User) []*chat.Annotation {
	var found []*chat.Annotation
	for at := 0; at < len(text); at++ {
		if text[at] != '@' {
			continue
		}
		if user := named(text[at+1:], users); user != nil {
			found = append(found, mention(user, utf16Len(text[:at]), utf16Len("@"+user.DisplayName)))
			at += len(user.DisplayName)
		}
	}
	return found
}

// named returns the user whose whole name stands at the start of text.
func named(text string, users []*chat.User) *chat.User {
	var best *chat.User
	for _, u := range users {
		rest, ok := strings.CutPrefix(text, u.DisplayName)
		if !ok || u.DisplayName == "" || (best != nil && len(best.DisplayName) >= len(u.DisplayName)) {
			continue
		}
		// A Latin name goes on with Latin letters ("@Kesokus"), while Chinese puts no space after a name.
		if next, _ := utf8.DecodeRuneInString(rest); rest != "" && next < utf8.RuneSelf && (unicode.IsLetter(next) || unicode.IsDigit(next)) {
			continue
		}
		best = u
	}
	return best
}

func mention(user *chat.User, start, length int64) *chat.Annotation {
	return &chat.Annotation{
		Type: "USER_MENTION", StartIndex: start, Length: length,
		UserMention:     &chat.UserMentionMetadata{User: user, Type: "MENTION"},
		ForceSendFields: []string{"StartIndex"},
	}
}

// rewrite returns text without the app's mentions, and text with people's mentions in their markup (an app's stays as typed).
func rewrite(text string, found []*chat.Annotation, app string) (argument, formatted string) {
	var arg, form strings.Builder
	units, done := utf16.Encode([]rune(text)), int64(0)
	for _, a := range found {
		plain := string(utf16.Decode(units[done:a.StartIndex]))
		typed := string(utf16.Decode(units[a.StartIndex : a.StartIndex+a.Length]))
		arg.WriteString(plain)
		form.WriteString(plain)
		if a.UserMention.User.Name != app {
			arg.WriteString(typed)
		}
		if a.UserMention.User.Type == "HUMAN" {
			typed = "<" + a.UserMention.User.Name + ">"
		}
		form.WriteString(typed)
		done = a.StartIndex + a.Length
	}
	rest := string(utf16.Decode(units[done:]))
	return arg.String() + rest, form.String() + rest
}

func utf16Len(s string) int64 {
	var n int64
	for _, r := range s {
		n += int64(utf16.RuneLen(r))
	}
	return n
}
