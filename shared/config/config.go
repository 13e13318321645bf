// Package config reads what an operator writes: the routes' settings, the cron jobs and the roles. It checks every field and says in which
// line what is wrong and what is allowed. It knows no store: where the files come from is its Source's business.
package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/session"
)

// Names of the configuration files.
const (
	FileKesoku   = "kesoku.yaml"
	FileCronjobs = "cronjobs.yaml"
)

// maxFiles bounds what is published, since Firestore holds 1 MiB a document.
const maxFiles = 512 << 10

// Config is all files, read and checked.
type Config struct {
	Defaults Route
	Jobs     []Job
	roles    map[string]string
}

// kesokuFile is kesoku.yaml.
type kesokuFile struct {
	Chat Route `yaml:"chat"`
}

// cronFile is cronjobs.yaml.
type cronFile struct {
	Jobs []Job `yaml:"jobs"`
}

// Parse reads the files by name: kesoku.yaml, cronjobs.yaml and roles/<name>/intro.md. Absent files mean defaults. The error joins all
// that is wrong.
func Parse(files map[string]string) (*Config, error) {
	size := 0
	for _, text := range files {
		size += len(text)
	}
	if size > maxFiles {
		return nil, fmt.Errorf("configuration has %d bytes, at most %d are allowed", size, maxFiles)
	}
	c := &Config{roles: map[string]string{}}
	main, cron := kesokuFile{Chat: DefaultRoute()}, cronFile{}
	var problems []error
	if err := decode(FileKesoku, files[FileKesoku], &main); err != nil {
		problems, main.Chat = append(problems, err), DefaultRoute() // half of it would be complained about for what the other half says
	}
	if err := decode(FileCronjobs, files[FileCronjobs], &cron); err != nil {
		problems, cron.Jobs = append(problems, err), nil
	}
	for name, text := range files {
		if role, ok := roleOf(name); ok {
			c.roles[role] = text
		} else if name != FileKesoku && name != FileCronjobs {
			problems = append(problems, complain(name, "", "unknown file; known are %s, %s and roles/<name>/intro.md", FileKesoku, FileCronjobs))
		}
	}
	c.Defaults, c.Jobs = main.Chat, cron.Jobs
	if err := errors.Join(append(problems, c.check())...); err != nil {
		return nil, locate(err, files)
	}
	return c, nil
}

func roleOf(name string) (string, bool) {
	dir, file := path.Split(name)
	role, ok := strings.CutPrefix(strings.TrimSuffix(dir, "/"), "roles/")
	return role, ok && file == "intro.md" && role != "" && !strings.Contains(role, "/")
}

// decode reads strictly: an unknown key is an error that names its line.
func decode(name, text string, into any) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader([]byte(text)), yaml.Strict())
	if err := dec.Decode(into); err != nil {
		return complainOfText(name, err)
	}
	return nil
}

func (c *Config) check() error {
	problems := []error{c.Defaults.check()}
	seen := map[string]bool{}
	for i := range c.Jobs {
		problems = append(problems, c.Jobs[i].check(i))
		if seen[c.Jobs[i].Name] {
			problems = append(problems, complain(FileCronjobs, fmt.Sprintf("jobs[%d].name", i), "two jobs are named %q", c.Jobs[i].Name))
		}
		seen[c.Jobs[i].Name] = true
	}
	if role := c.Defaults.Role; role != "" && role != DefaultRole {
		if _, ok := c.roles[role]; !ok {
			problems = append(problems, complain(FileKesoku, "chat.role", "chat.role: there is no roles/%s/intro.md", role))
		}
	}
	return errors.Join(problems...)
}

// Route returns the settings of a route.
func (c *Config) Route(string) Route { return c.Defaults }

// Job returns the cron job of that name.
func (c *Config) Job(name string) (Job, bool) {
	i := slices.IndexFunc(c.Jobs, func(j Job) bool { return j.Name == name })
	if i < 0 {
		return Job{}, false
	}
	return c.Jobs[i], true
}

// DefaultRole is the role of a route that names none.
const DefaultRole = "default"

// defaultIntro is the persona where no file gives one.
const defaultIntro = "You are Kesoku, a helpful assistant in a team's chat. Answer briefly and to the point, in the language you are addressed in."

// Intro returns a role's persona; a role without a file has the default one.
func (c *Config) Intro(role string) string {
	if text, ok := c.roles[role]; ok && strings.TrimSpace(text) != "" {
		return text
	}
	if text, ok := c.roles[DefaultRole]; ok && strings.TrimSpace(text) != "" {
		return text
	}
	return defaultIntro
}

// Route is the effective settings of a channel. The names are the chat pipeline's own.
type Route struct {
	Engine     string     `yaml:"engine"`   // agent, or off
	Model      string     `yaml:"model"`    // provider:model
	Thinking   bool       `yaml:"thinking"` // ask the model for its thoughts; a model that has none refuses
	Role       string     `yaml:"role"`
	Tools      []string   `yaml:"tools"`  // empty means all
	Locale     string     `yaml:"locale"` // zh or en, where the platform does not tell a person's own
	Session    Session    `yaml:"session"`
	Activation Activation `yaml:"activation"`
	Observe    Observe    `yaml:"observe"`
	Merge      Merge      `yaml:"merge"`
	// MaxPendingPerRoute is how many prompts may wait, 1 to 64.
	MaxPendingPerRoute int `yaml:"maxPendingPerRoute"`
}

// Session ties messages to conversations.
type Session struct {
	Ownership chat.Ownership `yaml:"ownership"`
	Lane      string         `yaml:"lane"`
	CustomKey string         `yaml:"customKey"`
}

// Activation says when to answer.
type Activation struct {
	Use                       []string `yaml:"use"`
	IgnoreSelf                bool     `yaml:"ignoreSelf"`
	AllowPrivate              bool     `yaml:"allowPrivate"`
	PrivateChatWithoutCommand bool     `yaml:"privateChatWithoutCommand"`
	AllowAtReply              bool     `yaml:"allowAtReply"`
	AllowQuoteReply           bool     `yaml:"allowQuoteReply"`
	Nicknames                 []string `yaml:"nicknames"`
	IsNickNameWithContent     bool     `yaml:"isNickNameWithContent"`
	RandomReplyFrequency      float64  `yaml:"randomReplyFrequency"` // probability, 0 to 1
}

// Observe says what becomes of messages that wake nobody.
type Observe struct {
	Mode    string    `yaml:"mode"`    // off or quiet
	MidTurn chat.Busy `yaml:"midTurn"` // step or turn
}

// Merge says how a new prompt meets a running turn.
type Merge struct {
	Interrupt bool `yaml:"interrupt"`
}

// SessionSettings are what a turn must know of the route, in the language of the person who wrote last.
func (r *Route) SessionSettings(locale string) session.Settings {
	return session.Settings{
		Model: r.Model, Thinking: r.Thinking, Role: r.Role, Tools: slices.Clone(r.Tools), Interrupt: r.Merge.Interrupt,
		Locale: cmp.Or(locale, r.Locale),
	}
}

// Binding ties the route's messages to conversations.
func (r *Route) Binding() chat.Binding {
	return chat.Binding{Ownership: r.Session.Ownership, Lane: r.Session.Lane, CustomKey: r.Session.CustomKey}
}

// DefaultRoute is what a route has where nothing is written.
func DefaultRoute() Route {
	return Route{
		Engine: "agent", Model: "openai:gpt-4o-mini", Thinking: true, Role: DefaultRole, Locale: "zh",
		Session: Session{Ownership: chat.OwnershipShared, Lane: chat.DefaultLane},
		Activation: Activation{
			Use: []string{"rule"}, IgnoreSelf: true, AllowPrivate: true, PrivateChatWithoutCommand: true, AllowAtReply: true,
			AllowQuoteReply: true,
		},
		Observe:            Observe{Mode: "off", MidTurn: chat.BusyStep},
		MaxPendingPerRoute: 64,
	}
}

func (r *Route) check() error {
	oneOf := func(field, got string, allowed ...string) error {
		if slices.Contains(allowed, got) {
			return nil
		}
		return complain(FileKesoku, "chat."+field, "chat.%s: %q is not allowed, write one of %s", field, got, strings.Join(allowed, ", "))
	}
	problems := []error{
		oneOf("engine", r.Engine, "agent", "off"),
		oneOf("locale", r.Locale, "zh", "en"),
		oneOf("session.ownership", string(r.Session.Ownership), "shared", "personal", "custom"),
		oneOf("observe.mode", r.Observe.Mode, "off", "quiet"),
		oneOf("observe.midTurn", string(r.Observe.MidTurn), "step", "turn"),
	}
	for _, d := range r.Activation.Use {
		problems = append(problems, oneOf("activation.use", d, "rule"))
	}
	if provider, model, ok := strings.Cut(r.Model, ":"); !ok || provider == "" || model == "" {
		problems = append(problems, complain(FileKesoku, "chat.model", "chat.model: %q: write provider:model, for example gemini:gemini-2.5-flash", r.Model))
	}
	if f := r.Activation.RandomReplyFrequency; math.IsNaN(f) || f < 0 || f > 1 {
		problems = append(problems, complain(FileKesoku, "chat.activation.randomReplyFrequency", "chat.activation.randomReplyFrequency: %v is no probability, write 0 to 1", f))
	}
	if n := r.MaxPendingPerRoute; n < 1 || n > 64 {
		problems = append(problems, complain(FileKesoku, "chat.maxPendingPerRoute", "chat.maxPendingPerRoute: %d is not allowed, write 1 to 64", n))
	}
	if r.Session.Ownership == chat.OwnershipCustom && r.Session.CustomKey == "" {
		problems = append(problems, complain(FileKesoku, "chat.session.customKey", "chat.session.customKey: ownership custom needs one"))
	}
	return errors.Join(problems...)
}

// cacheFor is how long a function keeps its configuration: a change is followed within it.
const cacheFor = 30 * time.Second
