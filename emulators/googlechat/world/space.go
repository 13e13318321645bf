package world

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/time/rate"
	"google.golang.org/api/chat/v1"

	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/googlechat/wire"
)

// space is a room or a direct message with everything said in it. The server's mutex guards it; messages themselves never change.
type space struct {
	info     *chat.Space
	settings hook.Settings
	members  []string
	appIn    bool
	limiter  *rate.Limiter
	keep     int

	messages  []*wire.Message // by create time
	byName    map[string]*wire.Message
	byClient  map[string]string // client-assigned id → name
	byRequest map[string]string // request id of create → name
	requests  map[string]string // name → request id
	threads   map[string]int    // thread name → messages in it
	keys      map[string]string // thread key → thread name
}

func newSpace(p Place, opts Options, set hook.Settings, created string) *space {
	info := &chat.Space{
		Name: p.Name, DisplayName: p.DisplayName, Type: "ROOM", SpaceType: "SPACE", SpaceThreadingState: "THREADED_MESSAGES",
		SpaceHistoryState: "HISTORY_ON", CreateTime: created,
	}
	if p.Direct {
		info = &chat.Space{Name: p.Name, Type: "DM", SpaceType: "DIRECT_MESSAGE", SingleUserBotDm: true, SpaceHistoryState: "HISTORY_ON"}
	}
	return &space{
		info: info, settings: set, members: slices.Clone(p.Members), appIn: !p.WithoutApp,
		limiter: newLimiter(opts.WritesPerSecond), keep: opts.KeepMessages,
		byName: map[string]*wire.Message{}, byClient: map[string]string{}, byRequest: map[string]string{}, requests: map[string]string{},
		threads: map[string]int{}, keys: map[string]string{},
	}
}

func (sp *space) direct() bool { return sp.info.SingleUserBotDm }

// find returns a message by its own id or the app's, unless it was deleted.
func (sp *space) find(name string) (*wire.Message, error) {
	if own, ok := sp.byClient[strings.TrimPrefix(name, sp.info.Name+"/messages/")]; ok {
		name = own
	}
	m := sp.byName[name]
	if m == nil || m.DeleteTime != "" {
		return nil, wire.Errorf(http.StatusNotFound, "Message %q cannot be found.", name)
	}
	return m, nil
}

// add names the message, puts it into its thread (an empty name starts one) and stores it.
func (sp *space) add(m *wire.Message, thread, requestID string) {
	id := randomID(8)
	root := id
	if thread != "" {
		root = strings.TrimPrefix(thread, sp.info.Name+"/threads/")
	}
	m.Name = sp.info.Name + "/messages/" + root + "." + id
	m.Thread = &chat.Thread{Name: sp.info.Name + "/threads/" + root}
	m.ThreadReply = thread != ""
	m.Space = sp.info
	sp.messages = append(sp.messages, m)
	sp.byName[m.Name] = m
	sp.threads[m.Thread.Name]++
	if m.ClientAssignedMessageID != "" {
		sp.byClient[m.ClientAssignedMessageID] = m.Name
	}
	if requestID != "" {
		sp.byRequest[requestID], sp.requests[m.Name] = m.Name, requestID
	}
	for len(sp.messages) > sp.keep {
		sp.evict()
	}
}

// replace puts a changed copy in its place.
func (sp *space) replace(m *wire.Message) {
	i, found := slices.BinarySearchFunc(sp.messages, m.CreateTime, func(have *wire.Message, at string) int { return cmp.Compare(have.CreateTime, at) })
	if found {
		sp.messages[i] = m
		sp.byName[m.Name] = m
	}
}

// evict forgets the oldest message and all that led to it.
func (sp *space) evict() {
	old := sp.messages[0]
	sp.messages = slices.Delete(sp.messages, 0, 1)
	delete(sp.byName, old.Name)
	delete(sp.byClient, old.ClientAssignedMessageID)
	delete(sp.byRequest, sp.requests[old.Name])
	delete(sp.requests, old.Name)
	if sp.threads[old.Thread.Name]--; sp.threads[old.Thread.Name] <= 0 {
		delete(sp.threads, old.Thread.Name)
		for key, thread := range sp.keys {
			if thread == old.Thread.Name {
				delete(sp.keys, key)
			}
		}
	}
}

// landing decides the thread of a new message from the app: its name, or "" for a new one. A key that is new is remembered by the caller.
func (sp *space) landing(want *chat.Thread, option string) (thread, newKey string, err error) {
	if want == nil || sp.direct() {
		return "", "", nil
	}
	switch option {
	case "", "MESSAGE_REPLY_OPTION_UNSPECIFIED":
		return "", "", nil // the thread is ignored, as documented
	case "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD", "REPLY_MESSAGE_OR_FAIL":
	default:
		return "", "", wire.Errorf(http.StatusBadRequest, "Invalid value at 'message_reply_option': %q", option)
	}
	switch {
	case want.Name != "" && sp.threads[want.Name] > 0:
		return want.Name, "", nil
	case want.Name != "" && option == "REPLY_MESSAGE_OR_FAIL":
		return "", "", wire.Errorf(http.StatusNotFound, "Thread %q cannot be found.", want.Name)
	case want.ThreadKey != "" && sp.keys[want.ThreadKey] != "":
		return sp.keys[want.ThreadKey], "", nil
	default:
		return "", want.ThreadKey, nil
	}
}
