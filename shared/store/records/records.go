// Package records is the operator's view of what the store keeps: sessions page by page, dead letters, and whether the database works at
// all. It reads what package store writes; the only things that it writes itself are a dead letter's mark that it was replayed, and a probe
// that it removes again.
package records

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/session"
)

// Records looks into the database of one project.
type Records struct {
	client *firestore.Client
	clock  clock.Clock
}

// New returns a view of the client's database.
func New(client *firestore.Client, c clock.Clock) (*Records, error) {
	if client == nil || c == nil {
		return nil, errors.New("records.New: client and clock must not be nil")
	}
	return &Records{client: client, clock: c}, nil
}

// Connect returns a view of the project's default database. The SDK finds the emulator by FIRESTORE_EMULATOR_HOST.
func Connect(ctx context.Context, project string, c clock.Clock) (*Records, error) {
	client, err := firestore.NewClient(ctx, project)
	if err != nil {
		return nil, fmt.Errorf("connect to Firestore of %s: %w", project, err)
	}
	return New(client, c)
}

// Query says which sessions to read.
type Query struct {
	// Channel limits them to one channel, Outstanding to those that the sweep would look at some day.
	Channel     string
	Outstanding bool
	After       string // the next of the page before
	Limit       int
}

// Sessions reads one page; next is where the following one begins, empty at the end. Outstanding ones come in the order of their urgency,
// those of a channel the newest first, and all others by their ids: no index serves another order, since one over all sessions' times would
// be the bottleneck of every write.
func (r *Records) Sessions(ctx context.Context, q Query) (page []session.Session, next string, err error) {
	after, err := parsePlace(q.After)
	if err != nil {
		return nil, "", err
	}
	if q.Outstanding {
		return r.outstanding(ctx, q, after)
	}
	query, field := r.client.Collection("sessions").Limit(q.Limit), "created_at"
	if q.Channel != "" {
		query = resume(query.Where("channel_id", "==", q.Channel).OrderBy(field, firestore.Desc).OrderBy(firestore.DocumentID, firestore.Desc), after)
	} else if query = query.OrderBy(firestore.DocumentID, firestore.Asc); after.ID != "" {
		query = query.StartAfter(after.ID)
	}
	snaps, err := query.Documents(ctx).GetAll()
	if err != nil {
		return nil, "", fmt.Errorf("read sessions: %w", err)
	}
	if page, err = sessions(snaps); err != nil {
		return nil, "", err
	}
	if len(snaps) == q.Limit && q.Limit > 0 {
		next = placeOf(snaps[q.Limit-1], field).String()
	}
	return page, next, nil
}

// outstanding merges the shards, as a sweep reads them.
func (r *Records) outstanding(ctx context.Context, q Query, after place) (page []session.Session, next string, err error) {
	var all []*firestore.DocumentSnapshot
	for shard := range session.WakeShards {
		query := r.client.Collection("sessions").Where("wake_shard", "==", shard).OrderBy("wake_at", firestore.Asc).OrderBy(firestore.DocumentID, firestore.Asc)
		docs := resume(query, after).Documents(ctx)
		found, err := take(docs, q)
		docs.Stop()
		if err != nil {
			return nil, "", fmt.Errorf("read outstanding sessions of shard %d: %w", shard, err)
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b *firestore.DocumentSnapshot) int {
		x, y := placeOf(a, "wake_at"), placeOf(b, "wake_at")
		return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.ID, y.ID))
	})
	if len(all) >= q.Limit && q.Limit > 0 {
		all = all[:q.Limit]
		next = placeOf(all[q.Limit-1], "wake_at").String()
	}
	page, err = sessions(all)
	return page, next, err
}

// take reads up to a page. Outstanding sessions are few, so that sifting their channel here saves an index.
func take(docs *firestore.DocumentIterator, q Query) (found []*firestore.DocumentSnapshot, err error) {
	for len(found) < q.Limit {
		snap, err := docs.Next()
		if errors.Is(err, iterator.Done) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		if q.Channel == "" || snap.Data()["channel_id"] == q.Channel {
			found = append(found, snap)
		}
	}
	return found, nil
}

func sessions(snaps []*firestore.DocumentSnapshot) ([]session.Session, error) {
	page := make([]session.Session, len(snaps))
	for i, snap := range snaps {
		if err := decode(snap, nil, &page[i]); err != nil {
			return nil, fmt.Errorf("read sessions: %w", err)
		}
	}
	return page, nil
}

// Session finds the session whose id begins with prefix: errs.ErrNotFound if none does, errs.ErrConflict if several do.
func (r *Records) Session(ctx context.Context, prefix string) (id string, err error) {
	return r.find(ctx, "sessions", prefix)
}

// DeadLetter is dead_letters/{id}: a wake-up that no retry could help.
type DeadLetter struct {
	ID      string    `json:"id" firestore:"-"`
	EventID string    `json:"event_id" firestore:"event_id"`
	Source  string    `json:"source" firestore:"source"` // the topic, as a CloudEvent names it
	Data    []byte    `json:"data" firestore:"data"`     // the push message's body
	Error   string    `json:"error" firestore:"error"`
	At      time.Time `json:"at" firestore:"at"`
	// ExpireAt is when the database forgets it.
	ExpireAt   time.Time  `json:"expire_at" firestore:"expire_at"`
	ReplayedAt *time.Time `json:"replayed_at,omitempty" firestore:"replayed_at,omitempty"`
}

// DeadLetters reads one page, the newest first; next is where the following one begins, empty at the end.
func (r *Records) DeadLetters(ctx context.Context, after string, limit int) (page []DeadLetter, next string, err error) {
	query := r.client.Collection("dead_letters").OrderBy("at", firestore.Desc).OrderBy(firestore.DocumentID, firestore.Desc).Limit(limit)
	from, err := parsePlace(after)
	if err != nil {
		return nil, "", err
	}
	snaps, err := resume(query, from).Documents(ctx).GetAll()
	if err != nil {
		return nil, "", fmt.Errorf("read dead letters: %w", err)
	}
	for _, snap := range snaps {
		d := DeadLetter{ID: snap.Ref.ID}
		if err := decode(snap, nil, &d); err != nil {
			return nil, "", fmt.Errorf("read dead letters: %w", err)
		}
		page = append(page, d)
	}
	if len(snaps) == limit && limit > 0 {
		next = placeOf(snaps[limit-1], "at").String()
	}
	return page, next, nil
}

// DeadLetter reads the dead letter whose id begins with prefix, as Session does.
func (r *Records) DeadLetter(ctx context.Context, prefix string) (DeadLetter, error) {
	id, err := r.find(ctx, "dead_letters", prefix)
	if err != nil {
		return DeadLetter{}, err
	}
	d := DeadLetter{ID: id}
	snap, err := r.client.Collection("dead_letters").Doc(id).Get(ctx)
	if err := decode(snap, err, &d); err != nil {
		return DeadLetter{}, fmt.Errorf("read dead letter %s: %w", id, err)
	}
	return d, nil
}

// MarkReplayed notes that a dead letter was published again.
func (r *Records) MarkReplayed(ctx context.Context, id string) error {
	update := []firestore.Update{{Path: "replayed_at", Value: r.clock.Now()}}
	if _, err := r.client.Collection("dead_letters").Doc(id).Update(ctx, update); err != nil {
		return fmt.Errorf("mark dead letter %s as replayed: %w", id, err)
	}
	return nil
}

// Fired reports whether the job's firing for that time is stored.
func (r *Records) Fired(ctx context.Context, firing string) (bool, error) {
	_, err := r.client.Collection("cronjobs").Doc(firing).Get(ctx)
	if status.Code(err) == codes.NotFound {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read firing %s: %w", firing, err)
	}
	return true, nil
}

// find returns the id of the one document whose id begins with prefix.
func (r *Records) find(ctx context.Context, collection, prefix string) (string, error) {
	if !isID(prefix) {
		return "", fmt.Errorf("%q can be no id in %s: %w", prefix, collection, errs.ErrNotFound)
	}
	col := r.client.Collection(collection)
	snaps, err := col.Where(firestore.DocumentID, ">=", col.Doc(prefix)).Where(firestore.DocumentID, "<", col.Doc(prefix+"~")).
		Limit(2).Documents(ctx).GetAll()
	switch {
	case err != nil:
		return "", fmt.Errorf("look for %s/%s…: %w", collection, prefix, err)
	case len(snaps) == 0:
		return "", fmt.Errorf("nothing in %s begins with %s: %w", collection, prefix, errs.ErrNotFound)
	case len(snaps) > 1 && snaps[0].Ref.ID != prefix:
		return "", fmt.Errorf("several ids in %s begin with %s: %w", collection, prefix, errs.ErrConflict)
	}
	return snaps[0].Ref.ID, nil
}

// isID reports whether text is the beginning of an id of ours: letters, digits and hyphens.
func isID(text string) bool {
	for _, c := range text {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' {
			return false
		}
	}
	return text != "" && len(text) <= len(chat.Hash())
}

func decode(snap *firestore.DocumentSnapshot, err error, into any) error {
	if err != nil {
		return err
	}
	if err := snap.DataTo(into); err != nil {
		return errs.Permanentf("%s is not readable: %w", snap.Ref.Path, err)
	}
	return nil
}

// place is where a page ended.
type place struct {
	At time.Time `json:"at"`
	ID string    `json:"id"`
}

func placeOf(snap *firestore.DocumentSnapshot, field string) place {
	at, _ := snap.Data()[field].(time.Time) // the query ordered by it
	return place{at, snap.Ref.ID}
}

// String is how a place is given out.
func (p place) String() string {
	text, _ := json.Marshal(p) // times and text always encode
	return base64.RawURLEncoding.EncodeToString(text)
}

// parsePlace reads what String made; the empty text is the beginning.
func parsePlace(text string) (p place, err error) {
	if text == "" {
		return p, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil || !isID(p.ID) {
		return p, errs.Permanentf("%.200q is no page that was given out", text)
	}
	return p, nil
}

// resume starts a query by time and id behind a place.
func resume(q firestore.Query, after place) firestore.Query {
	if after.ID == "" {
		return q
	}
	return q.StartAfter(after.At, after.ID)
}
