package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"cloud.google.com/go/pubsub/v2"
)

// pushBody is the standard (wrapped) body of a push request. The two names in snake case repeat those in camel case, as the service
// does for old receivers.
type pushBody struct {
	DeliveryAttempt int         `json:"deliveryAttempt,omitempty"` // only with a dead-letter policy
	Message         pushMessage `json:"message"`
	Subscription    string      `json:"subscription"`
}

type pushMessage struct {
	Attributes   map[string]string `json:"attributes,omitempty"`
	Data         []byte            `json:"data,omitempty"` // base64
	MessageID    string            `json:"messageId"`
	MessageIDOld string            `json:"message_id"`
	OrderingKey  string            `json:"orderingKey,omitempty"`
	PublishTime  time.Time         `json:"publishTime"`
	PublishedOld time.Time         `json:"publish_time"`
}

func encode(subscription string, m *pubsub.Message) ([]byte, error) {
	at := m.PublishTime.UTC()
	b := pushBody{Subscription: subscription, Message: pushMessage{Attributes: m.Attributes, Data: m.Data, MessageID: m.ID,
		MessageIDOld: m.ID, OrderingKey: m.OrderingKey, PublishTime: at, PublishedOld: at}}
	if m.DeliveryAttempt != nil {
		b.DeliveryAttempt = *m.DeliveryAttempt
	}
	body, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("encode push body of message %s: %w", m.ID, err)
	}
	return body, nil
}

// acknowledges says which final answers acknowledge. These are those of the real service. Its documentation also names 102, which is
// an interim answer that Go's client never returns as the last one. The emulator's own push differs: it takes 203 for an ack and
// 202 for a nack. Anything else, a redirect included, is a nack.
func acknowledges(status int) bool {
	switch status {
	case http.StatusProcessing, http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent:
		return true
	default:
		return false
	}
}

// maxAnswer bounds what is read of an answer, maxQuote what of it is logged.
const (
	maxAnswer = 64 << 10
	maxQuote  = 300
)

// errNotAcknowledged says that the function answered, but not with an acknowledging status.
var errNotAcknowledged = errors.New("not acknowledged")

// post makes one push request.
func (b *Bridge) post(ctx context.Context, url string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("push to %s: %w", url, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "APIs-Google; (+https://developers.google.com/webmasters/APIs-Google.html)")
	if b.cfg.Authorize != nil {
		if err := b.cfg.Authorize(req); err != nil {
			return fmt.Errorf("authorise push to %s: %w", url, err)
		}
	}
	res, err := b.http.Do(req)
	if err != nil {
		return fmt.Errorf("push: %w", err) // The error of http.Client names method and URL.
	}
	defer func() { _ = res.Body.Close() }() // The status has been read; a broken tail of the body changes nothing.
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if acknowledges(res.StatusCode) {
		return nil
	}
	return errors.Join(fmt.Errorf("push to %s: %w: status %d: %.*q", url, errNotAcknowledged, res.StatusCode, maxQuote, answer), err)
}
