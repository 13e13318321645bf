package chat_test

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kesoku.dev/shared/chat"
)

func written() chat.Event {
	return chat.Event{Platform: "discord", Kind: chat.KindMessage, MessageID: "1", ChannelID: "c", Text: "ok",
		Sender: chat.Sender{ID: "u", Name: "Chii", Type: chat.SenderHuman}, At: time.Date(2026, 5, 27, 12, 0, 0, 0, time.UTC)}
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

var docID = regexp.MustCompile(`^[0-9a-f]{64}$`)

// P1: the platform's id is the identity; whatever else differs between two deliveries of one event does not count.
func TestKeyIgnoresWhatRedeliveryChanges(t *testing.T) {
	t.Parallel()
	want := written()
	for name, change := range map[string]func(*chat.Event){
		"later":       func(e *chat.Event) { e.At = e.At.Add(time.Hour) },
		"renamed":     func(e *chat.Event) { e.Sender.Name = "Chii2" },
		"text":        func(e *chat.Event) { e.Text = "ok " },
		"at me":       func(e *chat.Event) { e.AtMe = true },
		"thread":      func(e *chat.Event) { e.ThreadID = "t" },
		"direct":      func(e *chat.Event) { e.Direct = true },
		"sender type": func(e *chat.Event) { e.Sender.Type = chat.SenderUnknown },
	} {
		e := written()
		change(&e)
		if e.Key() != want.Key() {
			t.Errorf("%s: the same event has two keys", name)
		}
	}
	if !docID.MatchString(want.Key()) {
		t.Errorf("key %q is no safe document id", want.Key())
	}
}

// P1, P19; cases B5, B6: what differs has another key: another platform, an edit of the message, another edit of it, an id that another
// user's message has too (the adapter puts the user into the id), an event without an id of its own.
func TestKeysDiffer(t *testing.T) {
	t.Parallel()
	events := map[string]chat.Event{
		"message":                  {Platform: "discord", Kind: chat.KindMessage, MessageID: "1"},
		"other platform":           {Platform: "googlechat", Kind: chat.KindMessage, MessageID: "1"},
		"other message":            {Platform: "discord", Kind: chat.KindMessage, MessageID: "2"},
		"edit":                     {Platform: "discord", Kind: chat.KindEdited, MessageID: "1"},
		"edit with its id":         {Platform: "discord", Kind: chat.KindEdited, MessageID: "1", EventID: "v1"},
		"second edit":              {Platform: "discord", Kind: chat.KindEdited, MessageID: "1", EventID: "v2"},
		"deleted":                  {Platform: "discord", Kind: chat.KindDeleted, MessageID: "1"},
		"pressed":                  {Platform: "discord", Kind: chat.KindAction, MessageID: "1", EventID: "v1"},
		"wechat, one user":         {Platform: "wechat", Kind: chat.KindMessage, MessageID: "alice:1"},                    // case B6
		"wechat, other user":       {Platform: "wechat", Kind: chat.KindMessage, MessageID: "bob:1"},                      // case B6
		"wechat event":             {Platform: "wechat", Kind: chat.KindJoined, EventID: "alice:1700000000:subscribe:"},   // case B5
		"wechat event, other key":  {Platform: "wechat", Kind: chat.KindJoined, EventID: "alice:1700000000:subscribe:q1"}, // case B5
		"parts moved":              {Platform: "discord", Kind: chat.KindMessage, MessageID: "", EventID: "1"},
		"zero byte in the message": {Platform: "discord", Kind: chat.KindMessage, MessageID: "a\x00b"},
		"zero byte between":        {Platform: "discord", Kind: chat.KindMessage, MessageID: "a", EventID: "b"},
		"zero byte in the event":   {Platform: "discord", Kind: chat.KindMessage, MessageID: "a", EventID: "b\x00"},
		"zero bytes in the first":  {Platform: "discord", Kind: chat.KindMessage, MessageID: "a\x00b\x00"},
	}
	seen := map[string]string{}
	for name, e := range events {
		if other, clash := seen[e.Key()]; clash {
			t.Errorf("%s and %s have one key", name, other)
		}
		seen[e.Key()] = name
	}
}

// P1: no two lists of parts meet, whatever they hold.
func TestHashTellsListsApart(t *testing.T) {
	t.Parallel()
	parts := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 'a', ':'}), 0, 4, -1), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := parts.Draw(t, "a"), parts.Draw(t, "b")
		same := len(a) == len(b)
		for i := 0; same && i < len(a); i++ {
			same = a[i] == b[i]
		}
		if (chat.Hash(a...) == chat.Hash(b...)) != same {
			t.Fatalf("%q and %q: hashes equal = %v", a, b, !same)
		}
	})
}

// P1, case B9: without any id of the platform's, the key is the seed's sha256(routeKey + content), as it stands.
func TestKeyOfLastResort(t *testing.T) {
	t.Parallel()
	e := written()
	e.MessageID = ""
	if want := sum("discord:cok"); e.Key() != want {
		t.Errorf("key %s, want %s", e.Key(), want)
	}
}

// P1, cases B4, B8: a key outlives the day that is promised, and a new record is due for the sweep until it is settled.
func TestRecord(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 27, 12, 0, 5, 0, time.UTC)
	r := chat.NewRecord(written(), now)
	switch {
	case !r.Pending, r.WakeAt == nil, !r.WakeAt.After(now):
		t.Errorf("a new record waits: %+v", r)
	case r.ExpireAt.Sub(now) <= 24*time.Hour:
		t.Errorf("the key expires after %s", r.ExpireAt.Sub(now))
	case r.Key != r.Event.Key(), r.RouteID != "discord:c", !r.ReceivedAt.Equal(now):
		t.Errorf("identity: %+v", r)
	}
	d := chat.Decision{Effect: chat.EffectIgnore, Reason: "self", By: "rule"}
	r.Settle(d, "ignored", "sess")
	if r.Pending || r.WakeAt != nil || r.Decision != d || r.Outcome != "ignored" || r.SessionID != "sess" {
		t.Errorf("settled: %+v", r)
	}
	shards := map[int]bool{}
	for i := range 400 {
		e := written()
		e.MessageID = strings.Repeat("x", i)
		r := chat.NewRecord(e, now)
		if r.WakeShard < 0 || r.WakeShard > 15 {
			t.Fatalf("shard %d", r.WakeShard)
		}
		shards[r.WakeShard] = true
	}
	if len(shards) != 16 {
		t.Errorf("400 events lie in %d of 16 shards", len(shards))
	}
}

// P14: the conversation's key by ownership and lane.
func TestConversationKey(t *testing.T) {
	t.Parallel()
	e := written()
	e.ThreadID = "th"
	tests := map[string]struct {
		binding chat.Binding
		want    string
	}{
		"default":        {chat.Binding{}, "discord:c"},
		"shared":         {chat.Binding{Ownership: chat.OwnershipShared, Lane: "default"}, "discord:c"},
		"personal":       {chat.Binding{Ownership: chat.OwnershipPersonal}, "discord:c:user:u"},
		"custom":         {chat.Binding{Ownership: chat.OwnershipCustom, CustomKey: "team-{platform}/{channel}/{thread}/{user}"}, "custom:" + sum("team-discord/c/th/u")},
		"custom, plain":  {chat.Binding{Ownership: chat.OwnershipCustom, CustomKey: "everywhere"}, "custom:" + sum("everywhere")},
		"unknown marks":  {chat.Binding{Ownership: chat.OwnershipCustom, CustomKey: "{name}{channel"}, "custom:" + sum("{name}{channel")},
		"lane":           {chat.Binding{Lane: "ops"}, "discord:c:lane:ops"},
		"personal, lane": {chat.Binding{Ownership: chat.OwnershipPersonal, Lane: "ops"}, "discord:c:user:u:lane:ops"},
		"custom, lane":   {chat.Binding{Ownership: chat.OwnershipCustom, CustomKey: "k", Lane: "ops"}, "custom:" + sum("k") + ":lane:ops"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.binding.ConversationKey(&e); got != tt.want {
				t.Errorf("key %q, want %q", got, tt.want)
			}
		})
	}
	posing := written()
	posing.ChannelID = "{user}" // expansion is one pass: what an id holds is not expanded again
	if got, want := (chat.Binding{Ownership: chat.OwnershipCustom, CustomKey: "{channel}"}).ConversationKey(&posing), "custom:"+sum("{user}"); got != want {
		t.Errorf("key %q, want %q", got, want)
	}
}

// P4: the highest wake wins, else the first observe, else ignore.
func TestChoose(t *testing.T) {
	t.Parallel()
	wake := func(by string, priority int) chat.Decision {
		return chat.Decision{Effect: chat.EffectWake, Priority: priority, By: by}
	}
	observe := func(by string, priority int) chat.Decision {
		return chat.Decision{Effect: chat.EffectObserve, Priority: priority, By: by}
	}
	ignore := func(by string) chat.Decision { return chat.Decision{Effect: chat.EffectIgnore, Priority: 9, By: by} }
	tests := map[string]struct {
		all  []chat.Decision
		want chat.Decision
	}{
		"nobody":                     {nil, chat.Decision{Effect: chat.EffectIgnore, Reason: "none", By: "none"}},
		"one ignore":                 {[]chat.Decision{ignore("a")}, ignore("a")},
		"first ignore":               {[]chat.Decision{ignore("a"), ignore("b")}, ignore("a")},
		"observe over ignore":        {[]chat.Decision{ignore("a"), observe("b", -1)}, observe("b", -1)},
		"first observe":              {[]chat.Decision{observe("a", 1), observe("b", 5)}, observe("a", 1)},
		"wake over a higher observe": {[]chat.Decision{observe("a", 9), wake("b", 0)}, wake("b", 0)},
		"wake stays over observe":    {[]chat.Decision{wake("a", 0), observe("b", 9)}, wake("a", 0)},
		"highest wake":               {[]chat.Decision{wake("a", 1), wake("b", 3), wake("c", 2)}, wake("b", 3)},
		"earlier of equal wakes":     {[]chat.Decision{wake("a", 1), wake("b", 1)}, wake("a", 1)},
		"negative wake":              {[]chat.Decision{ignore("a"), wake("b", -5)}, wake("b", -5)},
		"no verdict":                 {[]chat.Decision{{}}, chat.Decision{Effect: chat.EffectIgnore}},
		"no verdict, then observe":   {[]chat.Decision{{By: "a"}, observe("b", 0)}, observe("b", 0)},
		"no verdict, then wake":      {[]chat.Decision{{By: "a", Priority: 7}, wake("b", 0)}, wake("b", 0)},
		"unknown effect":             {[]chat.Decision{{Effect: "shout", Priority: 9}, ignore("b")}, chat.Decision{Effect: chat.EffectIgnore, Priority: 9}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := chat.Choose(tt.all); got != tt.want {
				t.Errorf("chose %+v, want %+v", got, tt.want)
			}
		})
	}
}
