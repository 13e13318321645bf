package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"

	"kesoku.dev/shared/errs"
)

// Delivery is how a wake-up came.
type Delivery struct {
	// EventID is the Pub/Sub message's id: the same on every redelivery.
	EventID string
	// PublishedAt is when the wake-up was published.
	PublishedAt time.Time
}

// Morgue keeps, for the operator, the wake-ups that no retry can help.
type Morgue interface {
	Bury(ctx context.Context, eventID, source string, data []byte, cause error) error
}

// push is the data of a google.cloud.pubsub.topic.v1.messagePublished event.
type push struct {
	Message struct {
		Data        []byte    `json:"data"`
		PublishTime time.Time `json:"publishTime"`
	} `json:"message"`
}

// wakeUp is one of Inbound, Wake, Cron and Sweep.
type wakeUp interface {
	// valid reports whether it names what it must.
	valid() bool
}

// Handle makes a CloudEvent function of a handler and is where every error becomes ack or nack: nil and fenced are acked, a permanent
// error, an undecodable wake-up among them, is buried and acked, and all else is nacked and comes again.
func Handle[T wakeUp](log *slog.Logger, morgue Morgue, handler func(ctx context.Context, wake T, d Delivery) error) func(context.Context, cloudevents.Event) error {
	return func(ctx context.Context, e cloudevents.Event) error {
		wake, d, err := decode[T](e)
		if err == nil {
			err = handler(ctx, wake, d)
		}
		log := log.With("event_id", e.ID())
		switch {
		case err == nil:
			return nil
		case errs.KindOf(err) == errs.KindFenced:
			log.InfoContext(ctx, "stopped: another holder has taken over", "error", err)
			return nil
		case errs.KindOf(err) == errs.KindPermanent:
			log.ErrorContext(ctx, "buried: no retry can help", "error", err)
			// The record must outlive a handler whose own time is over.
			if burial := morgue.Bury(context.WithoutCancel(ctx), e.ID(), e.Source(), e.Data(), err); burial != nil {
				return nack(log, fmt.Errorf("bury %q: %w", e.ID(), errors.Join(burial, err)))
			}
			return nil
		default:
			return nack(log, err)
		}
	}
}

// errNacked is all that the framework is told: it prints what it gets, as a format string, and ours is logged already.
var errNacked = errors.New("nacked: see the log entry of the same event")

func nack(log *slog.Logger, err error) error {
	log.Warn("nacked: comes again", "error", err)
	return errNacked
}

// decode reads the wake-up out of a push. Fields that T does not know are refused: a wake-up for another topic is not ours;
// so is one that does not name what it must.
func decode[T wakeUp](e cloudevents.Event) (wake T, d Delivery, err error) {
	var p push
	if err := json.Unmarshal(e.Data(), &p); err != nil {
		return wake, d, errs.Permanentf("wake-up %s is no push message: %w", e.ID(), err)
	}
	if len(p.Message.Data) > 0 {
		dec := json.NewDecoder(bytes.NewReader(p.Message.Data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&wake); err != nil {
			return wake, d, errs.Permanentf("wake-up %s does not decode: %w", e.ID(), err)
		}
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			return wake, d, errs.Permanentf("wake-up %s has more than one value", e.ID())
		}
	}
	if !wake.valid() {
		return wake, d, errs.Permanentf("wake-up %s names nothing that could exist: %+v", e.ID(), wake)
	}
	published := p.Message.PublishTime
	if published.IsZero() {
		published = e.Time()
	}
	return wake, Delivery{EventID: e.ID(), PublishedAt: published}, nil
}
