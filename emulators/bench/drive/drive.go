// Package drive plays Google Chat towards the whole of Kesoku: clients write, call the webhook and wait for their replies, while a model that
// repeats what it is asked tells which messages a reply answers.
//
// It may know the stack, the stand-ins and the public protocols; it must not know how functions work inside, nor what is reported.
package drive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"kesoku.dev/emulators/googlechat"
	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/googlechat/signer"
	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/emulators/stack"
	"kesoku.dev/shared/testenv/emulator"
)

const (
	// answerWithin is how long a client waits for a reply: long enough for a wake-up that is redelivered three times.
	answerWithin = 90 * time.Second
	// ackWithin is how long Google Chat waits for the webhook.
	ackWithin = 30 * time.Second

	// maxAnswer bounds what is read of the webhook's answer, in bytes.
	maxAnswer = 1 << 20

	audience      = "https://kesoku.example/bench"
	projectNumber = "210987654321"
	addOnAccount  = "service-" + projectNumber + "@gcp-sa-gsuiteaddons.iam.gserviceaccount.com"
)

// Options say what is driven. All but the logs must be set.
type Options struct {
	// Command starts a function as a process, told by FUNCTION_TARGET and PORT which and where.
	Command   []string
	Emulators *emulator.Pair    // used and not stopped
	Config    map[string]string // Kesoku's configuration files by name

	Model   time.Duration // how long the model takes to answer
	Clients int           // people there are
	Spaces  int           // that they write in
	Quota   bool          // the stand-in refuses more than one write a second in a space, as Google does

	FunctionLog io.Writer    // takes what the functions print; nil is nobody
	Log         *slog.Logger // the stack's own; nil is nobody
}

// Driver drives one stack. The Chat stand-in keeps the spaces and takes the replies, but its own sender is not used: it makes a connection
// and a signature for each event, which would be measured too.
type Driver struct {
	Stack *stack.Stack

	spaces []string
	people []string
	bearer string
	http   *http.Client

	servers []*http.Server
	serving sync.WaitGroup
	turn    int // of the next message's space
}

// Start runs a stack in a project of its own, without sweeps: they would find what got lost, which is to be seen here. Stop it.
func Start(ctx context.Context, o Options) (*Driver, error) {
	keys, err := signer.New(signer.IssuerOIDC, time.Now)
	if err != nil {
		return nil, err
	}
	bearer, err := keys.Token(audience, addOnAccount)
	if err != nil {
		return nil, err
	}
	d := &Driver{bearer: bearer, http: &http.Client{
		Timeout: ackWithin, Transport: &http.Transport{MaxIdleConnsPerHost: o.Clients}, // no proxy: the webhook is local
	}}
	if err := d.startStack(ctx, o, keys); err != nil {
		d.Stop()
		return nil, err
	}
	return d, nil
}

// startStack starts the stack with the driver's keys and model in the stand-ins' place.
func (d *Driver) startStack(ctx context.Context, o Options, keys http.Handler) error {
	certs, errCerts := d.serve(ctx, keys)
	model, errModel := d.serve(ctx, echo{o.Model})
	if err := errors.Join(errCerts, errModel); err != nil {
		return err
	}
	var err error
	d.Stack, err = stack.Start(ctx, stack.Options{
		Command: o.Command, Project: "bench-" + uuid.NewString()[:18], Emulators: o.Emulators, Config: o.Config, Chat: d.populate(o),
		Env: []string{
			"CHAT_PROJECT_NUMBER=" + projectNumber, "CHAT_AUDIENCE=" + audience, "GOOGLE_CERTS_URL=" + certs, "GEMINI_BASE_URL=" + model,
		},
		Sweep:       -1, // none
		FunctionLog: o.FunctionLog, Log: o.Log,
	})
	if err != nil {
		return err
	}
	d.Stack.Chat.SetWebhook(hook.Webhook{})
	return nil
}

// Stop ends the stack and everything beside it.
func (d *Driver) Stop() {
	if d.Stack != nil {
		d.Stack.Stop()
	}
	for _, s := range d.servers {
		_ = s.Close() // nobody calls them any more
	}
	d.serving.Wait()
	d.http.CloseIdleConnections()
}

// serve runs a server until the driver is stopped and returns its URL.
func (d *Driver) serve(ctx context.Context, h http.Handler) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: ackWithin}
	d.servers = append(d.servers, server)
	d.serving.Go(func() { _ = server.Serve(l) }) // ends when it is closed
	return "http://" + l.Addr().String(), nil
}

// populate makes one person a client, and rooms with all of them.
func (d *Driver) populate(o Options) googlechat.Options {
	c := googlechat.Options{WritesPerSecond: -1}
	if o.Quota {
		c.WritesPerSecond = 0 // Google's own
	}
	for i := range o.Clients {
		who := world.Person{Name: fmt.Sprintf("users/20000000000000%07d", i), DisplayName: fmt.Sprintf("Client %d", i), Locale: "en"}
		c.People = append(c.People, who)
		d.people = append(d.people, who.Name)
	}
	for i := range o.Spaces {
		name := fmt.Sprintf("spaces/AAQAbench%06d", i)
		c.Places = append(c.Places, world.Place{Name: name, DisplayName: fmt.Sprintf("Bench %d", i), Members: d.people})
		d.spaces = append(d.spaces, name)
	}
	return c
}

// round is one run of the clients over one ledger.
type round struct {
	*Driver
	ledger *ledger

	mu   sync.Mutex
	left int
	all  []*sample
}

// Drive lets that many clients at once write that many messages, the spaces in turn, each writing again once its last message is answered. It
// returns when all are, or are given up.
func (d *Driver) Drive(ctx context.Context, messages, clients int) (Outcome, error) {
	r := &round{Driver: d, ledger: newLedger(), left: messages}
	listening, stop := context.WithCancel(ctx)
	defer stop()
	changes := d.Stack.Chat.Subscribe(listening)
	heard := make(chan error, 1)
	go func() { heard <- r.listen(listening, changes) }()
	work, ctx := errgroup.WithContext(ctx)
	for n := range min(clients, messages) {
		work.Go(func() error { return r.client(ctx, d.people[n%len(d.people)]) })
	}
	err := work.Wait()
	stop()
	if err := errors.Join(err, <-heard); err != nil {
		return Outcome{}, err
	}
	return outcomeOf(r.all, r.ledger.answeredTurns()), nil
}

// listen takes in what the Chat API gets from the app.
func (r *round) listen(ctx context.Context, changes <-chan world.Change) error {
	for c := range changes {
		m := c.Message
		if m == nil || m.Sender.Type != "BOT" || m.Text == "" {
			continue
		}
		at, err := time.Parse(wire.TimeFormat, m.CreateTime)
		if err != nil {
			return fmt.Errorf("time of message %s: %w", m.Name, err)
		}
		if err := r.ledger.reply(c.Space, m.Text, at); err != nil {
			return err
		}
	}
	if ctx.Err() == nil {
		return errors.New("the feed of the Chat stand-in was closed: the driver fell behind")
	}
	return nil
}

// client writes and waits for the reply, again and again, until nothing is left to write.
func (r *round) client(ctx context.Context, who string) error {
	for {
		name, s, ok := r.take()
		if !ok {
			return nil
		}
		if err := r.write(ctx, who, name, s); err != nil {
			return err
		}
		patience := time.NewTimer(answerWithin)
		select {
		case <-s.answered:
		case <-patience.C:
			r.giveUp()
		case <-ctx.Done():
			return ctx.Err()
		}
		patience.Stop()
	}
}

// take is the next message to write.
func (r *round) take() (string, *sample, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left == 0 {
		return "", nil, false
	}
	r.left--
	name, s := r.ledger.add(r.spaces[r.turn%len(r.spaces)])
	r.turn++
	r.all = append(r.all, s)
	return name, s, true
}

// giveUp ends the round early: where one message got lost others will, and each costs the whole wait.
func (r *round) giveUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = 0
}

// write posts one message and calls the webhook with it. An answer other than success leaves the message not acknowledged.
func (r *round) write(ctx context.Context, who, name string, s *sample) error {
	s.posted = time.Now()
	m, err := r.Stack.Chat.Post(world.Post{User: who, Space: s.space, Text: "@" + r.Stack.Chat.App().DisplayName + " please repeat " + name})
	if err != nil {
		return fmt.Errorf("post in %s: %w", s.space, err)
	}
	event := wire.Interaction{Kind: wire.KindMessage, At: m.CreateTime, User: m.Sender, Locale: "en", Space: m.Space, Message: m}
	body, err := event.Body(wire.FormAddOn)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Stack.URLs.Webhook, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("call the webhook: %w", err)
	}
	req.Header.Set("Content-Type", "application/json; charset=UTF-8")
	req.Header.Set("Authorization", "Bearer "+r.bearer)
	s.sent = time.Now()
	resp, err := r.http.Do(req)
	if err != nil {
		return fmt.Errorf("call the webhook: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)); err != nil {
		return fmt.Errorf("read the webhook's answer: %w", err)
	}
	if resp.StatusCode/100 == 2 {
		s.acked = time.Now()
	}
	return nil
}
