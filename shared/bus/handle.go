package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"go.opentelemetry.io/otel/trace"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/telemetry"
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
		Data        []byte            `json:"data"`
		PublishTime time.Time         `json:"publishTime"`
		Attributes  map[string]string `json:"attributes"`
	} `json:"message"`
}

// wakeUp is one of Inbound, Wake, Cron and Sweep.
type wakeUp interface {
	// valid reports whether it names what it must.
	valid() bool
}

// Handle makes a CloudEvent function of a handler and is where every error becomes ack or nack: nil and fenced are acked, a permanent
// error, an undecodable wake-up among them, is buried and acked, and all else is nacked and comes again. The handler runs within a span that
// goes on with the publisher's trace.
func Handle[T wakeUp](log *slog.Logger, morgue Morgue, handler func(ctx context.Context, wake T, d Delivery) error) func(context.Context, cloudevents.Event) error {
	return func(ctx context.Context, e cloudevents.Event) error {
		p, err := unwrap(e)
		ctx, end := begin(ctx, e, p)
		defer end(nil) // settle has said what went wrong
		if err == nil {
			var wake T
			var d Delivery
			if wake, d, err = decode[T](e, p); err == nil {
				err = handler(ctx, wake, d)
			}
		}
		return settle(ctx, log.With("event_id", e.ID()), morgue, e, err)
	}
}

// begin starts the span of one delivery.
func begin(ctx context.Context, e cloudevents.Event, p push) (context.Context, telemetry.End) {
	topic := path.Base(e.Source())
	ctx, opts := telemetry.Extract(ctx, p.Message.Attributes)
	opts = append(opts, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(telemetry.OfProcess(topic, e.ID())...))
	return telemetry.StartSpan(ctx, telemetry.SpanProcess(topic), opts...)
}

// decision is what becomes of a wake-up.
type decision string

const (
	ack    decision = "ack"
	nacked decision = "nack"
	bury   decision = "bury"
	fenced decision = "fenced" // acked: another holder has the work
)

// settle decides, does what follows and returns what the framework is to answer.
func settle(ctx context.Context, log *slog.Logger, morgue Morgue, e cloudevents.Event, err error) error {
	decided := ack
	defer func() {
		telemetry.Note(ctx, telemetry.KeyDecision.String(string(decided)))
		if decided == nacked || decided == bury {
			telemetry.Fail(ctx, telemetry.ErrorType(err))
		}
	}()
	switch {
	case err == nil:
		return nil
	case errs.KindOf(err) == errs.KindFenced:
		decided = fenced
		log.InfoContext(ctx, "stopped: another holder has taken over", "error", err)
		return nil
	case errs.KindOf(err) == errs.KindPermanent:
		decided = bury
		log.ErrorContext(ctx, "buried: no retry can help", "error", err)
		// The record must outlive a handler whose own time is over.
		burial := morgue.Bury(context.WithoutCancel(ctx), e.ID(), e.Source(), e.Data(), err)
		if burial == nil {
			return nil
		}
		err = fmt.Errorf("bury %q: %w", e.ID(), errors.Join(burial, err))
	}
	decided = nacked
	log.WarnContext(ctx, "nacked: comes again", "error", err)
	return errNacked
}

// errNacked is all that the framework is told: it prints what it gets, as a format string, and ours is logged already.
var errNacked = errors.New("nacked: see the log entry of the same event")

// unwrap reads the push message that the event brings.
func unwrap(e cloudevents.Event) (p push, err error) {
	if err := json.Unmarshal(e.Data(), &p); err != nil {
		return p, errs.Permanentf("wake-up %s is no push message: %w", e.ID(), err)
	}
	return p, nil
}

// decode reads the wake-up out of a push. Fields that T does not know are refused: a wake-up for another topic is not ours;
// so is one that does not name what it must.
func decode[T wakeUp](e cloudevents.Event, p push) (wake T, d Delivery, err error) {
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
