package activation_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/pipeline/activation"
	"kesoku.dev/shared/urge"
)

var nine = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// said is a person's message in a room, so many seconds after nine.
func said(seconds float64, who, text string) *chat.Event {
	return &chat.Event{
		Kind: chat.KindMessage, Sender: chat.Sender{ID: who, Type: chat.SenderHuman}, Text: text,
		At: nine.Add(time.Duration(seconds * float64(time.Second))),
	}
}

func lively(frequency, threshold float64) config.Activation {
	return config.Activation{
		Nicknames: []string{"Kesoku", " "}, Activity: config.Activity{Frequency: frequency, Threshold: threshold, Interests: []string{"Badminton", ""}},
	}
}

// talk lets four people write every two seconds, and returns when the bot woke.
func talk(room *urge.Room, s config.Activation, to float64, draw func() float64) []float64 {
	var woke []float64
	for at, i := 0.0, 0; at < to; at, i = at+2, i+1 {
		if _, _, ok := (activation.Activity{}).Decide(said(at, fmt.Sprint("users/", i%4), "hm"), s, room, draw()); ok {
			woke = append(woke, at)
		}
	}
	return woke
}

func always(x float64) func() float64 { return func() float64 { return x } }

// P7: the decision is a wake that settles, with what was weighed.
func TestActivityWakes(t *testing.T) {
	t.Parallel()
	var room urge.Room
	s := lively(1, 0.3)
	for i := range 60 {
		got, reading, ok := activation.Activity{}.Decide(said(float64(2*i), fmt.Sprint(i%3), "hm"), s, &room, 0.999999)
		if !ok {
			if got != (chat.Decision{}) || reading.N90 == 0 {
				t.Fatalf("no decision, but %+v, %+v", got, reading)
			}
			continue
		}
		want := chat.Decision{
			Effect: chat.EffectWake, Priority: 10, Reason: "urge", By: "activity", Settle: true, Urge: reading.Urge, Threshold: reading.Threshold,
		}
		if got != want || got.Urge < got.Threshold || got.Threshold != 0.3 {
			t.Fatalf("%+v, want %+v", got, want)
		}
		return
	}
	t.Fatal("never woke")
}

// P7: 30 s between unprompted replies, which a lost draw spends too.
func TestActivityGap(t *testing.T) {
	t.Parallel()
	s := lively(0.5, 0.1)
	if woke := talk(&urge.Room{}, s, 130, always(0)); !reflect.DeepEqual(woke, []float64{10, 40, 70, 100}) {
		t.Errorf("every draw won: %v", woke)
	}
	draws := []float64{0.5, 0.49, 0.9, 0} // lost, won, lost, won
	drawn := 0
	var room urge.Room
	woke := []float64{}
	for i := range 65 {
		before := room.ClaimedAt
		_, _, ok := activation.Activity{}.Decide(said(float64(2*i), fmt.Sprint(i%4), "hm"), s, &room, draws[drawn])
		if room.ClaimedAt != before {
			drawn = min(drawn+1, len(draws)-1)
		}
		if ok {
			woke = append(woke, float64(2*i))
		}
	}
	if !reflect.DeepEqual(woke, []float64{40, 100}) {
		t.Errorf("every other draw won: %v", woke)
	}
}

// P7: the frequency scales how often the bot really speaks, in proportion.
func TestActivityFrequency(t *testing.T) {
	t.Parallel()
	for _, frequency := range []float64{0, 0.25, 0.5, 1} {
		i := 0
		draw := func() float64 { i++; return float64(i*37%100) / 100 } // each hundredth once in a hundred draws
		all, some := talk(&urge.Room{}, lively(1, 0.1), 6_000, draw), talk(&urge.Room{}, lively(frequency, 0.1), 6_000, draw)
		if got := float64(len(some)) / float64(len(all)); got < frequency-0.03 || got > frequency+0.03 {
			t.Errorf("frequency %v: %d of %d", frequency, len(some), len(all))
		}
	}
}

// P7: what points at the bot, in the order of its strength.
func TestActivityCue(t *testing.T) {
	t.Parallel()
	for text, tt := range map[string]struct {
		change func(*chat.Event)
		want   float64
	}{
		"kesoku, badminton?":           {func(e *chat.Event) { e.QuoteMe = true }, 1},
		"hello":                        {func(e *chat.Event) { e.AtMe = true }, 0.9},
		"what would KESOKU say":        {nil, 0.9},
		"kesoku likes badminton?":      {nil, 0.9},
		"BADMINTON tonight?":           {nil, 0.6},
		"anybody here?":                {nil, 0.3},
		"anybody here ?! ":             {nil, 0.3},
		"有人吗":                          {nil, 0.3},
		"你们呢～":                         {nil, 0.3},
		"几点？":                          {nil, 0.3},
		"他说“去吗”。":                      {nil, 0.3},
		"see https://example.com/?a=1": {nil, 0},
		"吗啡是药":                         {nil, 0},
		"quote of somebody else":       {func(e *chat.Event) { e.QuoteID = "m1" }, 0},
		"":                             {nil, 0},
	} {
		e := said(0, "users/1", text)
		if tt.change != nil {
			tt.change(e)
		}
		if _, reading, ok := (activation.Activity{}).Decide(e, lively(1, 1), &urge.Room{}, 0); reading.Cue != tt.want || ok {
			t.Errorf("%q: cue %v, want %v", text, reading.Cue, tt.want)
		}
	}
}

// P7: a cue wakes in a quiet room only where the threshold is that low, and a threshold of zero is no order to speak.
func TestActivityThreshold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text      string
		threshold float64
		want      bool
	}{{"hm", 0, false}, {"kesoku?", 0, true}, {"kesoku?", 0.45, false}} {
		if _, reading, ok := (activation.Activity{}).Decide(said(0, "users/1", tt.text), lively(1, tt.threshold), &urge.Room{}, 0); ok != tt.want {
			t.Errorf("%+v: %v, %+v", tt, ok, reading)
		}
	}
}

// P7: own messages tire, those of bots, commands, edits and direct chats leave the room as it is; none of them wakes.
func TestActivityOthers(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*chat.Event){
		"bot":     func(e *chat.Event) { e.Sender.Type = chat.SenderBot },
		"unknown": func(e *chat.Event) { e.Sender.Type = chat.SenderUnknown },
		"untold":  func(e *chat.Event) { e.Sender.Type = "" },
		"direct":  func(e *chat.Event) { e.Direct = true },
		"command": func(e *chat.Event) { e.Kind = chat.KindCommand },
		"edit":    func(e *chat.Event) { e.Kind = chat.KindEdited },
		"own edit": func(e *chat.Event) {
			e.Kind, e.Sender.Self = chat.KindEdited, true
		},
	} {
		room := &urge.Room{}
		talk(room, lively(1, 0.9), 90, always(0))
		before := room.Clone()
		e := said(89, "users/1", "kesoku?")
		change(e)
		if got, reading, ok := (activation.Activity{}).Decide(e, lively(1, 0.1), room, 0); ok || got != (chat.Decision{}) || reading != (urge.Reading{}) {
			t.Errorf("%s: %+v, %+v", name, got, reading)
		}
		if !reflect.DeepEqual(room, before) {
			t.Errorf("%s: the room has changed", name)
		}
		self := said(89, "apps/kesoku", "I think so")
		self.Sender = chat.Sender{ID: "apps/kesoku", Type: chat.SenderBot, Self: true}
		if _, _, ok := (activation.Activity{}).Decide(self, lively(1, 0.1), room, 0); ok || len(room.Own) != 1 || len(room.Messages) != len(before.Messages) {
			t.Errorf("own message: %v, %d own, %d messages", ok, len(room.Own), len(room.Messages))
		}
	}
}

// P7: the same messages, draws and room give the same decisions; whatever they are, no two wakes are closer than 30 s.
func TestActivityProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := lively(rapid.Float64Range(0, 1).Draw(t, "frequency"), rapid.Float64Range(0, 1).Draw(t, "threshold"))
		one, two := &urge.Room{}, &urge.Room{}
		at, last := 0.0, -1000.0
		for range rapid.IntRange(0, 200).Draw(t, "messages") {
			at += rapid.Float64Range(0, 4).Draw(t, "seconds")
			e := said(at, fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "sender")), rapid.SampledFrom([]string{"hm", "kesoku", "badminton", "so?"}).Draw(t, "text"))
			e.Sender.Self = rapid.IntRange(0, 30).Draw(t, "self") == 0
			draw := rapid.Float64Range(0, 0.999).Draw(t, "draw")
			d1, r1, ok := activation.Activity{}.Decide(e, s, one, draw)
			d2, r2, ok2 := activation.Activity{}.Decide(e, s, two, draw)
			if d1 != d2 || r1 != r2 || ok != ok2 {
				t.Fatalf("%+v and %+v", d1, d2)
			}
			if !ok {
				continue
			}
			if at-last < 30-1e-5 || draw >= s.Activity.Frequency || d1.Effect != chat.EffectWake {
				t.Fatalf("%+v at %v, last at %v", d1, at, last)
			}
			last = at
		}
	})
}

// P7: what the defaults come to: how often in an hour the bot speaks up in a room where four people write evenly, answering after six
// seconds. docs/activity.md quotes these numbers.
func TestActivityRate(t *testing.T) {
	t.Parallel()
	for perMinute, want := range map[int]int{6: 0, 8: 0, 10: 6, 12: 11, 15: 17, 20: 18, 30: 19} {
		var room urge.Room
		woke, answer := 0, -1.0
		for i := range 60 * perMinute {
			at := float64(i*60) / float64(perMinute)
			if answer >= 0 && answer <= at {
				room.Spoke(nine.Add(time.Duration(answer * float64(time.Second))))
				answer = -1
			}
			if _, _, ok := (activation.Activity{}).Decide(said(at, fmt.Sprint(i%4), "hm"), config.DefaultRoute().Activation, &room, 0); ok {
				woke, answer = woke+1, at+6
			}
		}
		if woke != want {
			t.Errorf("%d a minute: %d times, want %d", perMinute, woke, want)
		}
	}
}
