package boot

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"time"
)

// Vars reads a function's environment and gathers all that is wrong with it, so that one start tells everything. This package is the only one
// that reads the environment.
type Vars struct {
	get      func(string) string
	problems []error
}

// Environ reads the process's environment.
func Environ() *Vars { return &Vars{get: os.Getenv} }

// VarsOf reads a map, for hosts that run several functions in one process.
func VarsOf(m map[string]string) *Vars {
	return &Vars{get: func(name string) string { return m[name] }}
}

// Required returns a variable that must not be empty.
func (v *Vars) Required(name string) string {
	s := v.get(name)
	if s == "" {
		v.problems = append(v.problems, fmt.Errorf("environment variable %s is not set", name))
	}
	return s
}

// Optional returns a variable, or def where it is empty.
func (v *Vars) Optional(name, def string) string {
	if s := v.get(name); s != "" {
		return s
	}
	return def
}

// URL returns a variable that must be empty or an absolute http(s) URL.
func (v *Vars) URL(name, def string) string {
	s := v.Optional(name, def)
	if s == "" {
		return s
	}
	if u, err := url.Parse(s); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		v.problems = append(v.problems, fmt.Errorf("environment variable %s: write an absolute http or https URL", name))
	}
	return s
}

// Duration returns a variable like "480s", or def where it is empty.
func (v *Vars) Duration(name string, def time.Duration) time.Duration {
	s := v.get(name)
	if s == "" {
		return def
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		v.problems = append(v.problems, fmt.Errorf("environment variable %s: %q is no positive duration, write for example 480s", name, s))
		return def
	}
	return d
}

// Fraction returns a variable like "0.25", from 0 to 1, or def where it is empty.
func (v *Vars) Fraction(name string, def float64) float64 {
	s := v.get(name)
	if s == "" {
		return def
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f <= 1) {
		v.problems = append(v.problems, fmt.Errorf("environment variable %s: %q is no fraction, write a number from 0 to 1", name, s))
		return def
	}
	return f
}

// Err joins all that is wrong so far.
func (v *Vars) Err() error { return errors.Join(v.problems...) }
