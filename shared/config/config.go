// Package config reads what an operator writes: the routes' settings, the cron jobs and the roles. It checks every field and says in which
// line what is wrong and what is allowed. It knows no store: where the files come from is its Source's business.
package config

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"kesoku.dev/shared/config/routing"
	"kesoku.dev/shared/config/settings"
	"kesoku.dev/shared/config/yamlfile"
)

// Names of the configuration files.
const (
	FileKesoku   = "kesoku.yaml"
	FileCronjobs = "cronjobs.yaml"
)

// maxFiles bounds what is published, since Firestore holds 1 MiB a document.
const maxFiles = 512 << 10

// Config is all files, read and checked. It is safe for concurrent use.
type Config struct {
	// Defaults are the global rule's settings of a route: they hold where no other rule does.
	Defaults  Route
	Jobs      []Job
	roles     map[string]string
	models    map[string]string // role of a model → its name
	lifecycle []string
	rules     map[string]*rule // by id
	set       *routing.Set

	mu   sync.Mutex
	kept map[string]Resolved // by the ids of the rules that hold
}

// cronFile is cronjobs.yaml.
type cronFile struct {
	Jobs []Job `yaml:"jobs"`
}

// Parse reads the files by name: kesoku.yaml, cronjobs.yaml and roles/<name>/intro.md. Absent files mean defaults. Filters may name the custom
// predicates; one that is not given does not hold. The error joins all that is wrong.
func Parse(files map[string]string, custom ...Predicates) (*Config, error) {
	size := 0
	for _, text := range files {
		size += len(text)
	}
	if size > maxFiles {
		return nil, fmt.Errorf("configuration has %d bytes, at most %d are allowed", size, maxFiles)
	}
	c := &Config{roles: map[string]string{}, rules: map[string]*rule{}, kept: map[string]Resolved{}}
	main, cron := kesokuFile{}, cronFile{}
	var problems []error
	if err := yamlfile.Decode(FileKesoku, files[FileKesoku], &main); err != nil {
		problems, main = append(problems, err), kesokuFile{} // half of it would be complained about for what the other half says
	}
	if err := yamlfile.Decode(FileCronjobs, files[FileCronjobs], &cron); err != nil {
		problems, cron.Jobs = append(problems, err), nil
	}
	for name, text := range files {
		if role, ok := roleOf(name); ok {
			c.roles[role] = text
		} else if name != FileKesoku && name != FileCronjobs {
			problems = append(problems, yamlfile.Complain(name, "", "unknown file; known are %s, %s and roles/<name>/intro.md", FileKesoku, FileCronjobs))
		}
	}
	all, err := readRules(&main)
	c.models, c.lifecycle, c.Jobs = main.Models, main.Lifecycle, cron.Jobs
	problems = append(problems, err, c.checkModels(), c.checkLifecycle(), c.checkRules(all), c.checkJobs())
	if err := errors.Join(problems...); err != nil {
		return nil, yamlfile.Locate(err, files)
	}
	c.order(all, custom)
	return c, nil
}

// order makes the rules ready to be asked.
func (c *Config) order(all []*rule, custom []Predicates) {
	registered := Predicates{}
	for _, p := range custom {
		maps.Copy(registered, p)
	}
	bare := make([]routing.Rule, len(all))
	for i, r := range all {
		bare[i], c.rules[r.ID] = r.Rule, r
	}
	c.set = routing.NewSet(bare, registered)
	c.Defaults = c.merge(bare[:1]).Route
}

func roleOf(name string) (string, bool) {
	dir, file := path.Split(name)
	role, ok := strings.CutPrefix(strings.TrimSuffix(dir, "/"), "roles/")
	return role, ok && file == "intro.md" && role != "" && !strings.Contains(role, "/")
}

func (c *Config) checkJobs() error {
	var problems []error
	seen := map[string]bool{}
	for i := range c.Jobs {
		problems = append(problems, c.Jobs[i].check(i))
		if seen[c.Jobs[i].Name] {
			problems = append(problems, yamlfile.Complain(FileCronjobs, fmt.Sprintf("jobs[%d].name", i), "two jobs are named %q", c.Jobs[i].Name))
		}
		seen[c.Jobs[i].Name] = true
	}
	return errors.Join(problems...)
}

// Job returns the cron job of that name.
func (c *Config) Job(name string) (Job, bool) {
	i := slices.IndexFunc(c.Jobs, func(j Job) bool { return j.Name == name })
	if i < 0 {
		return Job{}, false
	}
	return c.Jobs[i], true
}

// defaultIntro is the persona where no file gives one.
const defaultIntro = "You are Kesoku, a helpful assistant in a team's chat. Answer briefly and to the point, in the language you are addressed in."

// Intro returns a role's persona; a role without a file has the default one.
func (c *Config) Intro(role string) string {
	if text, ok := c.roles[role]; ok && strings.TrimSpace(text) != "" {
		return text
	}
	if text, ok := c.roles[settings.DefaultRole]; ok && strings.TrimSpace(text) != "" {
		return text
	}
	return defaultIntro
}
