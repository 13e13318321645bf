// Package render turns what Kesoku says into what a platform can show: a card of folded steps, Markdown in a platform's dialect, and
// texts cut to a platform's size. It is pure.
package render

// State is how a step, or a whole card, stands.
type State string

// The states. A platform shows them as ⏳, ✅, ❌ and ⏹.
const (
	StateRunning State = "running"
	StateDone    State = "done"
	StateFailed  State = "failed"
	StateStopped State = "stopped"
)

// Card is what people see of a turn besides its reply: a header with the state, the steps folded, a footer, perhaps a button.
type Card struct {
	State State
	Title string
	Fold  string // label of the folded section
	Steps []Step
	// Earlier is what stands for n steps that have no room; nil for "… +n".
	Earlier func(n int) string
	Footer  string
	Button  *Button
}

// StepKind says what a step is.
type StepKind string

// The kinds of step.
const (
	StepThought StepKind = "thought"
	StepTool    StepKind = "tool"
)

// Step is one line of the folded section.
type Step struct {
	Kind   StepKind
	State  State
	Title  string // the tool's name, or a word for a thought
	Detail string // arguments or the thought itself, plain text, already bounded
	Result string // one line, once there is one
}

// Button is a button that comes back as chat.Action.
type Button struct {
	Label  string
	Action string
	Params map[string]string
}

// Icon is the sign of a state.
func (s State) Icon() string {
	switch s {
	case StateRunning:
		return "⏳"
	case StateDone:
		return "✅"
	case StateFailed:
		return "❌"
	case StateStopped:
		return "⏹️"
	default:
		return "•"
	}
}
