package models_test

import (
	"net/http/httptest"
	"testing"

	"kesoku.dev/emulators/models"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/pipeline/judge"
)

// P8: asked for JSON, the stand-in judges a room: it speaks up for a question to nobody.
func TestDecides(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(models.New(models.Options{}))
	t.Cleanup(web.Close)
	j := judge.Judge{Models: model.Registry{"gemini": newGemini(t, web.URL)}}
	for text, speak := range map[string]bool{
		"does anyone know the way to the station?": true, "谁知道车站怎么走？": true, "lunch was good": false, "": false,
	} {
		a, err := j.Ask(t.Context(), "gemini:gemini-3-flash", judge.Question{Lines: []judge.Line{{Sender: "Bo", Text: "hm?"}, {Sender: "Ann", Text: text}}})
		if err != nil || a.Speak != speak || a.Reason == "" {
			t.Errorf("%q: %+v, %v; want speak = %v", text, a, err, speak)
		}
	}
}
