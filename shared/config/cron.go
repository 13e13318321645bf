package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config/yamlfile"
)

// Job is a cron job: at the times of its schedule, its prompt goes into a channel's conversation.
type Job struct {
	Name      string `yaml:"name"`
	Schedule  string `yaml:"schedule"`  // five fields, as Cloud Scheduler takes them
	TimeZone  string `yaml:"time_zone"` // IANA name; empty means UTC
	Prompt    string `yaml:"prompt"`
	ChatbotID string `yaml:"chatbot_id"` // the platform
	ChannelID string `yaml:"channel_id"`
}

// RouteID is the route whose settings the job's prompt goes by.
func (j *Job) RouteID() string { return j.ChatbotID + ":" + j.ChannelID }

// jobName is what Cloud Scheduler takes as a job id, kept short.
var jobName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// maxPrompt bounds a job's prompt, in bytes.
const maxPrompt = 32 << 10

// check is for the job that stands at index i of its file.
func (j *Job) check(i int) error {
	var problems []error
	wrong := func(field, format string, args ...any) {
		problems = append(problems, yamlfile.Complain(FileCronjobs, fmt.Sprintf("jobs[%d].%s", i, field), "job %q: "+format, append([]any{j.Name}, args...)...))
	}
	if !jobName.MatchString(j.Name) {
		wrong("name", "name: write a lower-case letter, then up to 62 of a-z, 0-9 and -")
	}
	if _, err := j.schedule(); err != nil {
		wrong("schedule", "schedule: %w", err)
	}
	if _, err := time.LoadLocation(j.TimeZone); err != nil {
		wrong("time_zone", "time_zone: %w; write a name like Asia/Tokyo", err)
	}
	if strings.TrimSpace(j.Prompt) == "" || len(j.Prompt) > maxPrompt {
		wrong("prompt", "prompt: write 1 to %d bytes", maxPrompt)
	}
	if j.ChatbotID == "" || j.ChannelID == "" {
		wrong("channel_id", "chatbot_id and channel_id: both are needed, for example googlechat and spaces/AAAA")
	}
	return errors.Join(problems...)
}

func (j *Job) schedule() (cron.Schedule, error) {
	if strings.Contains(j.Schedule, "=") { // the parser would take TZ=… for a zone, and fall over one without fields behind it
		return nil, fmt.Errorf("%q: write five fields alone; the zone has a field of its own", j.Schedule)
	}
	return cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(j.Schedule)
}

// early is how much sooner than its time a trigger may come and still mean it.
const early = 30 * time.Second

// Firing is one time at which a job was due. However often and late its triggers come, they mean one firing, which is stored once under its id.
type Firing struct {
	ID  string
	Due time.Time // UTC
}

// Triggered returns the firing that a trigger at that time means, and whether there is one within the past day.
func (j *Job) Triggered(at time.Time) (Firing, bool) { return j.Due(at.Add(early)) }

// Due returns the firing of the last time at or before now at which the job was due, within the past day, and whether there is one.
func (j *Job) Due(now time.Time) (Firing, bool) {
	s, zone, err := j.clock()
	if err != nil {
		return Firing{}, false
	}
	var due time.Time
	for t := s.Next(now.In(zone).Add(-24 * time.Hour)); !t.IsZero() && !t.After(now); t = s.Next(t) {
		due = t.UTC()
	}
	return Firing{ID: chat.Hash("cron", j.Name, due.Format(time.RFC3339)), Due: due}, !due.IsZero()
}

// Next returns the next times after now at which the job is due, in its own zone: count of them, or fewer where there never are.
func (j *Job) Next(now time.Time, count int) []time.Time {
	s, zone, err := j.clock()
	if err != nil {
		return nil
	}
	var all []time.Time
	for t := s.Next(now.In(zone)); !t.IsZero() && len(all) < count; t = s.Next(t) {
		all = append(all, t)
	}
	return all
}

// clock is the job's schedule and its zone.
func (j *Job) clock() (cron.Schedule, *time.Location, error) {
	zone, err := time.LoadLocation(j.TimeZone)
	if err != nil {
		return nil, nil, err
	}
	s, err := j.schedule()
	return s, zone, err
}
