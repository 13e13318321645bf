package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is all that was measured.
type Report struct {
	At        time.Time  `json:"at"`
	Go        string     `json:"go"`
	CPUs      int        `json:"cpus"`
	Profiles  []Result   `json:"profiles"`
	Functions []Function `json:"functions"`
}

// ErrBroken says that messages were lost or reordered, which no load excuses.
var ErrBroken = errors.New("messages were not answered, or out of order")

// Err is ErrBroken with the numbers, or nil.
func (r *Report) Err() error {
	var problems []error
	for _, p := range r.Profiles {
		if p.Unanswered > 0 || p.Reordered > 0 {
			problems = append(problems, fmt.Errorf("profile %s (model %.0f ms): %d of %d unanswered, %d of them refused by the webhook, %d reordered: %w",
				p.Profile, p.Model, p.Unanswered, p.Messages, p.Refused, p.Reordered, ErrBroken))
		}
	}
	return errors.Join(problems...)
}

// Save writes the report as JSON.
func (r *Report) Save(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// notes say what the numbers are worth.
const notes = `
a: one client; b: 32 clients over 3,000 spaces; c: 32 over 20. A client writes again once its reply has arrived at the Chat API; spaces
take turns. Times are in ms, the model's is its delay. Of every reply's time the Pub/Sub emulator takes about 40 ms at each of three
hand-overs. Reads and writes are documents, publishes are wake-ups, each of all functions together for one reply, as proxies before the
emulators counted them; a reply answers all messages that were merged into its prompt. CPU is ms of the functions' processes for one
message; beside it that of driver, stand-ins, bridge and proxies, which share the machine with the emulators: the proxies take about 3.5 ms.
The Chat stand-in's limit of one write a second in a space is off but in c-quota; the app keeps to that pace by itself, so that c is at
most 20 replies a second. No sweep runs. Each profile has a project of its own, for the emulator's queries scan all that a project holds:
messages a second fall as a profile grows, which they would not in production.
zip: the archive that make package writes; binary: what the platform makes of it, and what was measured here. start: from exec to the first
answer; event: to the first 200 for an event dealt with, connections and one write included (a webhook's is 401: nobody signed it).
`

// Print writes the report for people.
func (r *Report) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	if _, err := io.WriteString(w, r.rows()); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	_, err := fmt.Fprintf(out, "%s%s, %d CPUs.\n", notes, r.Go, r.CPUs)
	return err
}

// rows are the two tables, their cells ended by tabs.
func (r *Report) rows() string {
	var b strings.Builder
	b.WriteString("profile\tmodel\tclients\tspaces\tmessages\treplies\tmsg/s\tack p50\tp99\treply p50\tp99\tunanswered\treordered\t" +
		"reads\twrites\tpublishes\tCPU\t(bench)\tmemory MiB\t\n")
	for _, p := range r.Profiles {
		fmt.Fprintf(&b, "%s\t%.0f\t%d\t%d\t%d\t%d\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\t%d\t%d\t%.2f\t%.2f\t%.2f\t%.1f\t%.1f\t%.0f\t\n",
			p.Profile, p.Model, p.Clients, p.Spaces, p.Messages, p.Replies, p.Rate, p.AckP50, p.AckP99, p.ReplyP50, p.ReplyP99, p.Unanswered,
			p.Reordered, p.Reads, p.Writes, p.Published, p.functionCPU(), p.CPU[ourselves], mebibytes(p.memory()))
	}
	b.WriteString("\nfunction\tzip KiB\tbinary MiB\tstart\tevent\tpeak MiB\t\n")
	for _, f := range r.Functions {
		fmt.Fprintf(&b, "%s\t%.1f\t%.1f\t%.0f\t%.0f\t%.0f\t\n", f.Name, float64(f.Zip)/(1<<10), mebibytes(f.Size), f.Start, f.FirstEvent, mebibytes(r.peakOf(f.Name)))
	}
	return b.String()
}

// peakOf is the most that a function's process had in any profile.
func (r *Report) peakOf(function string) int64 {
	var most int64
	for _, p := range r.Profiles {
		most = max(most, p.Memory[function])
	}
	return most
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
