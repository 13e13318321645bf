package webhook

import (
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/platform/googlechat/internal/names"
)

// Bounds on what is taken over from an event. Chat's own are lower: a message is 32,000 bytes at most.
const (
	maxText        = 64 << 10 // bytes
	maxName        = 128      // runes of a person's or a file's name
	maxAttachments = 20
	maxParams      = 16
	maxParam       = 1024 // bytes
)

var (
	identifier = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	localeTag  = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}$`)
	mimeType   = regexp.MustCompile(`^[a-zA-Z0-9.+-]{1,64}/[a-zA-Z0-9.+-]{1,128}$`)
)

// aliasOfApp is what Google's resource names call the calling app.
const aliasOfApp = "users/app"

// origin is what a message's event knows beside the message.
type origin struct {
	interactive bool   // by an interaction event, which comes to this app for a reason
	at          string // the event's time, for a message without its own
}

// message reads what all events on a message share, as a chat.KindMessage. s is the event's space, nil for the message's own.
func (d Decoder) message(m *wireMessage, s *space, from origin) (chat.Event, error) {
	if m == nil || !names.IsMessage(m.Name) {
		return chat.Event{}, malformed("no message with a proper name")
	}
	channel, _, _ := strings.Cut(m.Name, "/messages/")
	if s == nil {
		s = m.Space
	}
	if s != nil && s.Name != "" && s.Name != channel {
		return chat.Event{}, malformed("message %s in space %.100q", m.Name, s.Name)
	}
	if len(m.Text) > maxText || len(m.Attachment) > maxAttachments {
		return chat.Event{}, malformed("message %s: %d bytes, %d attachments", m.Name, len(m.Text), len(m.Attachment))
	}
	e := chat.Event{
		Platform: names.Platform, Kind: chat.KindMessage, MessageID: m.Name, ChannelID: channel,
		Direct: direct(s), DirectUnknown: !tells(s), Sender: d.sender(m.Sender), Attachments: attachments(m.Attachment),
	}
	e.Sender.Self = e.Sender.Self || (e.Sender.Type == chat.SenderBot && strings.HasPrefix(m.ClientID, names.ClientPrefix))
	// In a direct conversation every message has a thread of its own: only an answer in a thread is meant to stay in it.
	if m.Thread != nil && (!e.Direct || m.ThreadReply) && names.IsThreadOf(channel, m.Thread.Name) {
		e.ThreadID = m.Thread.Name
	}
	e.Text, e.AtMe = d.text(m, from.interactive)
	if q := m.Quoted; q != nil && names.IsMessage(q.Name) {
		e.QuoteID = q.Name
		e.QuoteMe = d.isApp(q.Snapshot.Sender) || strings.Contains(q.Name, "/messages/"+names.ClientPrefix)
	}
	at := m.CreateTime
	if at == "" {
		at = from.at
	}
	var err error
	e.At, err = when(at)
	return e, err
}

// text is what the message says to us, and whether it mentions us.
func (d Decoder) text(m *wireMessage, interactive bool) (text string, atMe bool) {
	var ours []annotation
	others := false
	for _, a := range m.Annotations {
		mentioned := a.UserMention.User
		switch {
		case a.Type != "USER_MENTION":
		case d.isApp(mentioned.Name),
			d.AppUser == "" && interactive && m.MatchedURL == nil && mentioned.Type == "BOT":
			ours = append(ours, a)
		case mentioned.Type == "BOT":
			others = true
		}
	}
	switch {
	case len(ours) == 0:
		return clean(m.Text), false
	case m.ArgumentText != nil && len(*m.ArgumentText) <= maxText && !others: // it lacks every app's mention
		return clean(*m.ArgumentText), true
	default:
		return clean(without(m.Text, ours)), true
	}
}

// without cuts the annotated parts out of text, each with one of the spaces around it. Offsets that do not fit cut nothing.
func without(text string, cuts []annotation) string {
	units := utf16.Encode([]rune(text))
	gone := make([]bool, len(units))
	for _, c := range cuts {
		end := c.StartIndex + c.Length
		if c.StartIndex < 0 || c.Length < 0 || end > float64(len(units)) || c.StartIndex != math.Trunc(c.StartIndex) || end != math.Trunc(end) {
			continue
		}
		from, to := int(c.StartIndex), int(end)
		if to < len(units) && units[to] == ' ' && (from == 0 || units[from-1] == ' ') {
			to++
		}
		for i := from; i < to; i++ {
			gone[i] = true
		}
	}
	kept := units[:0:0]
	for i, u := range units {
		if !gone[i] {
			kept = append(kept, u)
		}
	}
	return string(utf16.Decode(kept))
}

func (m *wireMessage) annotated(typ string) bool {
	for _, a := range m.Annotations {
		if a.Type == typ {
			return true
		}
	}
	return false
}

func (m *wireMessage) mentionsApp() bool {
	for _, a := range m.Annotations {
		if a.Type == "USER_MENTION" && a.UserMention.User.Type == "BOT" && a.UserMention.User.Name != aliasOfApp {
			return true
		}
	}
	return false
}

func (d Decoder) isApp(name string) bool {
	return name != "" && (name == d.AppUser || name == aliasOfApp)
}

// sender reads a user. What is neither human nor bot by its own word is unknown.
func (d Decoder) sender(u *user) chat.Sender {
	if u == nil || !names.IsUser(u.Name) {
		return chat.Sender{Type: chat.SenderUnknown}
	}
	s := chat.Sender{ID: u.Name, Name: title(u.DisplayName), Type: chat.SenderUnknown, Self: d.isApp(u.Name)}
	switch u.Type {
	case "HUMAN":
		s.Type = chat.SenderHuman
	case "BOT":
		s.Type = chat.SenderBot
	}
	return s
}

// tells is whether the space says what kind it is: events of subscriptions carry its name alone.
func tells(s *space) bool {
	return s != nil && (s.Type != "" || s.SpaceType != "" || s.SingleUserBotDM)
}

func direct(s *space) bool {
	return s != nil && (s.SingleUserBotDM || s.Type == "DM" || s.SpaceType == "DIRECT_MESSAGE")
}

func attachments(in []attachment) []message.Attachment {
	var out []message.Attachment
	for _, a := range in {
		file := message.Attachment{Name: fileName(a.ContentName), Source: names.Source(a.Data.ResourceName, a.Drive.FileID)}
		if mimeType.MatchString(a.ContentType) {
			file.MIMEType = a.ContentType
		}
		out = append(out, file)
	}
	return out
}

// fileName is the last element of a path, whatever system wrote it, fit to be one.
func fileName(s string) string {
	s = title(s[strings.LastIndexAny(s, `/\`)+1:])
	if strings.Trim(s, ". ") == "" {
		return "attachment"
	}
	return s
}

func locale(s string) string {
	if s = strings.ReplaceAll(s, "_", "-"); localeTag.MatchString(s) {
		return s
	}
	return ""
}

// clean removes control characters, which break parsers downstream, and blank space around.
func clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
}

// title is a name on one line.
func title(s string) string {
	s = strings.Join(strings.Fields(clean(s)), " ")
	if utf8.RuneCountInString(s) > maxName {
		s = string([]rune(s)[:maxName])
	}
	return s
}
