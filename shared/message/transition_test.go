package message_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kesoku.dev/shared/message"
)

var statuses = []message.Status{
	message.StatusPendingAgent, message.StatusProcessing, message.StatusProcessed, message.StatusInterrupted,
	message.StatusError, message.StatusPending, message.StatusDelivered, message.StatusResponded,
}

// edge is one arrow of M3, written down here once more so that the code is held against the requirement and not against itself.
type edge struct {
	from, to message.Status
}

var (
	inputEdges = map[edge]string{
		{"pending_agent", "processing"}:  "claim",
		{"processing", "processed"}:      "finish",
		{"processing", "interrupted"}:    "interrupt",
		{"processing", "error"}:          "fail",
		{"processing", "pending_agent"}:  "requeue",
		{"pending_agent", "interrupted"}: "withdraw",
	}
	outputEdges  = map[edge]string{{"pending", "delivered"}: "deliver", {"pending", "error"}: "undeliverable"}
	thoughtEdges = map[edge]string{{"responded", "delivered"}: "show"}
	toolEdges    = map[edge]string{
		{"responded", "delivered"}:   "show",
		{"responded", "interrupted"}: "preempt",
		{"delivered", "interrupted"}: "preempt",
	}
	edgesOf = map[message.Class]map[edge]string{
		message.ClassUserPrompt: inputEdges, message.ClassCronPrompt: inputEdges, message.ClassCompaction: inputEdges,
		message.ClassAlert: inputEdges, message.ClassThought: thoughtEdges, message.ClassToolCall: toolEdges,
		message.ClassToolResult: toolEdges, message.ClassFinalReply: outputEdges, message.ClassNotification: outputEdges,
		message.ClassCrashNotice: outputEdges, message.ClassSystemPrompt: nil, message.ClassNudge: nil,
	}
)

// M3: for each class and each pair of statuses there is exactly the transition that the requirement names, or none.
func TestEveryPairOfStatuses(t *testing.T) {
	t.Parallel()
	for class, made := range oneOfEach() {
		for _, from := range statuses {
			for _, to := range statuses {
				t.Run(fmt.Sprintf("%d/%s/%s", class, from, to), func(t *testing.T) {
					t.Parallel()
					m := made
					m.Status = from
					if twin(class, from) {
						return // no message of this class can stand there; the twin's own rows cover it
					}
					if got := m.Class(); got != class {
						t.Fatalf("class %d in status %s is read as %d", class, from, got)
					}
					if diff := cmp.Diff(wanted(edgesOf[class][edge{from, to}]), namesTo(t, m, to)); diff != "" {
						t.Errorf("transitions (-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}

// twin reports the two rows that are told apart by status alone: a nudge is always responded, and an alert never is.
func twin(c message.Class, s message.Status) bool {
	return c == message.ClassNudge && s != message.StatusResponded || c == message.ClassAlert && s == message.StatusResponded
}

func wanted(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// namesTo applies every transition to a copy of m and returns the names of those that lead to a status; all others must be refused and
// must leave the message alone.
func namesTo(t *testing.T, m message.Message, to message.Status) []string {
	t.Helper()
	var names []string
	for _, tr := range message.Transitions() {
		moved := m
		err := moved.Apply(tr)
		if err == nil {
			want := m
			want.Status = tr.To
			if diff := cmp.Diff(want, moved); diff != "" {
				t.Errorf("%s changes more than the status (-want +got):\n%s", tr.Name, diff)
			}
			if tr.To == to {
				names = append(names, tr.Name)
			}
			continue
		}
		var illegal *message.IllegalTransitionError
		if !errors.As(err, &illegal) {
			t.Fatalf("%s: %v is no *IllegalTransitionError", tr.Name, err)
		}
		if illegal.ID != m.ID || illegal.Transition != tr.Name || illegal.From != m.Status || illegal.Flow != m.Class().Flow() {
			t.Errorf("%s: the error does not say what was refused: %+v", tr.Name, illegal)
		}
		if diff := cmp.Diff(m, moved); diff != "" {
			t.Errorf("%s was refused but changed the message (-want +got):\n%s", tr.Name, diff)
		}
	}
	return names
}

// M3: a record that no constructor makes takes no edge at all.
func TestUnknownClassTakesNoEdge(t *testing.T) {
	t.Parallel()
	for _, m := range []message.Message{
		{}, {Role: "robot", Type: message.TypeText}, {Role: message.RoleUser, Type: message.TypeThought},
		{Role: message.RoleTool, Type: message.TypeText}, {Role: message.RoleSystem, Type: message.TypeToolCall},
	} {
		for _, from := range statuses {
			m.Status = from
			if m.Class() != message.ClassUnknown {
				t.Errorf("%s/%s is read as class %d", m.Role, m.Type, m.Class())
			}
			for _, to := range statuses {
				if names := namesTo(t, m, to); names != nil {
					t.Errorf("%s/%s goes from %s to %s by %v", m.Role, m.Type, from, to, names)
				}
			}
		}
	}
}

// M3: the drawing in docs/design.md shows Transitions, neither more nor less.
func TestDiagram(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(flat(message.Transitions()), parseDiagram(t, string(page))); diff != "" {
		t.Errorf("the drawing differs from the code (-code +drawing):\n%s", diff)
	}
}

// flat lists each arrow of the transitions in a line of its own, sorted.
func flat(all []message.Transition) []string {
	var out []string
	for _, t := range all {
		for _, from := range t.From {
			out = append(out, fmt.Sprintf("%s: %s --> %s: %s tool=%v", t.Flow, from, t.To, t.Name, t.ToolOnly))
		}
	}
	slices.Sort(out)
	return out
}

var (
	blockLine = regexp.MustCompile(`^state "[^"]*" as (\w+) \{$`)
	aliasLine = regexp.MustCompile(`^state "(\w+)" as (\w+)$`)
	edgeLine  = regexp.MustCompile(`^(\w+) --> (\w+): (\w+)( \[tool\])?$`)
	endLine   = regexp.MustCompile(`^(\[\*\] --> \w+|\w+ --> \[\*\])$`)
)

// parseDiagram reads the arrows out of the page's one mermaid drawing. It refuses every line that it does not understand, so that no
// arrow hides from the comparison.
func parseDiagram(t *testing.T, page string) []string {
	t.Helper()
	_, rest, found := strings.Cut(page, "```mermaid\nstateDiagram-v2\n")
	drawing, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("docs/design.md has no mermaid stateDiagram-v2")
	}
	var out []string
	flow, names := "", map[string]string{}
	name := func(id string) string {
		if n, ok := names[id]; ok {
			return n
		}
		return id
	}
	for line := range strings.Lines(drawing) {
		line = strings.TrimSpace(line)
		if m := blockLine.FindStringSubmatch(line); m != nil {
			flow = m[1]
		} else if m := aliasLine.FindStringSubmatch(line); m != nil {
			names[m[2]] = m[1]
		} else if m := edgeLine.FindStringSubmatch(line); m != nil {
			out = append(out, fmt.Sprintf("%s: %s --> %s: %s tool=%v", flow, name(m[1]), name(m[2]), m[3], m[4] != ""))
		} else if line != "" && line != "}" && !endLine.MatchString(line) {
			t.Errorf("the drawing has a line that is not understood: %q", line)
		}
	}
	slices.Sort(out)
	return out
}
