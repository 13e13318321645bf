package world

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/api/chat/v1"

	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/googlechat/wire"
)

// feedBuffer is how many changes a reader may be behind before its feed is closed.
const feedBuffer = 1024

// Change is one thing that changed. Message, Delivery or neither is set; with neither, the space itself changed.
type Change struct {
	Space    string
	Message  *wire.Message // also when deleted: then it has a DeleteTime
	Delivery *hook.Delivery
}

type feed struct {
	mu      sync.Mutex
	readers map[chan Change]struct{}
}

// Subscribe returns the changes from now on. The channel is closed when ctx ends, or when its reader has fallen too far behind: then
// subscribe again and read everything anew.
func (w *World) Subscribe(ctx context.Context) <-chan Change {
	ch := make(chan Change, feedBuffer)
	f := &w.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readers == nil {
		f.readers = map[chan Change]struct{}{}
	}
	f.readers[ch] = struct{}{}
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.drop(ch)
	})
	return ch
}

func (f *feed) publish(c Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ch := range f.readers {
		select {
		case ch <- c:
		default:
			f.drop(ch)
		}
	}
}

// drop closes a reader's channel once.
func (f *feed) drop(ch chan Change) {
	if _, ok := f.readers[ch]; ok {
		delete(f.readers, ch)
		close(ch)
	}
}

// SpaceView is a space as it can be looked at.
type SpaceView struct {
	Space    *chat.Space
	Members  []string // resource names
	AppIn    bool
	Settings hook.Settings
}

// App returns the app itself.
func (w *World) App() Person { return w.opts.App }

// People returns everybody but the app.
func (w *World) People() []Person {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]Person, 0, len(w.order))
	for _, name := range w.order[1:] {
		all = append(all, *w.people[name])
	}
	return all
}

// Spaces returns all spaces, in the order in which they were made.
func (w *World) Spaces() []SpaceView {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]SpaceView, 0, len(w.places))
	for _, name := range w.places {
		sp := w.spaces[name]
		all = append(all, SpaceView{Space: sp.info, Members: slices.Clone(sp.members), AppIn: sp.appIn, Settings: sp.settings})
	}
	return all
}

// Messages returns the last messages of a space, oldest first, at most limit, deleted ones included. An unknown space has none.
func (w *World) Messages(space string, limit int) []*wire.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	sp := w.spaces[space]
	if sp == nil {
		return nil
	}
	return slices.Clone(sp.messages[max(0, len(sp.messages)-limit):])
}
