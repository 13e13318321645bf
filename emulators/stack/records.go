package stack

import (
	"net/http"

	"kesoku.dev/emulators/page"
	"kesoku.dev/emulators/stack/view"
)

// Page is the look-alike of Google Chat over this stack, with the records, the decisions and the traces beside it, and rules to try.
func (s *Stack) Page() http.Handler {
	return page.New(s.Chat, view.Records{Store: s.Store}, view.Traces{Server: s.Traces}, s.rules)
}
