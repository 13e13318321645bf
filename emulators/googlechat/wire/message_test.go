package wire_test

import (
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"google.golang.org/api/chat/v1"

	"kesoku.dev/emulators/googlechat/wire"
)

var (
	kesoku = &chat.User{Name: "users/0", DisplayName: "Kesoku", Type: "BOT"}
	bo     = &chat.User{Name: "users/2", DisplayName: "小波 Bo", Type: "HUMAN"}
	users  = []*chat.User{kesoku, bo, {Name: "users/3", DisplayName: "Bo", Type: "HUMAN"}}
)

// case B21, case B23: what a person typed, in UTF-16 code units.
func TestSetText(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text, argument, formatted string
		starts                    []int64
	}{
		{"hello", "hello", "hello", nil},
		{"@Kesoku", "", "@Kesoku", []int64{0}},
		{"🎩 @Kesoku hi", "🎩  hi", "🎩 @Kesoku hi", []int64{3}},
		{"@Kesoku你好 @小波 Bo", "你好 @小波 Bo", "@Kesoku你好 <users/2>", []int64{0, 10}},
		{"mail@Kesokus.org", "mail@Kesokus.org", "mail@Kesokus.org", nil},
		{"@Kesoku @Kesoku", " ", "@Kesoku @Kesoku", []int64{0, 8}},
	} {
		var m wire.Message
		m.SetText(tc.text, users, kesoku.Name)
		if m.ArgumentText != tc.argument || m.FormattedText != tc.formatted || len(m.Annotations) != len(tc.starts) {
			t.Errorf("%q: got %q, %q and %d annotations", tc.text, m.ArgumentText, m.FormattedText, len(m.Annotations))
			continue
		}
		for i, at := range tc.starts {
			if m.Annotations[i].StartIndex != at {
				t.Errorf("%q: annotation %d starts at %d, want %d", tc.text, i, m.Annotations[i].StartIndex, at)
			}
		}
	}
}

func TestSetAppText(t *testing.T) {
	t.Parallel()
	var m wire.Message
	m.SetAppText("🎩 <users/2>, <users/9> and <users/2>", users)
	if m.Text != "🎩 @小波 Bo, <users/9> and @小波 Bo" || len(m.Annotations) != 2 || m.Annotations[0].StartIndex != 3 || m.Annotations[0].Length != 6 {
		t.Errorf("got %q with %+v", m.Text, m.Annotations)
	}
}

// Every annotation lies within the text, at the mention it names, whatever was typed.
func FuzzText(f *testing.F) {
	f.Add("🎩 @Kesoku <users/2> @小波 Bo")
	f.Add("<users/<users/2>>@")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // CheckText refuses it before
		}
		for _, set := range []func(*wire.Message){
			func(m *wire.Message) { m.SetText(text, users, kesoku.Name) },
			func(m *wire.Message) { m.SetAppText(text, users) },
		} {
			var m wire.Message
			set(&m)
			units := utf16.Encode([]rune(m.Text))
			for _, a := range m.Annotations {
				got := string(utf16.Decode(units[a.StartIndex : a.StartIndex+a.Length]))
				if want := "@" + a.UserMention.User.DisplayName; got != want {
					t.Errorf("%q: annotation of %q is at %q", text, want, got)
				}
			}
		}
	})
}
