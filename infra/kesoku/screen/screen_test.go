package screen_test

import (
	"bytes"
	"strings"
	"testing"

	"kesoku.dev/infra/kesoku/screen"
)

func TestTableAlignsWideTextAndEndsAtTheMargin(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := screen.Screen{Out: &out}
	s.Table([]string{"NAME", "SAYS"}, [][]string{{"波", "short"}, {"Alice", strings.Repeat("长", 80)}})
	want := "NAME   SAYS\n波     short\nAlice  " + strings.Repeat("长", 46) + "…\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestPaintOnlyWhereColoursAreWanted(t *testing.T) {
	t.Parallel()
	plain, coloured := screen.Screen{}, screen.Screen{Colour: true}
	if got := plain.Paint(screen.Red, "x"); got != "x" {
		t.Errorf("plain: %q", got)
	}
	if got := coloured.Paint(screen.Red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("coloured: %q", got)
	}
}

func TestProgressIsForTerminals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		live, json bool
		want       string
	}{"pipe": {}, "json": {live: true, json: true}, "terminal": {live: true, want: "\r\x1b[K… reading 3\r\x1b[K"}} {
		var err bytes.Buffer
		s := screen.Screen{Err: &err, Live: tt.live, JSON: tt.json}
		s.Progress("reading %d", 3)
		s.Done()
		if err.String() != tt.want {
			t.Errorf("%s: %q, want %q", name, err.String(), tt.want)
		}
	}
}

func FuzzOneLine(f *testing.F) {
	for _, s := range []string{"", "a\x1b[2Jb", "x\u202ey", "\xff", "a\n\nb", "\u009b31m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := screen.OneLine(s)
		if strings.ContainsAny(got, "\x1b\n\r\t\u009b\u202e\a\b") {
			t.Errorf("%q became %q", s, got)
		}
		if cut := screen.Cut(got, 10); len([]rune(cut)) > 40 {
			t.Logf("many marks on few letters: %q", cut)
		}
	})
}

func TestWidth(t *testing.T) {
	t.Parallel()
	for columns, want := range map[int]int{0: 100, 20: 60, 80: 80, 200: 200} {
		if got := (&screen.Screen{Columns: columns}).Width(); got != want {
			t.Errorf("on %d columns: %d, want %d", columns, got, want)
		}
	}
}
