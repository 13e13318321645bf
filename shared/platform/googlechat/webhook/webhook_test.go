package webhook_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/platform/googlechat/token"
	"kesoku.dev/shared/platform/googlechat/webhook"
)

const (
	app   = "users/999"
	name  = "spaces/s/messages/m.1"
	human = `{"name":"users/1","displayName":"Ann","type":"HUMAN"}`
	room  = `{"name":"spaces/s","spaceType":"SPACE"}`
	dm    = `{"name":"spaces/s","spaceType":"DIRECT_MESSAGE","singleUserBotDm":true}`
	at    = "2026-01-02T03:04:05.000001Z"
)

var (
	decoder = webhook.Decoder{AppUser: app, Commands: map[string]string{"7": "status"}}
	when    = time.Date(2026, 1, 2, 3, 4, 5, 1000, time.UTC)
	ann     = chat.Sender{ID: "users/1", Name: "Ann", Type: chat.SenderHuman}
)

// said is a message of Ann's with more fields.
func said(more string) string {
	return `{"name":"` + name + `","sender":` + human + `,"createTime":"` + at + `","thread":{"name":"spaces/s/threads/t"}` + more + `}`
}

func classic(typ, space, msg, more string) string {
	s := `{"type":"` + typ + `","eventTime":"` + at + `","user":` + human + `,"space":` + space
	if msg != "" {
		s += `,"message":` + msg
	}
	return s + more + `}`
}

func addOn(kind, space, msg, more string) string {
	s := `{"commonEventObject":{"userLocale":"zh-CN"},"chat":{"eventTime":"` + at + `","user":` + human + `,"` + kind + `":{"space":` + space
	if msg != "" {
		s += `,"message":` + msg
	}
	return s + more + `}}}`
}

func push(typ, data string) string {
	return `{"message":{"attributes":{"ce-type":"google.workspace.chat.` + typ + `","ce-time":"` + at + `"},"data":"` +
		base64.StdEncoding.EncodeToString([]byte(data)) + `"},"subscription":"projects/p/subscriptions/s"}`
}

func mention(of, typ string, start, length string) string {
	return `{"type":"USER_MENTION","startIndex":` + start + `,"length":` + length + `,"userMention":{"user":{"name":"` + of + `","type":"` + typ + `"}}}`
}

func decode(t *testing.T, from token.Caller, body string) []chat.Event {
	t.Helper()
	events, err := decoder.Decode(from, []byte(body))
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return events
}

func TestForms(t *testing.T) {
	t.Parallel()
	message1 := chat.Event{
		Platform: "googlechat", Kind: chat.KindMessage, MessageID: name, ChannelID: "spaces/s", ThreadID: "spaces/s/threads/t",
		Sender: ann, Text: "hi", At: when,
	}
	joined := chat.Event{
		Platform: "googlechat", Kind: chat.KindJoined, EventID: "spaces/s@" + at, ChannelID: "spaces/s", Sender: ann, At: when,
	}
	click := chat.Event{
		Platform: "googlechat", Kind: chat.KindAction, MessageID: name, EventID: at + " users/1 stop", ChannelID: "spaces/s",
		ThreadID: "spaces/s/threads/t", Sender: ann, At: when,
		Action: chat.Action{Name: "stop", Params: map[string]string{"session": "x", "turn": "3"}},
	}
	command := with(message1, func(e *chat.Event) {
		e.Kind, e.Text = chat.KindCommand, "/status now"
		e.Action = chat.Action{Name: "status", Params: map[string]string{"id": "7", "type": "SLASH_COMMAND"}}
	})
	quick := chat.Event{
		Platform: "googlechat", Kind: chat.KindCommand, EventID: "spaces/s@" + at + " users/1 7", ChannelID: "spaces/s", Sender: ann,
		Text: "/status", At: when, Action: chat.Action{Name: "status", Params: map[string]string{"id": "7", "type": "QUICK_COMMAND"}},
	}
	fromPush := with(message1, func(e *chat.Event) { e.DirectUnknown = true })
	chinese := func(e chat.Event) chat.Event { return with(e, func(e *chat.Event) { e.Locale = "zh-CN" }) }
	slash := said(`,"text":"/status now","argumentText":" now","slashCommand":{"commandId":"7"}`)
	params := `[{"key":"kesoku_action","value":"stop"},{"key":"session","value":"x"},{"key":"turn","value":"3"}]`
	tests := map[string]struct {
		from token.Caller
		body string
		want []chat.Event
	}{
		"classic message": {token.Chat, classic("MESSAGE", room, said(`,"text":"hi"`), ""), []chat.Event{message1}},
		"add-on message":  {token.Chat, addOn("messagePayload", room, said(`,"text":"hi"`), ""), []chat.Event{chinese(message1)}},
		"pushed message":  {token.Push, push("message.v1.created", `{"message":`+said(`,"text":"hi","space":{"name":"spaces/s"}`)+`}`), []chat.Event{fromPush}},
		"batch": {
			token.Push, push("message.v1.batchCreated", `{"messages":[{"message":`+said(`,"text":"hi"`)+`},{"message":`+said(`,"text":"hi"`)+`}]}`),
			[]chat.Event{fromPush, fromPush},
		},
		"classic locale":        {token.Chat, classic("MESSAGE", room, said(`,"text":"hi"`), `,"common":{"userLocale":"zh-CN"}`), []chat.Event{chinese(message1)}},
		"classic joined":        {token.Chat, classic("ADDED_TO_SPACE", room, "", ""), []chat.Event{joined}},
		"joined by a message":   {token.Chat, classic("ADDED_TO_SPACE", room, said(`,"text":"hi"`), ""), []chat.Event{joined, message1}},
		"add-on joined":         {token.Chat, addOn("addedToSpacePayload", room, "", `,"interactionAdd":true`), []chat.Event{chinese(joined)}},
		"classic left":          {token.Chat, classic("REMOVED_FROM_SPACE", room, "", ""), []chat.Event{with(joined, func(e *chat.Event) { e.Kind = chat.KindLeft })}},
		"add-on left":           {token.Chat, addOn("removedFromSpacePayload", room, "", ""), []chat.Event{chinese(with(joined, func(e *chat.Event) { e.Kind = chat.KindLeft }))}},
		"classic click":         {token.Chat, classic("CARD_CLICKED", room, said(""), `,"action":{"actionMethodName":"stop","parameters":`+params+`}`), []chat.Event{click}},
		"click, method only":    {token.Chat, classic("CARD_CLICKED", room, said(""), `,"common":{"invokedFunction":"stop","parameters":{"session":"x","turn":"3"}}`), []chat.Event{click}},
		"classic slash command": {token.Chat, classic("MESSAGE", room, slash, ""), []chat.Event{command}},
		"classic app command":   {token.Chat, classic("APP_COMMAND", room, slash, `,"appCommandMetadata":{"appCommandId":7,"appCommandType":"SLASH_COMMAND"}`), []chat.Event{command}},
		"add-on slash command": {
			token.Chat, addOn("appCommandPayload", room, said(`,"text":"/status now","argumentText":" now"`), `,"appCommandMetadata":{"appCommandId":"7","appCommandType":"SLASH_COMMAND"}`),
			[]chat.Event{chinese(command)},
		},
		"quick command": {
			token.Chat, classic("APP_COMMAND", room, "", `,"appCommandMetadata":{"appCommandId":7,"appCommandType":"QUICK_COMMAND"}`),
			[]chat.Event{quick},
		},
		"deleted": {
			token.Push, push("message.v1.deleted", `{"message":{"name":"`+name+`","deleteTime":"`+at+`"}}`),
			[]chat.Event{{
				Platform: "googlechat", Kind: chat.KindDeleted, MessageID: name, ChannelID: "spaces/s", DirectUnknown: true,
				Sender: chat.Sender{Type: chat.SenderUnknown}, At: when,
			}},
		},
		"edited": {
			token.Push, push("message.v1.updated", `{"message":`+said(`,"text":"hi","lastUpdateTime":"2026-01-02T03:05:00Z"`)+`}`),
			[]chat.Event{with(fromPush, func(e *chat.Event) {
				e.Kind, e.EventID, e.At = chat.KindEdited, "2026-01-02T03:05:00Z", time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC)
			})},
		},
	}
	for label, tt := range tests {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			if got := decode(t, tt.from, tt.body); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func with(e chat.Event, change func(*chat.Event)) chat.Event {
	change(&e)
	return e
}

// P1: a message that comes by webhook and by subscription is one.
func TestOneMessageHasOneKey(t *testing.T) {
	t.Parallel()
	byHook := decode(t, token.Chat, addOn("messagePayload", room, said(`,"text":"hi"`), ""))[0]
	byPush := decode(t, token.Push, push("message.v1.created", `{"message":`+said(`,"text":"hi"`)+`}`))[0]
	if byHook.Key() != byPush.Key() {
		t.Error("two keys")
	}
}

// case B29: the preview of a link is no edit, nor a second one.
func TestUnfurl(t *testing.T) {
	t.Parallel()
	update := func(more string) ([]chat.Event, error) {
		return decoder.Decode(token.Push, []byte(push("message.v1.updated", `{"message":`+said(`,"text":"https://x.example"`+more)+`}`)))
	}
	for label, more := range map[string]string{"never edited": "", "as created": `,"lastUpdateTime":"` + at + `"`} {
		if events, err := update(more); !errors.Is(err, webhook.ErrIgnored) || len(events) != 0 {
			t.Errorf("%s: %v, %v", label, events, err)
		}
	}
	edit, err := update(`,"lastUpdateTime":"2026-01-02T03:05:00Z"`)
	if err != nil {
		t.Fatal(err)
	}
	unfurl, err := update(`,"lastUpdateTime":"2026-01-02T03:05:00.000Z","annotations":[{"type":"RICH_LINK"}]`)
	if err != nil || edit[0].Key() != unfurl[0].Key() {
		t.Errorf("the preview after an edit is another edit: %v", err)
	}
}

// P5: a real @ is the app's own.
func TestMentions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		more string
		text string
		atMe bool
	}{
		"none":          {`,"text":"@Bot hi","argumentText":"@Bot hi"`, "@Bot hi", false},
		"argument text": {`,"text":"@Bot hi","argumentText":" hi","annotations":[` + mention(app, "BOT", "0.0", "4.0") + `]`, "hi", true},
		// case B21: 🎩 is two UTF-16 code units, four bytes.
		"emoji before": {`,"text":"🎩 @Bot hi","annotations":[` + mention(app, "BOT", "3", "4") + `]`, "🎩 hi", true},
		"in the midst": {`,"text":"你好 @Bot 在吗","annotations":[` + mention(app, "BOT", "3", "4") + `]`, "你好 在吗", true},
		"twice":        {`,"text":"@Bot @Bot hi","annotations":[` + mention(app, "BOT", "0", "4") + `,` + mention(app, "BOT", "5", "4") + `]`, "hi", true},
		// case B23
		"mention alone":    {`,"text":"@Bot","argumentText":"","annotations":[` + mention(app, "BOT", "0", "4") + `]`, "", true},
		"alias":            {`,"text":"@Bot hi","annotations":[` + mention("users/app", "BOT", "0", "4") + `]`, "hi", true},
		"another bot":      {`,"text":"@Other hi","argumentText":" hi","annotations":[` + mention("users/5", "BOT", "0", "6") + `]`, "@Other hi", false},
		"us and another":   {`,"text":"@Bot ask @Other","argumentText":" ask ","annotations":[` + mention(app, "BOT", "0", "4") + `,` + mention("users/5", "BOT", "9", "6") + `]`, "ask @Other", true},
		"a person":         {`,"text":"@Ann hi","annotations":[` + mention("users/1", "HUMAN", "0", "4") + `]`, "@Ann hi", false},
		"offsets too far":  {`,"text":"@Bot","annotations":[` + mention(app, "BOT", "0", "400") + `]`, "@Bot", true},
		"negative offsets": {`,"text":"@Bot","annotations":[` + mention(app, "BOT", "-1", "3") + `]`, "@Bot", true},
		"absurd offsets":   {`,"text":"@Bot","annotations":[` + mention(app, "BOT", "1e300", "1e300") + `]`, "@Bot", true},
		// case B15
		"control characters": {`,"text":"a\u0002b\u001dc\td\r\ne\u0000 \u0085"`, "abc\td\ne", false},
		"lone surrogate":     {`,"text":"a\ud83cb"`, "a\uFFFDb", false},
	}
	for label, tt := range tests {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			for from, body := range map[token.Caller]string{
				token.Chat: classic("MESSAGE", room, said(tt.more), ""),
				token.Push: push("message.v1.created", `{"message":`+said(tt.more)+`}`),
			} {
				if e := decode(t, from, body)[0]; e.Text != tt.text || e.AtMe != tt.atMe {
					t.Errorf("%s: text %q, at me %v; want %q, %v", from, e.Text, e.AtMe, tt.text, tt.atMe)
				}
			}
		})
	}
}

// While the app's own id is not known, Chat's sending us the message says whom it mentions; a subscription's event does not, and must not stand
// in the way of the one that does.
func TestMentionOfAnUnknownSelf(t *testing.T) {
	t.Parallel()
	msg := func(more string) string {
		return said(`,"text":"@Bot hi","argumentText":" hi","annotations":[` + mention("users/5", "BOT", "0", "4") + `]` + more)
	}
	for label, tt := range map[string]struct {
		from token.Caller
		body string
		want bool
	}{
		"interaction":  {token.Chat, classic("MESSAGE", room, msg(""), ""), true},
		"link preview": {token.Chat, classic("MESSAGE", room, msg(`,"matchedUrl":{"url":"https://x.example"}`), ""), false},
	} {
		events, err := webhook.Decoder{}.Decode(tt.from, []byte(tt.body))
		if err != nil || events[0].AtMe != tt.want {
			t.Errorf("%s: %+v, %v", label, events, err)
		}
	}
	pushed := []byte(push("message.v1.created", `{"message":`+msg("")+`}`))
	if events, err := (webhook.Decoder{}).Decode(token.Push, pushed); len(events) != 0 || !errors.Is(err, webhook.ErrIgnored) {
		t.Errorf("subscription: %+v, %v", events, err)
	}
}

// case B20: what is not said to be human is not.
func TestSenders(t *testing.T) {
	t.Parallel()
	for sender, want := range map[string]chat.Sender{
		`{"name":"users/1","type":"HUMAN","displayName":"A\u0007nn\n Lee"}`: {ID: "users/1", Name: "Ann Lee", Type: chat.SenderHuman},
		`{"name":"users/5","type":"BOT"}`:                                   {ID: "users/5", Type: chat.SenderBot},
		`{"name":"` + app + `","type":"BOT"}`:                               {ID: app, Type: chat.SenderBot, Self: true},
		`{"name":"users/1"}`:                                                {ID: "users/1", Type: chat.SenderUnknown},
		`{"name":"users/1","type":"ROBOT"}`:                                 {ID: "users/1", Type: chat.SenderUnknown},
		`{"name":"somebody","type":"HUMAN"}`:                                {Type: chat.SenderUnknown},
		`{"type":"HUMAN"}`:                                                  {Type: chat.SenderUnknown},
	} {
		body := push("message.v1.created", `{"message":{"name":"`+name+`","text":"hi","sender":`+sender+`}}`)
		if got := decode(t, token.Push, body)[0].Sender; got != want {
			t.Errorf("%s\n got %+v\nwant %+v", sender, got, want)
		}
	}
}

func TestOwnMessageByItsID(t *testing.T) {
	t.Parallel()
	body := push("message.v1.created", `{"message":{"name":"`+name+`","clientAssignedMessageId":"client-kesoku-1","sender":{"name":"users/5","type":"BOT"}}}`)
	if !decode(t, token.Push, body)[0].Sender.Self {
		t.Error("our own message is not known as ours")
	}
}

func TestQuotes(t *testing.T) {
	t.Parallel()
	for label, tt := range map[string]struct {
		quote, id string
		me        bool
	}{
		"of a person":   {`{"name":"spaces/s/messages/q","quotedMessageSnapshot":{"sender":"users/1"}}`, "spaces/s/messages/q", false},
		"of us":         {`{"name":"spaces/s/messages/q","quotedMessageSnapshot":{"sender":"` + app + `"}}`, "spaces/s/messages/q", true},
		"of us by id":   {`{"name":"spaces/s/messages/client-kesoku-1"}`, "spaces/s/messages/client-kesoku-1", true},
		"of other apps": {`{"name":"spaces/s/messages/client-other"}`, "spaces/s/messages/client-other", false},
		"of nothing":    {`{"name":"../q","quotedMessageSnapshot":{"sender":"` + app + `"}}`, "", false},
	} {
		e := decode(t, token.Chat, classic("MESSAGE", room, said(`,"quotedMessageMetadata":`+tt.quote), ""))[0]
		if e.QuoteID != tt.id || e.QuoteMe != tt.me {
			t.Errorf("%s: %q, %v", label, e.QuoteID, e.QuoteMe)
		}
	}
}

func TestDirect(t *testing.T) {
	t.Parallel()
	for label, tt := range map[string]struct {
		space, more string
		direct      bool
		thread      string
	}{
		"space":             {room, "", false, "spaces/s/threads/t"},
		"direct":            {dm, "", true, ""},
		"direct, in thread": {dm, `,"threadReply":true`, true, "spaces/s/threads/t"},
		"direct, old form":  {`{"name":"spaces/s","type":"DM"}`, "", true, ""},
	} {
		e := decode(t, token.Chat, classic("MESSAGE", tt.space, said(tt.more), ""))[0]
		if e.Direct != tt.direct || e.DirectUnknown || e.ThreadID != tt.thread {
			t.Errorf("%s: %+v", label, e)
		}
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	got := decode(t, token.Chat, classic("MESSAGE", room, said(`,"attachment":[
		{"contentName":"a.csv","contentType":"text/csv","attachmentDataRef":{"resourceName":"Clx=/1"}},
		{"contentName":"b","contentType":"application/vnd.google-apps.document","driveDataRef":{"driveFileId":"1_x"}},
		{"contentName":"../../etc/passwd","contentType":"text/\nplain","attachmentDataRef":{"resourceName":"../spaces/s"}},
		{"contentName":"C:\\x\\..","attachmentDataRef":{"resourceName":"a?b"}}]`), ""))[0].Attachments
	want := []message.Attachment{
		{Name: "a.csv", MIMEType: "text/csv", Source: "media/Clx=/1"},
		{Name: "b", MIMEType: "application/vnd.google-apps.document", Source: "drive/1_x"},
		{Name: "passwd"},
		{Name: "attachment"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(`{"contentName":"a"},`, 20) + `{"contentName":"a"}`
	tests := map[string]struct {
		from token.Caller
		body string
		want error
	}{
		"nothing":                {token.Chat, ``, webhook.ErrMalformed},
		"not JSON":               {token.Chat, `hello`, webhook.ErrMalformed},
		"another JSON":           {token.Chat, `[]`, webhook.ErrMalformed},
		"no form at all":         {token.Chat, `{}`, webhook.ErrMalformed},
		"push body by Chat":      {token.Chat, push("message.v1.created", `{"message":`+said("")+`}`), webhook.ErrMalformed},
		"chat body by Pub/Sub":   {token.Push, classic("MESSAGE", room, said(""), ""), webhook.ErrMalformed},
		"add-on body by Pub/Sub": {token.Push, addOn("messagePayload", room, said(""), ""), webhook.ErrMalformed},
		"unknown caller":         {"", classic("MESSAGE", room, said(""), ""), webhook.ErrMalformed},
		"unknown type":           {token.Chat, classic("WIDGET_UPDATED", room, "", ""), webhook.ErrIgnored},
		"unknown payload":        {token.Chat, addOn("widgetUpdatedPayload", room, "", ""), webhook.ErrIgnored},
		"reaction":               {token.Push, push("reaction.v1.created", `{}`), webhook.ErrIgnored},
		"subscription's end":     {token.Push, `{"message":{"attributes":{"ce-type":"google.workspace.events.subscription.v1.expired"}}}`, webhook.ErrIgnored},
		"without resource":       {token.Push, push("message.v1.created", `{"message":{"name":"`+name+`"}}`), webhook.ErrIgnored},
		"pushed slash command":   {token.Push, push("message.v1.created", `{"message":`+said(`,"slashCommand":{"commandId":"1"}`)+`}`), webhook.ErrIgnored},
		"foreign button":         {token.Chat, classic("CARD_CLICKED", room, said(""), `,"common":{"parameters":{"actionId":"x"}}`), webhook.ErrIgnored},
		"click in a dialog":      {token.Chat, classic("CARD_CLICKED", room, "", `,"common":{"invokedFunction":"stop"}`), webhook.ErrIgnored},
		"data not base64":        {token.Push, `{"message":{"attributes":{"ce-type":"google.workspace.chat.message.v1.created"},"data":"%"}}`, webhook.ErrMalformed},
		"data not JSON":          {token.Push, push("message.v1.created", `x`), webhook.ErrMalformed},
		"data without message":   {token.Push, push("message.v1.created", `{}`), webhook.ErrMalformed},
		"no message":             {token.Chat, classic("MESSAGE", room, "", ""), webhook.ErrMalformed},
		"bad message name":       {token.Chat, classic("MESSAGE", room, `{"name":"spaces/s/messages/../x"}`, ""), webhook.ErrMalformed},
		"message of elsewhere":   {token.Chat, classic("MESSAGE", room, `{"name":"spaces/other/messages/m"}`, ""), webhook.ErrMalformed},
		"bad time":               {token.Chat, classic("MESSAGE", room, `{"name":"`+name+`","createTime":"now"}`, ""), webhook.ErrMalformed},
		"joined nowhere":         {token.Chat, classic("ADDED_TO_SPACE", `{}`, "", ""), webhook.ErrMalformed},
		"text without end":       {token.Chat, classic("MESSAGE", room, said(`,"text":"`+strings.Repeat("a", 65<<10)+`"`), ""), webhook.ErrMalformed},
		"too many files":         {token.Chat, classic("MESSAGE", room, said(`,"attachment":[`+many+`]`), ""), webhook.ErrMalformed},
		"parameter too long": {
			token.Chat, classic("CARD_CLICKED", room, said(""), `,"common":{"invokedFunction":"stop","parameters":{"a":"`+strings.Repeat("a", 2000)+`"}}`),
			webhook.ErrMalformed,
		},
		"command without id": {token.Chat, classic("APP_COMMAND", room, "", `,"appCommandMetadata":{}`), webhook.ErrMalformed},
	}
	for label, tt := range tests {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			events, err := decoder.Decode(tt.from, []byte(tt.body))
			if !errors.Is(err, tt.want) || len(events) != 0 {
				t.Errorf("%+v, %v", events, err)
			}
		})
	}
}

// A bad message in a batch takes nothing from the others.
func TestBatchWithABadMessage(t *testing.T) {
	t.Parallel()
	body := push("message.v1.batchCreated", `{"messages":[{"message":{"name":"x"}},{},{"message":`+said(`,"text":"hi"`)+`}]}`)
	events, err := decoder.Decode(token.Push, []byte(body))
	if len(events) != 1 || events[0].Text != "hi" || !errors.Is(err, webhook.ErrMalformed) {
		t.Errorf("%+v, %v", events, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(classic("MESSAGE", room, said(`,"text":"@Bot hi","annotations":[`+mention(app, "BOT", "0.0", "4.0")+`]`), ""))
	f.Add(classic("CARD_CLICKED", room, said(""), `,"common":{"invokedFunction":"stop","parameters":{"turn":"3"}}`))
	f.Add(addOn("appCommandPayload", dm, said(""), `,"appCommandMetadata":{"appCommandId":"7","appCommandType":"SLASH_COMMAND"}`))
	f.Add(push("message.v1.updated", `{"message":`+said(`,"lastUpdateTime":"2026-01-02T03:05:00Z"`)+`}`))
	f.Add(push("message.v1.batchDeleted", `{"messages":[{"message":`+said("")+`}]}`))
	f.Fuzz(func(t *testing.T, body string) {
		for _, from := range []token.Caller{token.Chat, token.Push} {
			events, err := decoder.Decode(from, []byte(body))
			if err != nil && !errors.Is(err, webhook.ErrIgnored) && !errors.Is(err, webhook.ErrMalformed) {
				t.Errorf("an error of neither kind: %v", err)
			}
			if err == nil && len(events) == 0 {
				t.Error("neither event nor error")
			}
			for _, e := range events {
				check(t, e)
			}
		}
	})
}

func check(t *testing.T, e chat.Event) {
	t.Helper()
	if !strings.HasPrefix(e.ChannelID, "spaces/") || (e.MessageID == "" && e.EventID == "") || e.Sender.Type == "" {
		t.Errorf("event without place, identity or sender type: %+v", e)
	}
	if strings.ContainsAny(e.Text+e.Sender.Name, "\x00\x02\x1d\r") {
		t.Errorf("control characters got through: %q", e.Text)
	}
	if _, err := json.Marshal(e); err != nil {
		t.Error(err)
	}
}
