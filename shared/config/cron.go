package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
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

func (j *Job) check() error {
	at := fmt.Sprintf("%s: job %q", FileCronjobs, j.Name)
	var problems []error
	if !jobName.MatchString(j.Name) {
		problems = append(problems, fmt.Errorf("%s: name: write a lower-case letter, then up to 62 of a-z, 0-9 and -", at))
	}
	if _, err := j.schedule(); err != nil {
		problems = append(problems, fmt.Errorf("%s: schedule: %w", at, err))
	}
	if _, err := time.LoadLocation(j.TimeZone); err != nil {
		problems = append(problems, fmt.Errorf("%s: time_zone: %w; write a name like Asia/Tokyo", at, err))
	}
	if strings.TrimSpace(j.Prompt) == "" || len(j.Prompt) > maxPrompt {
		problems = append(problems, fmt.Errorf("%s: prompt: write 1 to %d bytes", at, maxPrompt))
	}
	if j.ChatbotID == "" || j.ChannelID == "" {
		problems = append(problems, fmt.Errorf("%s: chatbot_id and channel_id: both are needed, for example googlechat and spaces/AAAA", at))
	}
	return errors.Join(problems...)
}

func (j *Job) schedule() (cron.Schedule, error) {
	if strings.Contains(j.Schedule, "=") { // the parser would take TZ=… for a zone, and fall over one without fields behind it
		return nil, fmt.Errorf("%q: write five fields alone; the zone has a field of its own", j.Schedule)
	}
	return cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(j.Schedule)
}

// Due returns the last time at or before now at which the job was due, within the past day, and whether there is one. It names a firing:
// however late or often a trigger comes, it means the same time.
func (j *Job) Due(now time.Time) (time.Time, bool) {
	zone, err := time.LoadLocation(j.TimeZone)
	if err != nil {
		return time.Time{}, false
	}
	s, err := j.schedule()
	if err != nil {
		return time.Time{}, false
	}
	var due time.Time
	for t := s.Next(now.In(zone).Add(-24 * time.Hour)); !t.IsZero() && !t.After(now); t = s.Next(t) {
		due = t
	}
	return due.UTC(), !due.IsZero()
}
