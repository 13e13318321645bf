package activation

import (
	"strings"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/urge"
)

// priorityUnasked is a wake by nobody's wish: above a drawn lot of the rule decider, below anybody who addressed the bot.
const priorityUnasked = 10

// How much a message points at the bot.
const (
	cueQuote    = 1.0
	cueAlias    = 0.9
	cueInterest = 0.6
	cueQuestion = 0.3
)

// Activity is the activity decider: it speaks up unasked in a room whose talk invites it. It has nothing to remember; the room has.
type Activity struct{}

// Decide takes the message into the room and says whether to speak up: a wake that waits for a pause, or no decision (false). It never
// observes or ignores. Draw is a number in [0,1), to be compared with the frequency; it counts only where the urge has reached the threshold
// and 30 seconds have passed, and then it spends those seconds whether it wins or loses, so that a frequency of a half halves how often
// the bot speaks. The reading is what was weighed, zero where nothing was.
//
// Only what people write counts. Other bots' messages neither excite nor wake, or two bots would keep one another talking; nor do those
// of senders of whom the platform does not say what they are. The bot's own messages tire it. Direct chats have no urge.
func (Activity) Decide(e *chat.Event, s config.Activation, room *urge.Room, draw float64) (chat.Decision, urge.Reading, bool) {
	if e.Direct || e.Kind != chat.KindMessage {
		return chat.Decision{}, urge.Reading{}, false
	}
	if e.Sender.Self {
		room.Spoke(e.At)
		return chat.Decision{}, urge.Reading{}, false
	}
	if e.Sender.Type != chat.SenderHuman {
		return chat.Decision{}, urge.Reading{}, false
	}
	room.Heard(e.At, e.Sender.ID)
	reading := room.Score(e.At, cue(e, s), s.Activity.Threshold)
	if !reading.Reached() || !room.Claim(e.At) || draw >= s.Activity.Frequency {
		return chat.Decision{}, reading, false
	}
	return chat.Decision{
		Effect: chat.EffectWake, Priority: priorityUnasked, Reason: "urge", By: "activity", Settle: true,
		Urge: reading.Urge, Threshold: reading.Threshold,
	}, reading, true
}

// cue is the strongest hint of the message that the bot is meant or could help. A mention is the alias in the platform's own form.
func cue(e *chat.Event, s config.Activation) float64 {
	text := strings.ToLower(e.Text)
	switch {
	case e.QuoteMe:
		return cueQuote
	case e.AtMe || containsAny(text, s.Nicknames):
		return cueAlias
	case containsAny(text, s.Activity.Interests):
		return cueInterest
	case asks(text):
		return cueQuestion
	default:
		return 0
	}
}

// containsAny reports whether the text, in lower case, has one of the words anywhere. Blank words are none.
func containsAny(text string, words []string) bool {
	for _, w := range words {
		if w = strings.ToLower(strings.TrimSpace(w)); w != "" && strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// asks reports whether the text ends as a question does, in Latin or Chinese script. A question mark inside is more often an address's.
func asks(text string) bool {
	text = strings.TrimRight(text, " \t\r\n.!。！~～…\"'”’」』)）")
	for _, end := range []string{"?", "？", "吗", "嗎", "呢"} {
		if strings.HasSuffix(text, end) {
			return true
		}
	}
	return false
}
