package topology_test

import (
	"testing"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/bus/topology"
	"kesoku.dev/shared/errs"
)

const source = "//pubsub.googleapis.com/projects/p/topics/"

// case B41: what a burial keeps is a push's body; only a whole one for one of our topics can be published again.
func TestOriginal(t *testing.T) {
	t.Parallel()
	w, err := topology.Original(source+"turns", []byte(`{"message":{"data":"eyJzZXNzaW9uIjoicyJ9","messageId":"1"},"subscription":"s"}`))
	if err != nil || w.Topic != bus.TopicTurns || string(w.Data) != `{"session":"s"}` {
		t.Errorf("%+v, %v", w, err)
	}
	if w, err := topology.Original(source+"sweeps", []byte(`{"message":{}}`)); err != nil || len(w.Data) != 0 {
		t.Errorf("without data: %+v, %v", w, err)
	}
	for name, tt := range map[string]struct{ source, body string }{
		"another topic": {source + "dead-letters", `{"message":{}}`}, "no source": {"", `{"message":{}}`}, "cut": {source + "turns", `{"message":{"data":"ey`},
		"no message": {source + "turns", `{}`}, "no base64": {source + "turns", `{"message":{"data":"?"}}`}, "empty": {source + "turns", ""},
	} {
		if w, err := topology.Original(tt.source, []byte(tt.body)); errs.KindOf(err) != errs.KindPermanent {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
	}
}

func FuzzOriginal(f *testing.F) {
	f.Add(source+"turns", []byte(`{"message":{"data":"e30="}}`))
	f.Add("/", []byte(`[]`))
	f.Fuzz(func(t *testing.T, source string, body []byte) {
		if w, err := topology.Original(source, body); err == nil && w.Topic == "" {
			t.Errorf("no topic and no error for %q", source)
		}
	})
}
