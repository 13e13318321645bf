package yamlfile_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kesoku.dev/shared/config/yamlfile"
)

type doc struct {
	A     int              `yaml:"a"`
	Later yamlfile.Section `yaml:"later"`
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for text, line := range map[string]int{
		"": 0, "# nothing\n": 0, "a: 1": 0, "a: 1\nb: 2": 2, "\na: x": 2, "a: [": 1, "a: 1\na: 2": 2, "a: 1\n---\na: 2": 3, "- 1": 1,
		"later: {x: &x 1,\n y: *x}": 2, "later: &l {x: 1}\n<<: *l": 2,
	} {
		err := yamlfile.Decode("f", text, &doc{})
		got := 0
		if c := yamlfile.Complaints(err); len(c) == 1 {
			got = c[0].Line
		}
		if got != line || (err != nil) != (line > 0) {
			t.Errorf("%q: line %d, want %d: %v", text, got, line, err)
		}
	}
}

// A section is read onto what is there, with the lines of its file.
func TestSection(t *testing.T) {
	t.Parallel()
	type typed struct {
		X, Y int
		List []string
	}
	var d doc
	if err := yamlfile.Decode("f", "a: 1\nlater:\n  x: 2\n  list: [b]\n", &d); err != nil {
		t.Fatal(err)
	}
	got := typed{X: 1, Y: 1, List: []string{"a", "c"}}
	plain, err := d.Later.Into("f", &got)
	if diff := cmp.Diff(typed{X: 2, Y: 1, List: []string{"b"}}, got); diff != "" || err != nil || plain["x"] != uint64(2) {
		t.Error(diff, err, plain)
	}
	var other struct {
		X int `yaml:"x"`
	}
	if _, err := d.Later.Into("f", &other); len(yamlfile.Complaints(err)) != 1 || yamlfile.Complaints(err)[0].Line != 4 {
		t.Errorf("%v", err)
	}
	for _, empty := range []string{"", "later:\n"} {
		d = doc{}
		if err := yamlfile.Decode("f", empty, &d); err != nil {
			t.Fatal(err)
		}
		if plain, err := d.Later.Into("f", &got); plain != nil || err != nil || got.X != 2 {
			t.Errorf("%q: %v, %v, %+v", empty, plain, err, got)
		}
	}
}

func TestFlatten(t *testing.T) {
	t.Parallel()
	a, b := errors.New("a"), yamlfile.Complain("f", "x.y", "b")
	all := errors.Join(nil, errors.Join(a, errors.Join(b)), a)
	if got := yamlfile.Flatten(all); len(got) != 3 {
		t.Error(got)
	}
	if got := yamlfile.Complaints(yamlfile.Locate(all, map[string]string{"f": "\nx:\n  z: 1"})); len(got) != 1 || got[0].Line != 2 {
		t.Error(got)
	}
}

func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "chat:\n  a: 1", "- x\n- {y: z}", "a: &b {c: *b}", "? x\n: y", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for field, line := range yamlfile.Lines(s) {
			if field == "" || line < 1 {
				t.Errorf("%q: line %d", field, line)
			}
		}
	})
}
