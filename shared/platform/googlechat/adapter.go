// Package googlechat speaks to Google Chat as the app: it posts messages and cards and edits them, fetches files, and looks up what a channel
// is and what was said in it. It knows posts and cards; it must not know sessions or stores. What comes in is read by its packages token and
// webhook, which do without the SDK; package subscription asks for what does not come by itself.
package googlechat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	chatapi "google.golang.org/api/chat/v1"
	"google.golang.org/api/option"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/platform/googlechat/internal/fault"
	"kesoku.dev/shared/platform/googlechat/internal/names"
	"kesoku.dev/shared/render"
)

// Platform is the name of the platform in events, and the chatbot_id of its messages.
const Platform = names.Platform

const (
	// maxBytes is the budget of one text. Google's documented bound is 32,000 bytes for the whole message, but installations have
	// been seen to refuse texts over 4,096 characters: half of this budget, to which a refused text is cut again, passes there too.
	maxBytes = 8_000
	// writeEvery keeps to Google's quota of one write a second in each space.
	writeEvery = time.Second
	// callTimeout bounds one call: the client has no bound of its own.
	callTimeout = 30 * time.Second

	maxClientID = 63 // bytes, by Google's rule

	replyOrNewThread = "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD"
	// syntaxChat says which markup texts are in, for the default of a new app is another.
	syntaxChat = "MARKUP_SYNTAX_CHAT"
)

// ErrTooLarge says that a file has more bytes than the caller takes. It is permanent.
var ErrTooLarge = errors.New("file too large")

// Config is what an Adapter needs to know.
type Config struct {
	Endpoint string // of the Chat API; empty for Google's own
	// ActionURL is the webhook's URL, for an app that is an add-on: its buttons call it. Empty for a classic app.
	ActionURL string
	// AppUser is the app's own user ("users/123"), by which it knows its messages in a channel's history. Empty where it is not known: then
	// only those that it named itself are known.
	AppUser string
}

// Adapter posts to Google Chat as the app. It keeps no state and is safe for concurrent use.
type Adapter struct {
	config  Config
	service *chatapi.Service // scope chat.bot, which every Chat app has
	// reader has the scope chat.app.messages.readonly, which an administrator must approve: asked for together, a missing approval
	// could cost the right to post.
	reader *chatapi.Service
}

var _ platform.Adapter = (*Adapter)(nil)

// New returns an adapter with the application's default credentials, unless options say otherwise.
func New(ctx context.Context, c Config, opts ...option.ClientOption) (*Adapter, error) {
	if c.Endpoint != "" {
		opts = append([]option.ClientOption{option.WithEndpoint(strings.TrimSuffix(c.Endpoint, "/") + "/")}, opts...)
	}
	client := func(scope string) (*chatapi.Service, error) {
		return chatapi.NewService(ctx, append([]option.ClientOption{option.WithScopes(scope)}, opts...)...)
	}
	service, errService := client(chatapi.ChatBotScope)
	reader, errReader := client(chatapi.ChatAppMessagesReadonlyScope)
	if err := errors.Join(errService, errReader); err != nil {
		return nil, fmt.Errorf("google chat client: %w", err)
	}
	return &Adapter{config: c, service: service, reader: reader}, nil
}

// Features implements platform.Adapter.
func (a *Adapter) Features() platform.Features {
	return platform.Features{Edit: true, Threads: true, Steps: true, MaxBytes: maxBytes, Every: writeEvery}
}

// Dialect implements platform.Adapter.
func (a *Adapter) Dialect() render.Dialect { return render.GoogleChat{} }

// Create implements platform.Adapter. A message that stands already, under the same key or the same id, is returned as it is.
func (a *Adapter) Create(ctx context.Context, p platform.Post) (platform.Posted, error) {
	op := fmt.Sprintf("create message %s in %s", p.ID, p.To.ChannelID)
	if !names.IsSpace(p.To.ChannelID) || p.Key == "" {
		return platform.Posted{}, errs.Permanentf("%s: bad channel, or no key", op)
	}
	m, err := a.message(p)
	if err != nil {
		return platform.Posted{}, errs.Permanentf("%s: %w", op, err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	call := a.service.Spaces.Messages.Create(p.To.ChannelID, m).RequestId(p.Key).Context(ctx)
	if p.ID != "" {
		call.MessageId(clientID(p.ID))
	}
	if m.Thread != nil {
		call.MessageReplyOption(replyOrNewThread)
	}
	made, err := call.Do()
	if p.ID != "" && fault.Code(err) == http.StatusConflict {
		made, err = a.service.Spaces.Messages.Get(resource(p.To.ChannelID, p.ID)).Context(ctx).Do()
	}
	if err != nil {
		return platform.Posted{}, fmt.Errorf("%s: %w", op, createFault(err, len(p.Text)))
	}
	posted := platform.Posted{MessageID: made.Name}
	if made.Thread != nil {
		posted.ThreadID = made.Thread.Name
	}
	return posted, nil
}

func (a *Adapter) message(p platform.Post) (*chatapi.Message, error) {
	m := &chatapi.Message{Text: p.Text}
	if p.Text != "" {
		m.MarkupSyntax = syntaxChat
	}
	if p.To.ThreadID != "" {
		if !names.IsThreadOf(p.To.ChannelID, p.To.ThreadID) {
			return nil, fmt.Errorf("thread %.100q is not of this channel", p.To.ThreadID)
		}
		m.Thread = &chatapi.Thread{Name: p.To.ThreadID}
	}
	if p.Card == nil {
		if p.Text == "" {
			return nil, errors.New("neither text nor card")
		}
		return m, nil
	}
	text, err := size(p.Text)
	if err != nil {
		return nil, err
	}
	m.FallbackText = cut(p.Card.Title, maxTitle)
	m.CardsV2, err = a.card(p.Card, maxMessage-text-maxTitle)
	return m, err
}

// Edit implements platform.Adapter.
func (a *Adapter) Edit(ctx context.Context, channelID, id string, card *render.Card) error {
	op := fmt.Sprintf("edit message %s in %s", id, channelID)
	if !names.IsSpace(channelID) || id == "" || card == nil {
		return errs.Permanentf("%s: bad channel, no id, or no card", op)
	}
	cards, err := a.card(card, maxMessage)
	if err != nil {
		return errs.Permanentf("%s: %w", op, err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err = a.service.Spaces.Messages.Patch(resource(channelID, id), &chatapi.Message{CardsV2: cards}).
		UpdateMask("cards_v2").Context(ctx).Do()
	if err != nil {
		return fmt.Errorf("%s: %w", op, fault.Of(err))
	}
	return nil
}

// Download opens the file that an attachment's Source names. Reading more than limit bytes of it is ErrTooLarge. Only files uploaded to
// Chat can be had: those in Drive need the person's own permission. The caller closes the reader; ctx holds until then.
func (a *Adapter) Download(ctx context.Context, source string, limit int64) (io.ReadCloser, error) {
	name, ok := names.Uploaded(source)
	if !ok {
		return nil, errs.Permanentf("download %.100q: not a file uploaded to Google Chat", source)
	}
	resp, err := a.service.Media.Download(name).Context(ctx).Download()
	if err != nil {
		return nil, fmt.Errorf("download %.100q: %w", source, fault.Of(err))
	}
	if resp.ContentLength > limit {
		return nil, errors.Join(errs.Permanentf("download %.100q of %d bytes: %w", source, resp.ContentLength, ErrTooLarge), resp.Body.Close())
	}
	return &limited{body: resp.Body, left: limit}, nil
}

// limited fails, rather than ends, where a body is longer than said.
type limited struct {
	body io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (l *limited) Read(b []byte) (int, error) {
	n, err := l.body.Read(b[:min(int64(len(b)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return 0, errs.Permanent(ErrTooLarge)
	}
	return n, err
}

// Close implements io.Closer.
func (l *limited) Close() error { return l.body.Close() }

var clientIDChars = regexp.MustCompile(`^[a-z0-9-]+$`)

// clientID is the id that a post goes by at Google: its own where the rules for those allow, else a hash of it.
func clientID(id string) string {
	if len(names.ClientPrefix)+len(id) > maxClientID || !clientIDChars.MatchString(id) {
		id = chat.Hash(id)[:40]
	}
	return names.ClientPrefix + id
}

func resource(channelID, id string) string { return channelID + "/messages/" + clientID(id) }
