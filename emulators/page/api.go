package page

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"kesoku.dev/emulators/googlechat/fault"
	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/googlechat/media"
	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/emulators/googlechat/world"
)

const (
	maxBody  = 8 << 20 // bytes of a request: a file of 5 MiB in base64, and some text
	readBack = 200     // messages of a space that the page begins with
)

// answer reads a JSON request into In, calls do, and writes what it returns.
func answer[In any](do func(*http.Request, *In) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := read(w, r, &in); err != nil {
			write(w, nil, err)
			return
		}
		out, err := do(r, &in)
		write(w, out, err)
	}
}

func read(w http.ResponseWriter, r *http.Request, in any) error {
	if r.Method != http.MethodPost {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return wire.Errorf(http.StatusBadRequest, "the content type must be application/json")
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(in); err != nil {
		return wire.Errorf(http.StatusBadRequest, "read the request: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return wire.Errorf(http.StatusBadRequest, "the request has more than one value")
	}
	return nil
}

func write(w http.ResponseWriter, out any, err error) {
	code := http.StatusOK
	if err != nil {
		var e *wire.Error
		if !errors.As(err, &e) {
			e = wire.Errorf(http.StatusInternalServerError, "%v", err)
		}
		code, out = e.Code, map[string]any{"error": e}
	}
	if out == nil {
		out = struct{}{}
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(out) // the browser has gone, there is nobody left to tell
}

type postRequest struct {
	Space  string `json:"space"`
	User   string `json:"user"`
	Text   string `json:"text"`
	Thread string `json:"thread"`
	Quote  string `json:"quote"`
	Files  []struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Data []byte `json:"data"` // base64
	} `json:"files"`
}

func (p *page) post(_ *http.Request, in *postRequest) (any, error) {
	post := world.Post{Space: in.Space, User: in.User, Text: in.Text, Thread: in.Thread, Quote: in.Quote}
	for _, f := range in.Files {
		post.Files = append(post.Files, media.Upload{Name: f.Name, Type: f.Type, Data: f.Data})
	}
	return p.chat.Post(post)
}

type messageRequest struct {
	User    string `json:"user"`
	Message string `json:"message"`
	Text    string `json:"text"`
}

func (p *page) edit(_ *http.Request, in *messageRequest) (any, error) {
	return p.chat.Edit(in.User, in.Message, in.Text)
}

func (p *page) remove(_ *http.Request, in *messageRequest) (any, error) {
	return nil, p.chat.Delete(in.User, in.Message)
}

type clickRequest struct {
	User       string            `json:"user"`
	Message    string            `json:"message"`
	Function   string            `json:"function"`
	Parameters map[string]string `json:"parameters"`
}

func (p *page) click(_ *http.Request, in *clickRequest) (any, error) {
	return nil, p.chat.Click(world.Click{User: in.User, Message: in.Message, Function: in.Function, Parameters: in.Parameters})
}

type commandRequest struct {
	Space  string `json:"space"`
	User   string `json:"user"`
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Text   string `json:"text"`
	Thread string `json:"thread"`
}

func (p *page) command(_ *http.Request, in *commandRequest) (any, error) {
	return p.chat.Command(world.Command{Space: in.Space, User: in.User, ID: in.ID, Name: in.Name, Text: in.Text, Thread: in.Thread})
}

type appRequest struct {
	Space string `json:"space"`
	User  string `json:"user"`
	In    bool   `json:"in"`
}

func (p *page) setApp(_ *http.Request, in *appRequest) (any, error) {
	return nil, p.chat.SetApp(in.Space, in.User, in.In)
}

type settingsRequest struct {
	Space    string        `json:"space"`
	Settings hook.Settings `json:"settings"`
}

func (p *page) settings(_ *http.Request, in *settingsRequest) (any, error) {
	return nil, p.chat.Configure(in.Space, in.Settings)
}

func (p *page) listFaults(*http.Request, *struct{}) (any, error) {
	return map[string][]fault.Fault{"faults": p.chat.Faults()}, nil
}

func (p *page) addFault(r *http.Request, in *fault.Fault) (any, error) {
	if err := p.chat.Inject(*in); err != nil {
		return nil, err
	}
	return p.listFaults(r, nil)
}

func (p *page) clearFaults(r *http.Request, _ *struct{}) (any, error) {
	p.chat.ClearFaults()
	return p.listFaults(r, nil)
}

// media sends an attachment to be saved, never to be shown: what people upload must not run on this page.
func (p *page) media(w http.ResponseWriter, r *http.Request) {
	file, err := p.chat.Media(r.PathValue("resource"))
	if err != nil {
		write(w, nil, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": file.Name}))
	_, _ = w.Write(file.Data) // the browser has gone, there is nobody left to tell
}
