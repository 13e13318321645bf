package compose

import (
	"errors"
	"fmt"

	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/render"
)

// Expander writes an element as CommonMark. False leaves it as it is written; an empty text drops it.
type Expander func(e Element, about Scene) (markdown string, ok bool)

// Renderer writes an element in the platform's own markup. False leaves it as it is written; an empty text drops it.
type Renderer func(e Element, about Scene) (markup string, ok bool)

// ToolDisplay writes what a card shows of a tool's call and, where it has ended well, of its result: plain text, which the caller bounds.
type ToolDisplay func(call ToolCall) (detail, result string)

// ToolCall is a call of a tool, as the record has it.
type ToolCall struct {
	Name      string
	Arguments string // a JSON object
	Result    string // the tool's one line for people; empty while there is none
}

// Action makes the button of a named action.
type Action func(t locale.Texts, params map[string]string) render.Button

// Scene is what a text is sent about.
type Scene struct {
	// Quoted finds a message of the conversation by its id, the platform's or ours; an empty id means the prompt that is answered. Nil finds none.
	Quoted func(id string) (Quoted, bool)
}

// Quoted is a message to quote.
type Quoted struct {
	Sender string
	Text   string // as it was written
}

// Registry is how one platform shows things. It is filled by wiring code and not changed after it.
type Registry struct {
	expanders map[string]Expander
	renderers map[string]Renderer
	tools     map[string]ToolDisplay
	actions   map[string]Action
	problems  []error
}

// NewRegistry returns an empty registry: all elements are text, tools show their arguments, and there is no action.
func NewRegistry() *Registry {
	return &Registry{expanders: map[string]Expander{}, renderers: map[string]Renderer{}, tools: map[string]ToolDisplay{}, actions: map[string]Action{}}
}

// Expand registers an element that is written as CommonMark.
func (r *Registry) Expand(name string, x Expander) *Registry {
	return register(r, r.expanders, name, x)
}

// Render registers an element that is written in the platform's own markup.
func (r *Registry) Render(name string, x Renderer) *Registry {
	return register(r, r.renderers, name, x)
}

// Tool registers how a tool of that name is shown.
func (r *Registry) Tool(name string, x ToolDisplay) *Registry { return register(r, r.tools, name, x) }

// Action registers the button of an action.
func (r *Registry) Action(name string, x Action) *Registry { return register(r, r.actions, name, x) }

// Err joins what was wrong with registering: a name without a function, or registered twice.
func (r *Registry) Err() error { return errors.Join(r.problems...) }

func register[T Expander | Renderer | ToolDisplay | Action](r *Registry, into map[string]T, name string, x T) *Registry {
	if _, twice := into[name]; twice || x == nil || name == "" {
		r.problems = append(r.problems, fmt.Errorf("register %T %q: it has no name, no function, or was registered before", x, name))
		return r
	}
	into[name] = x
	return r
}

// Display writes a tool's call for a card.
func (r *Registry) Display(call ToolCall) (detail, result string) {
	if show, ok := r.tools[call.Name]; ok {
		return show(call)
	}
	return call.Arguments, call.Result
}

// Button makes the button of an action, or nil where the platform has none.
func (r *Registry) Button(action string, t locale.Texts, params map[string]string) *render.Button {
	make, ok := r.actions[action]
	if !ok {
		return nil
	}
	b := make(t, params)
	return &b
}
