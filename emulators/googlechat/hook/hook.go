// Package hook calls an app's webhook as Google does: signed, with a time limit, several times when asked, and remembers how it went.
// It knows the events' forms and nothing of spaces and people.
package hook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"kesoku.dev/emulators/googlechat/signer"
	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/shared/clock"
)

const (
	answerTime    = 30 * time.Second // how long Google waits for an answer
	maxDeliveries = 500              // remembered
	maxAnswer     = 1 << 20          // bytes read of an answer
	firstRetry    = 10 * time.Second // doubled each time, as the app's own subscriptions do at least
)

// Delivery is one call of the app's webhook, made or under way.
type Delivery struct {
	ID      int64     `json:"id"`
	Space   string    `json:"space"`
	Kind    string    `json:"kind"` // "MESSAGE", …, or the type of a space event
	Copy    int       `json:"copy"`
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"`
	Done    bool      `json:"done"`
	Status  int       `json:"status,omitempty"` // of the answer; 0 when there was none
	Error   string    `json:"error,omitempty"`
	Millis  int64     `json:"millis"`
}

// call is one event on its way.
type call struct {
	space    string
	kind     string
	url      string
	audience string
	email    string
	signer   *signer.Signer
	body     []byte
	timeout  time.Duration
	retries  int
	acked    func(status int) bool
}

// Webhook is where the app listens, and who it expects to call.
type Webhook struct {
	URL string // empty sends nothing
	// Audience of OIDC tokens; default URL.
	Audience      string
	ProjectNumber string // audience of Chat's own tokens, and part of the add-on service account's name
	// PushURL receives space events; default URL. PushAudience defaults to it.
	PushURL            string
	PushAudience       string
	PushServiceAccount string
	Timeout            time.Duration // default 30 s
}

// Settings say how one space's events are sent.
type Settings struct {
	Form wire.Form `json:"form"` // default add-on
	// EndpointAudience makes classic events carry an OIDC token for the endpoint's URL instead of Chat's own for the project.
	EndpointAudience bool `json:"endpoint_audience"`
	// SpaceEvents pushes every message of the space to the app, as if it had a subscription; beside those that it has.
	SpaceEvents bool `json:"space_events"`
	// Copies is how often each event is sent at the same time, 1 to 10; Retries is how often a failed delivery is sent again, up to 10.
	Copies  int `json:"copies"`
	Retries int `json:"retries"`
}

// Checked returns the settings with their defaults filled in, or an error.
func (set Settings) Checked() (Settings, error) {
	if set.Form == "" {
		set.Form = wire.FormAddOn
	}
	if set.Copies == 0 {
		set.Copies = 1
	}
	if (set.Form != wire.FormAddOn && set.Form != wire.FormClassic) || set.Copies < 0 || set.Copies > 10 || set.Retries < 0 || set.Retries > 10 {
		return set, wire.Errorf(http.StatusBadRequest, "settings %+v are not valid: form classic or addon, copies 1 to 10, retries 0 to 10", set)
	}
	return set, nil
}

// Sender makes the calls.
type Sender struct {
	log     *slog.Logger
	clock   clock.Clock
	changed func(Delivery)
	client  *http.Client
	chat    *signer.Signer
	oidc    *signer.Signer

	life   context.Context
	cancel context.CancelFunc
	sends  sync.WaitGroup

	mu         sync.Mutex
	webhook    Webhook
	deliveries []Delivery
	nextID     int64
}

// New makes a Sender with fresh keys. changed is called for every delivery that begins or ends, one at a time.
func New(w Webhook, c clock.Clock, log *slog.Logger, changed func(Delivery)) (*Sender, error) {
	s := &Sender{log: log, clock: c, changed: changed, client: &http.Client{}}
	var err1, err2 error
	s.chat, err1 = signer.New(signer.IssuerChat, c.Now)
	s.oidc, err2 = signer.New(signer.IssuerOIDC, c.Now)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	s.life, s.cancel = context.WithCancel(context.Background())
	s.SetWebhook(w)
	return s, nil
}

// SetWebhook changes where the app listens.
func (s *Sender) SetWebhook(w Webhook) {
	if w.Timeout <= 0 {
		w.Timeout = answerTime
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.webhook = w
}

// Keys serve the JWK sets that check Chat's own tokens and the OIDC ones.
func (s *Sender) Keys() (chat, oidc http.Handler) { return s.chat, s.oidc }

// Close stops the calls and waits until they have ended.
func (s *Sender) Close() {
	s.mu.Lock() // so that no call starts after this
	s.cancel()
	s.mu.Unlock()
	s.sends.Wait()
}

// Deliveries returns the last calls of the webhook, oldest first.
func (s *Sender) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.deliveries)
}

// Interaction tells the app of what a person did. It does not wait for the answer.
func (s *Sender) Interaction(set Settings, event *wire.Interaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.webhook
	if w.URL == "" {
		return
	}
	body, err := event.Body(set.Form)
	if err != nil {
		s.log.Error("event not sent", "space", event.Space.Name, "error", err)
		return
	}
	c := call{
		space: event.Space.Name, kind: string(event.Kind), url: w.URL, audience: cmp.Or(w.Audience, w.URL), signer: s.oidc, body: body,
		timeout: w.Timeout, retries: set.Retries, acked: func(status int) bool { return status/100 == 2 },
	}
	switch {
	case set.Form == wire.FormAddOn:
		c.email = fmt.Sprintf("service-%s@gcp-sa-gsuiteaddons.iam.gserviceaccount.com", w.ProjectNumber)
	case set.EndpointAudience:
		c.email = signer.IssuerChat
	default:
		c.signer, c.audience = s.chat, w.ProjectNumber
	}
	s.send(c, set.Copies)
}

// SpaceEvent pushes a space event, where the settings ask for it. It does not wait for the answer.
func (s *Sender) SpaceEvent(set Settings, event *wire.SpaceEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.webhook
	target := cmp.Or(w.PushURL, w.URL)
	if !set.SpaceEvents || target == "" {
		return
	}
	event.Subscription = "projects/" + cmp.Or(w.ProjectNumber, "local") + "/subscriptions/chat-messages-push"
	body, err := event.Push()
	if err != nil {
		s.log.Error("space event not sent", "space", event.Space, "error", err)
		return
	}
	acks := []int{102, 200, 201, 202, 204} // what Pub/Sub takes for an acknowledgement
	s.send(call{
		space: event.Space, kind: event.Type, url: target, audience: cmp.Or(w.PushAudience, target), email: w.PushServiceAccount, signer: s.oidc,
		body: body, timeout: w.Timeout, retries: set.Retries, acked: func(status int) bool { return slices.Contains(acks, status) },
	}, set.Copies)
}

// Project is the number of the app's project.
func (s *Sender) Project() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.webhook.ProjectNumber, "local")
}

// AuthorizePush signs the token of a Pub/Sub push to the webhook into a request.
func (s *Sender) AuthorizePush(r *http.Request) error {
	s.mu.Lock()
	w := s.webhook
	s.mu.Unlock()
	token, err := s.oidc.Token(cmp.Or(w.PushAudience, w.PushURL, w.URL), w.PushServiceAccount)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// send starts the copies of a call. The caller holds mu.
func (s *Sender) send(c call, copies int) {
	if s.life.Err() != nil {
		return
	}
	for n := range copies {
		s.sends.Go(func() { s.try(c, n+1) })
	}
}

// try makes a call until it is acknowledged or its retries are used up.
func (s *Sender) try(c call, n int) {
	wait := firstRetry
	for attempt := 1; ; attempt++ {
		d := s.record(Delivery{Space: c.space, Kind: c.kind, Copy: n, Attempt: attempt, At: s.clock.Now()})
		start := time.Now()
		status, err := s.post(c)
		d.Done, d.Status, d.Millis = true, status, time.Since(start).Milliseconds()
		if err != nil {
			d.Error = err.Error()
		}
		s.record(d)
		if (err == nil && c.acked(status)) || attempt > c.retries || s.clock.Sleep(s.life, wait) != nil {
			return
		}
		wait *= 2
	}
}

// post makes one call and returns the status of the answer.
func (s *Sender) post(c call) (int, error) {
	ctx, cancel := context.WithTimeout(s.life, c.timeout)
	defer cancel()
	token, err := c.signer.Token(c.audience, c.email)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(c.body))
	if err != nil {
		return 0, fmt.Errorf("call %s: %w", c.url, err)
	}
	req.Header.Set("Content-Type", "application/json; charset=UTF-8")
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("User-Agent", "Google-Dynamite")
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("call %s with %s: %w", c.url, c.kind, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)); err != nil {
		return resp.StatusCode, fmt.Errorf("read the answer of %s: %w", c.url, err)
	}
	return resp.StatusCode, nil
}

// record stores a delivery, new or known, and publishes it.
func (s *Sender) record(d Delivery) Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.ID == 0 {
		s.nextID++
		d.ID = s.nextID
		s.deliveries = append(s.deliveries, d)
		s.deliveries = s.deliveries[max(0, len(s.deliveries)-maxDeliveries):]
	} else if i := slices.IndexFunc(s.deliveries, func(have Delivery) bool { return have.ID == d.ID }); i >= 0 {
		s.deliveries[i] = d
	}
	s.changed(d)
	return d
}
