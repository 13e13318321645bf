package archtest

import (
	"regexp"
	"slices"
	"strings"
)

// word is something that must not stand in any text of the tree.
type word struct {
	pattern *regexp.Regexp
	goOnly  bool
	reason  string
}

// The patterns are put together from pieces, so that this file does not match itself.
var words = []word{
	{regexp.MustCompile(`(^|[\s"'` + "`" + `=(:,])/(wo` + `rk|ro` + `ot|t` + `mp)(/|["'` + "`" + `\s]|$)`), false,
		"paths of one machine mean nothing on another: use temporary folders, arguments or relative paths"},
	{regexp.MustCompile(`(^|[^./\w])\.\./sha` + `red`), false, "the repository refers to nothing outside itself"},
	{regexp.MustCompile(`(proxy|sum)\.go` + `lang\.org|registry\.npm` + `js|deb\.deb` + `ian\.org|files\.python` + `hosted`), false,
		"where packages come from is this machine's business"},
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`), true, "unfinished work is finished or reported, not left in the source"},
}

func forbiddenWords(t *tree) []Violation {
	var found []Violation
	for _, f := range t.texts {
		for i, line := range strings.Split(f.body, "\n") {
			for _, w := range words {
				if w.goOnly && !strings.HasSuffix(f.path, ".go") {
					continue
				}
				if m := w.pattern.FindString(line); m != "" {
					found = append(found, Violation{f.path, i + 1, "contains " + strings.TrimSpace(m), w.reason})
				}
			}
		}
	}
	return found
}

func topLevel(t *tree) []Violation {
	var found []Violation
	for _, name := range t.top {
		if !strings.HasPrefix(name, ".") && !slices.Contains(topNames, name) {
			found = append(found, Violation{name, 0, "does not belong at the top level", "D1 fixes what stands there"})
		}
	}
	return found
}
