package names

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		is   func(string) bool
		good []string
		bad  []string
	}{
		"space":   {IsSpace, []string{"spaces/AAQA-_1"}, []string{"", "spaces/", "spaces/a/b", "spaces/a\n", "spaces/..", "users/1", "xspaces/a"}},
		"message": {IsMessage, []string{"spaces/a/messages/b.c", "spaces/a/messages/client-x"}, []string{"spaces/a/messages/", "spaces/a/messages/b/c", "spaces/a/messages/b?x"}},
		"user":    {IsUser, []string{"users/1", "users/app", "users/a@b.example"}, []string{"users/", "users/a/b", "Ann"}},
		"thread": {
			func(s string) bool { return IsThreadOf("spaces/a", s) },
			[]string{"spaces/a/threads/b"}, []string{"spaces/ab/threads/b", "spaces/b/threads/b", "spaces/a/messages/b", "spaces/a/threads/b/c"},
		},
		"uploaded": {
			func(s string) bool { got, ok := Uploaded(Source(s, "")); return ok && got == s },
			[]string{"Clxz=", "spaces/a/messages/b/attachments/c"},
			[]string{"", "/a", "a/", "a//b", "../a", "a/../b", "a?b", "a#b", "a b", "a%2e", strings.Repeat("a", 2049)},
		},
	}
	for name, tt := range tests {
		for _, s := range tt.good {
			if !tt.is(s) {
				t.Errorf("%s %q is refused", name, s)
			}
		}
		for _, s := range tt.bad {
			if tt.is(s) {
				t.Errorf("%s %q is taken", name, s)
			}
		}
	}
}

// A file that is in Drive is not taken for one uploaded, whatever its id.
func TestDriveIsNotUploaded(t *testing.T) {
	t.Parallel()
	for _, source := range []string{Source("", "1_x"), Source("../bad", "1_x"), Source("", "media/1"), "", "1_x"} {
		if got, ok := Uploaded(source); ok {
			t.Errorf("source %q gave %q", source, got)
		}
	}
}
