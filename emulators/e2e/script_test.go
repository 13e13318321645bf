package e2e_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"kesoku.dev/emulators/e2e/look"
	"kesoku.dev/emulators/e2e/world"
	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/googlechat/media"
	"kesoku.dev/emulators/googlechat/wire"
	chatworld "kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/emulators/models"
)

// The words of a script. README of testdata: every line is one of
//
//	post WHO WHERE "text" [quote] [file NAME TYPE "content"]   quote: the app's newest message there
//	wait                      until nothing is left to do, time standing still
//	until WHERE "text"        until it is seen, time standing still; WHERE may be events: what became of them
//	pass WHERE "text"         the same, while time passes
//	finish                    until nothing is left to do, while time passes
//	hold, release             the pages that tools read
//	press WHO WHERE           the newest card's button
//	cron JOB, sweep           what Cloud Scheduler publishes
//	join|leave WHO WHERE      the app is added, or removed
//	space WHERE classic|addon [events] [copies N]
//
// PAGE stands for the address of the test's pages.
type play struct {
	t       *testing.T
	w       *world.World
	release func()
}

var (
	words  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\S+`)
	people = map[string]string{"alice": world.Alice, "bo": world.Bo, "carol": world.Carol}
	places = map[string]string{"room": world.Room, "tokyo": world.Tokyo, "direct": world.AliceDM}
)

// newPlay makes the world of an archive: its files "config", "cronjobs" and "model", which has one scripted reply a line.
func newPlay(t *testing.T, files map[string]string) *play {
	t.Helper()
	o := world.Options{Config: world.DefaultConfig(), Start: time.Date(2026, 5, 27, 12, 0, 0, 0, time.UTC)}
	if text, ok := files["config"]; ok {
		o.Config["kesoku.yaml"] = text
	}
	if text, ok := files["cronjobs"]; ok {
		o.Config["cronjobs.yaml"] = text
	}
	for text := range strings.Lines(files["model"]) {
		o.Models.Script = append(o.Models.Script, replyOf(t, strings.TrimSpace(text)))
	}
	return &play{t: t, w: world.New(t, o), release: func() {}}
}

// replyOf reads a scripted reply: "hang", "cut", or a chunk of the protocol.
func replyOf(t *testing.T, text string) models.Reply {
	t.Helper()
	switch {
	case text == "hang":
		return models.Reply{Hang: true}
	case text == "cut":
		return models.Reply{Cut: true}
	case !json.Valid([]byte(text)):
		t.Fatalf("scripted reply %q is neither hang, cut nor JSON", text)
	}
	return models.Reply{Chunks: []json.RawMessage{json.RawMessage(text)}}
}

// run does one line.
func (p *play) run(line string) {
	p.t.Helper()
	args := words.FindAllString(line, -1)
	for i, a := range args {
		if s, err := strconv.Unquote(a); err == nil {
			args[i] = strings.ReplaceAll(s, "PAGE", p.w.PageURL(""))
		}
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "#") {
		return
	}
	switch do, args := args[0], args[1:]; do {
	case "post":
		p.post(args)
	case "wait":
		p.w.WaitIdle()
	case "until":
		p.w.Until(line, func() bool { return p.seen(args) })
	case "pass":
		p.w.Advancing(200*time.Millisecond, line, func() bool { return p.seen(args) })
	case "finish":
		p.w.Settle()
	case "hold":
		p.release = p.w.Page.Hold()
	case "release":
		p.release()
	case "press":
		if err := p.w.Press(people[args[0]], places[args[1]]); err != nil {
			p.t.Fatalf("%s: %v", line, err)
		}
	case "cron":
		p.w.Cron(args[0])
	case "sweep":
		p.w.Sweep()
	case "join", "leave":
		p.w.Join(people[args[0]], places[args[1]], do == "join")
	case "space":
		p.space(args)
	default:
		p.t.Fatalf("script line %q is none that is known", line)
	}
}

// seen looks into a space, or at what became of all events.
func (p *play) seen(args []string) bool {
	if args[0] == "events" {
		return strings.Contains(look.Outcomes(p.w), args[1])
	}
	return strings.Contains(look.TranscriptOf(p.w, places[args[0]]), args[1])
}

func (p *play) post(args []string) {
	p.t.Helper()
	m := chatworld.Post{User: people[args[0]], Space: places[args[1]], Text: args[2]}
	for rest := args[3:]; len(rest) > 0; {
		switch rest[0] {
		case "quote":
			sent := p.w.Sent(m.Space)
			m.Quote, rest = sent[len(sent)-1].Name, rest[1:]
		case "file":
			m.Files = append(m.Files, media.Upload{Name: rest[1], Type: rest[2], Data: []byte(rest[3])})
			rest = rest[4:]
		default:
			p.t.Fatalf("post: %q is not known", rest[0])
		}
	}
	p.w.WriteAcked(m)
}

func (p *play) space(args []string) {
	p.t.Helper()
	set := hook.Settings{Form: wire.Form(args[1])}
	for rest := args[2:]; len(rest) > 0; rest = rest[1:] {
		switch rest[0] {
		case "events":
			set.SpaceEvents = true
		case "twice":
			set.Copies = 2
		default:
			p.t.Fatalf("space: %q is not known", rest[0])
		}
	}
	if err := p.w.Chat.Configure(places[args[0]], set); err != nil {
		p.t.Fatal(err)
	}
}

// section returns the files of an archive by name.
func sections(a *txtar.Archive) map[string]string {
	out := map[string]string{}
	for _, f := range a.Files {
		out[f.Name] = string(f.Data)
	}
	return out
}

// put replaces a file of an archive, or adds it.
func put(a *txtar.Archive, name, text string) {
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = []byte(text)
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)})
}
