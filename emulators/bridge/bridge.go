// Package bridge plays Pub/Sub's push delivery over the Pub/Sub emulator: it pulls each subscription and posts the standard push body
// to the function behind it. The emulator's own push is no use for a local stack, for it sends two requests at a time per
// subscription, ignores the retry policy and asks for new messages every 104 ms.
//
// It knows Pub/Sub and HTTP; it must not know what a message means or which functions exist.
package bridge

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"golang.org/x/sync/errgroup"
)

// Bridge delivers the messages of subscriptions to functions.
type Bridge struct {
	cfg  Config
	http *http.Client

	mu       sync.Mutex
	attempts map[string]int // attempts so far of messages that will come again, where the emulator does not count
}

// New returns a bridge that is not running yet.
func New(cfg Config) (*Bridge, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: cfg.Concurrency, IdleConnTimeout: time.Minute} // No proxy: functions are local.
	return &Bridge{cfg: cfg, attempts: map[string]int{}, http: &http.Client{
		Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // Pub/Sub follows no redirect.
		},
	}}, nil
}

// Run delivers until ctx ends, then pulls no more, waits for the requests in flight as long as Config.Grace, and returns nil. It fails
// when a subscription is missing or cannot be pulled. A message that waits for its next attempt goes back to the emulator, and comes
// again at once, or after a minute if the SDK, already stopping, had just received it a second time.
func (b *Bridge) Run(ctx context.Context, routes ...Route) error {
	defer b.http.CloseIdleConnections()
	lanes := make([]*lane, 0, len(routes))
	for _, r := range routes {
		l, err := b.lane(ctx, r)
		if err != nil {
			return err
		}
		lanes = append(lanes, l)
	}
	// Requests in flight outlive ctx by the grace, so they have a context of their own.
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	group, pull := errgroup.WithContext(ctx)
	stopGrace := context.AfterFunc(pull, func() {
		if b.cfg.Clock.Sleep(work, b.cfg.Grace) == nil {
			abandon()
		}
	})
	defer stopGrace()
	for _, l := range lanes {
		group.Go(func() error { return l.receive(pull, work) })
	}
	return group.Wait()
}

// lane is a route under way.
type lane struct {
	*Bridge
	subscription string
	url          string
	slots        chan struct{} // one for each request in flight
}

// lane looks the subscription up: a missing one is an error now rather than silence later.
func (b *Bridge) lane(ctx context.Context, r Route) (*lane, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	name := b.cfg.Client.Subscriber(r.Subscription).String()
	s, err := b.cfg.Client.SubscriptionAdminClient.GetSubscription(ctx, &pubsubpb.GetSubscriptionRequest{Subscription: name})
	if err != nil {
		return nil, fmt.Errorf("look up subscription %s: %w", name, err)
	}
	path := r.Path
	if path == "" {
		path = "/" + s.GetTopic()
	}
	return &lane{Bridge: b, subscription: name, url: r.URL + path, slots: make(chan struct{}, b.cfg.Concurrency)}, nil
}

func (l *lane) receive(pull, work context.Context) error {
	s := l.cfg.Client.Subscriber(l.subscription)
	s.ReceiveSettings.NumGoroutines = 1
	s.ReceiveSettings.MaxOutstandingMessages = outstanding
	s.ReceiveSettings.MaxExtension = 2*maxAckDeadline + l.cfg.MaxBackoff // A queue, a request and a wait are one possession to the emulator.
	err := s.Receive(pull, func(_ context.Context, m *pubsub.Message) { l.deliver(pull, work, m) })
	if err != nil {
		return fmt.Errorf("pull %s: %w", l.subscription, err)
	}
	return nil
}

// deliver makes one attempt and settles the message.
func (l *lane) deliver(pull, work context.Context, m *pubsub.Message) {
	attempt := l.attempt(m)
	fate := l.cfg.Chaos.fate(m.ID, attempt)
	err := l.attemptPush(pull, work, m, fate)
	if err == nil && fate.redeliver {
		err = fmt.Errorf("%w: chaos lost the acknowledgement", errNotAcknowledged)
	}
	if err == nil {
		l.forget(m)
		m.Ack()
		return
	}
	if pull.Err() == nil {
		wait := backoff(l.cfg.MinBackoff, l.cfg.MaxBackoff, attempt)
		l.cfg.Log.Warn("push failed", "subscription", l.subscription, "message", m.ID, "attempt", attempt, "wait", wait, "error", err)
		// The emulator redelivers a nacked message at once, whatever its retry policy says, so the wait is held here.
		_ = l.cfg.Clock.Sleep(pull, wait) // Ends early only when the bridge stops, and then the message goes back now.
	}
	m.Nack()
}

// attemptPush posts the message, and beside it the copy that chaos may ask for.
func (l *lane) attemptPush(pull, work context.Context, m *pubsub.Message, f fate) error {
	body, err := encode(l.subscription, m)
	if err != nil {
		return err
	}
	var twin sync.WaitGroup
	if f.duplicate {
		twin.Go(func() {
			if err := l.postLater(pull, work, body, f.delayOfCopy); err != nil {
				l.cfg.Log.Info("push of a duplicate failed", "subscription", l.subscription, "message", m.ID, "error", err)
			}
		})
	}
	defer twin.Wait()
	return l.postLater(pull, work, body, f.delay)
}

// postLater waits for the delay and for a free slot, then posts. A stopping bridge starts no request any more.
func (l *lane) postLater(pull, work context.Context, body []byte, delay time.Duration) error {
	if err := l.cfg.Clock.Sleep(pull, delay); err != nil {
		return err
	}
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-pull.Done():
		return pull.Err()
	}
	return l.post(work, l.url, body)
}

// attempt numbers the deliveries of a message from 1. With a dead-letter policy the emulator counts, and knows when to give up.
func (l *lane) attempt(m *pubsub.Message) int {
	if m.DeliveryAttempt != nil {
		return *m.DeliveryAttempt
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := l.subscription + "/" + m.ID
	l.attempts[key]++
	return l.attempts[key]
}

func (l *lane) forget(m *pubsub.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.attempts, l.subscription+"/"+m.ID)
}

// backoff is the wait after the given attempt: the shortest after the first, then doubling, never above the longest.
func backoff(shortest, longest time.Duration, attempt int) time.Duration {
	wait := shortest
	for i := 1; i < attempt && wait < longest; i++ {
		wait *= 2
	}
	return min(wait, longest)
}
