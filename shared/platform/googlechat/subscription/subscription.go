// Package subscription sees to it that a space is heard in full where that is wanted: Google Chat by itself brings an app only what mentions
// it. It keeps the app's subscription at the Workspace Events API as a record says, and the record as the API says. It knows the API and the
// record; it must not know stores, nor what the events that come of it mean.
//
// What the API is like is from the SDK (google.golang.org/api/workspaceevents/v1) and from developers.google.com/workspace/events/guides
// (create-subscription, update-subscription, events-lifecycle, auth):
//   - An app may subscribe to a space that it is a member of, by the scope chat.app.messages.readonly, once an administrator has approved it.
//   - There is one subscription of an app to a space; another is refused with ALREADY_EXISTS, and a list by type and target finds the one.
//   - With the message in the event a subscription lives for 4 hours, without it for 7 days; a ttl of 0 means the longest that is allowed. The
//     message is asked for: a renewal each two hours costs less than a read for each message, which the same approval would allow.
//   - A subscription that lapses is gone. One that is suspended delivers nothing until it is reactivated, which helps only if the cause is
//     mended.
//   - Writes answer with an operation that may not be done yet.
package subscription

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	api "google.golang.org/api/workspaceevents/v1"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/listen"
	"kesoku.dev/shared/platform/googlechat/internal/fault"
	"kesoku.dev/shared/platform/googlechat/internal/names"
)

const (
	callTimeout = 20 * time.Second
	// retryIn is when a call that failed for the time is made again, at the earliest: with the next sweep.
	retryIn = time.Minute
	// askAgain is when what was refused is asked for again.
	askAgain = time.Hour

	target    = "//chat.googleapis.com/"
	active    = "ACTIVE"
	suspended = "SUSPENDED"
	created   = "google.workspace.chat.message.v1.created"
	longest   = "0s"
)

// events are what is asked for. That several of one kind may come as one, a batch, needs no asking.
var events = []string{created, "google.workspace.chat.message.v1.updated", "google.workspace.chat.message.v1.deleted"}

var topicName = regexp.MustCompile(`^projects/[a-z0-9:.-]{4,80}/topics/[A-Za-z][A-Za-z0-9._~+%-]{2,254}$`)

// Config is what a Client needs to know.
type Config struct {
	Endpoint string // of the Workspace Events API; empty for Google's own
	Topic    string // that events go to: "projects/p/topics/t", in the app's own project
}

// Client keeps subscriptions. It keeps no state and is safe for concurrent use.
type Client struct {
	topic string
	calls *api.SubscriptionsService
}

// New returns a client with the application's default credentials, unless options say otherwise.
func New(ctx context.Context, c Config, opts ...option.ClientOption) (*Client, error) {
	if !topicName.MatchString(c.Topic) {
		return nil, fmt.Errorf("workspace events client: topic %.100q: write projects/PROJECT/topics/TOPIC", c.Topic)
	}
	all := []option.ClientOption{option.WithScopes(api.ChatAppMessagesReadonlyScope)}
	if c.Endpoint != "" {
		all = append(all, option.WithEndpoint(strings.TrimSuffix(c.Endpoint, "/")+"/"))
	}
	service, err := api.NewService(ctx, append(all, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("workspace events client: %w", err)
	}
	return &Client{topic: c.Topic, calls: service.Subscriptions}, nil
}

// Reconcile makes, renews, reactivates or gives back the subscription of a space, as the record wants it, and writes into the record what came
// of it. It can be repeated at any time: what stands already is found. A refusal is no error: it is in the record, with its reason. An error
// is retryable, and the record is due again in time.
func (c *Client) Reconcile(ctx context.Context, s *listen.Space, now time.Time) error {
	if !names.IsSpace(s.Channel()) {
		s.Deaf()
		return nil
	}
	var err error
	if s.Joined && s.Wanted {
		err = c.keep(ctx, s, now)
	} else if err = c.drop(ctx, s.Subscription); err == nil {
		s.Deaf()
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("subscription of %s: %w", s.RouteID, fault.Of(err))
	if errs.KindOf(err) == errs.KindPermanent {
		s.Refuse(listen.StateRefused, reasonOf(err), now.Add(askAgain))
		return nil
	}
	s.Retry(now.Add(max(retryIn, errs.After(err))))
	return err
}

// keep finds or makes the subscription and gives it all the life that it can have.
func (c *Client) keep(ctx context.Context, s *listen.Space, now time.Time) error {
	sub, err := c.find(ctx, s)
	if err != nil {
		return err
	}
	why := ""
	switch {
	case sub == nil:
		sub, err = c.create(ctx, s.Channel())
	case sub.State == suspended:
		why = sub.SuspensionReason
		sub, err = c.reactivate(ctx, sub.Name)
	default:
		sub, err = c.renew(ctx, sub.Name)
	}
	switch {
	case why != "" && fault.Code(err) >= http.StatusBadRequest && fault.Code(err) < http.StatusInternalServerError:
		s.Refuse(listen.StateSuspended, why, now.Add(askAgain)) // the cause is not mended, and says more than this answer
		return nil
	case err != nil:
		return err
	case sub == nil: // under way: the next look finds what became of it
		s.Retry(now.Add(retryIn))
		return nil
	}
	until, err := time.Parse(time.RFC3339Nano, sub.ExpireTime)
	if err != nil {
		return errs.Retryable(fmt.Errorf("subscription %s expires at %.40q: %w", sub.Name, sub.ExpireTime, err), 0)
	}
	s.Hear(sub.Name, until.UTC(), now)
	s.Told = why // it may come again, and is reported once
	return nil
}

// find returns the space's subscription, or nil if there is none. One that would deliver to another topic, or without the message, is given
// back: neither can be changed.
func (c *Client) find(ctx context.Context, s *listen.Space) (*api.Subscription, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var sub *api.Subscription
	if s.Subscription != "" {
		var err error
		sub, err = c.calls.Get(s.Subscription).Context(ctx).Do()
		if err != nil && !gone(err) {
			return nil, err
		}
	}
	if sub == nil {
		list, err := c.calls.List().Filter(fmt.Sprintf("event_types:%q AND target_resource=%q", created, target+s.Channel())).Context(ctx).Do()
		if err != nil {
			return nil, err
		}
		if len(list.Subscriptions) == 0 {
			return nil, nil //nolint:nilnil // there is none, and that is no error
		}
		sub = list.Subscriptions[0]
	}
	if to := sub.NotificationEndpoint; to != nil && to.PubsubTopic == c.topic && sub.PayloadOptions != nil && sub.PayloadOptions.IncludeResource {
		return sub, nil
	}
	return nil, c.drop(ctx, sub.Name)
}

func (c *Client) create(ctx context.Context, space string) (*api.Subscription, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return done(c.calls.Create(&api.Subscription{
		TargetResource: target + space, EventTypes: events, NotificationEndpoint: &api.NotificationEndpoint{PubsubTopic: c.topic},
		PayloadOptions: &api.PayloadOptions{IncludeResource: true}, Ttl: longest,
	}).Context(ctx).Do())
}

func (c *Client) renew(ctx context.Context, name string) (*api.Subscription, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return done(c.calls.Patch(name, &api.Subscription{Ttl: longest}).UpdateMask("ttl").Context(ctx).Do())
}

func (c *Client) reactivate(ctx context.Context, name string) (*api.Subscription, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return done(c.calls.Reactivate(name, &api.ReactivateSubscriptionRequest{}).Context(ctx).Do())
}

// drop gives a subscription back. One that is gone, or not ours any more, is given back already.
func (c *Client) drop(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := done(c.calls.Delete(name).AllowMissing(true).Context(ctx).Do()); err != nil && !gone(err) {
		return err
	}
	return nil
}

// gone tells whether an answer means that there is nothing there for us: one that is not ours to see is refused like one that is not there.
func gone(err error) bool {
	return fault.Code(err) == http.StatusNotFound || fault.Code(err) == http.StatusForbidden
}

// codes are the HTTP statuses of the canonical codes that an operation may fail with (google/rpc/code.proto).
var codes = map[int64]int{
	3: http.StatusBadRequest, 5: http.StatusNotFound, 6: http.StatusConflict, 7: http.StatusForbidden, 8: http.StatusTooManyRequests,
	9: http.StatusBadRequest, 16: http.StatusUnauthorized,
}

// done returns what an operation came to: a subscription, or nil if it is under way or comes to nothing. A rival's subscription, made between
// our look and our call, is left to the next look.
func done(op *api.Operation, err error) (*api.Subscription, error) {
	if fault.Code(err) == http.StatusConflict {
		return nil, nil //nolint:nilnil // as if it were under way
	}
	if err != nil || !op.Done {
		return nil, err
	}
	if e := op.Error; e != nil {
		code, ok := codes[e.Code]
		if !ok {
			code = http.StatusInternalServerError
		}
		return nil, &googleapi.Error{Code: code, Message: fmt.Sprintf("operation %s failed with %d: %s", op.Name, e.Code, e.Message)}
	}
	var sub api.Subscription
	if err := json.Unmarshal(op.Response, &sub); err != nil {
		return nil, errs.Retryable(fmt.Errorf("operation %s: %w", op.Name, err), 0)
	}
	if sub.Name == "" {
		return nil, nil //nolint:nilnil // a deletion's
	}
	if sub.State != active {
		return nil, errs.Retryable(errors.New("subscription "+sub.Name+" is "+sub.State), 0)
	}
	return &sub, nil
}
