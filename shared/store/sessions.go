package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store/internal/cas"
	"kesoku.dev/shared/store/internal/weigh"
)

// nonceLength is how much of a hash names a swap: enough that none of the few that a session remembers are alike.
const nonceLength = 12

// Session is a handle on one session document. It remembers what it last read or wrote, so that the next change need not read again;
// a wrong memory costs a lost race and no more. It serves one handler and is not safe for concurrent use.
type Session struct {
	store *Store
	id    string
	// conversation is set while the session may not exist yet: the head that leads to it is read and made with it.
	conversation string
	fresh        func() session.Session

	known    session.Session
	revision time.Time // of known; zero when there is no document
	loaded   bool
}

// Session returns a handle on an existing session. It does not read.
func (s *Store) Session(id string) *Session { return &Session{store: s, id: id} }

// Conversation returns a handle on the current session of a conversation, or on the one that fresh makes, which the first change stores
// together with its head.
func (s *Store) Conversation(key string, fresh func() session.Session) *Session {
	return &Session{store: s, conversation: key, fresh: fresh}
}

// head is heads/{hash of the conversation key}.
type head struct {
	Key       string    `firestore:"key"`
	SessionID string    `firestore:"session_id"`
	UpdatedAt time.Time `firestore:"updated_at"`
}

func (s *Store) headRef(key string) *firestore.DocumentRef {
	return s.client.Collection(colHeads).Doc(chat.Hash(key))
}

func (s *Store) sessionRef(id string) *firestore.DocumentRef {
	return s.client.Collection(colSessions).Doc(id)
}

// Load reads the session. A session that does not exist is errs.ErrNotFound, except on a Conversation, where it is the fresh one.
func (d *Session) Load(ctx context.Context) (session.Session, error) {
	d.loaded = false
	if d.conversation != "" {
		if err := d.loadHead(ctx); err != nil {
			return session.Session{}, err
		}
		if d.loaded {
			return d.known.Clone(), nil
		}
	}
	snap, err := d.store.sessionRef(d.id).Get(ctx)
	if err != nil {
		return session.Session{}, cas.ReadError("session "+d.id, err)
	}
	d.known = session.Session{}
	if err := snap.DataTo(&d.known); err != nil {
		return session.Session{}, errs.Permanentf("session %s is not readable: %w", d.id, err)
	}
	d.revision, d.loaded = snap.UpdateTime, true
	return d.known.Clone(), nil // the memory is the handle's own: a caller's change to it would be written by the next swap
}

// loadHead finds the session that the conversation's head names, or settles on a fresh one.
func (d *Session) loadHead(ctx context.Context) error {
	snap, err := d.store.headRef(d.conversation).Get(ctx)
	if status.Code(err) == codes.NotFound {
		d.known, d.revision, d.loaded = d.fresh(), time.Time{}, true
		d.id = d.known.ID
		return nil
	}
	if err != nil {
		return cas.ReadError("head of "+d.conversation, err)
	}
	var h head
	if err := snap.DataTo(&h); err != nil {
		return errs.Permanentf("head of %s is not readable: %w", d.conversation, err)
	}
	d.id = h.SessionID
	return nil
}

// Change runs decide on the session until its draft is committed: again after each lost race, at most a dozen times, then the error is
// retryable. An error of decide ends it with nothing written; a draft marked Unchanged ends it well. It returns the session as it then
// stands.
func (d *Session) Change(ctx context.Context, decide func(*session.Draft) error) (session.Session, error) {
	return d.change(ctx, decide, func() ([]cas.Write, error) { return nil, nil })
}

// change is Change together with the further writes that with returns after each decision. If the precondition of one of those fails, it
// returns errs.ErrConflict: the caller must decide on that anew.
func (d *Session) change(ctx context.Context, decide func(*session.Draft) error, with func() ([]cas.Write, error)) (session.Session, error) {
	var last error
	remembered := d.loaded
	for i := range cas.Attempts {
		if err := ctx.Err(); i > 0 && err != nil {
			return session.Session{}, fmt.Errorf("session %s: %w; and no time is left: %w", d.id, last, err)
		}
		draft, err := d.decide(ctx, decide, remembered)
		if err != nil {
			return session.Session{}, err
		}
		if draft.Unchanged {
			return d.known.Clone(), nil
		}
		remembered = false
		further, err := with()
		if err != nil {
			return session.Session{}, err
		}
		err = d.swap(ctx, draft, further, cas.Backoff(i))
		switch {
		case err == nil:
			return d.known.Clone(), nil
		case errors.Is(err, errMoved), errors.Is(err, cas.ErrContended):
			last = err
		default:
			return session.Session{}, fmt.Errorf("session %s: %w", d.id, err)
		}
	}
	// Not a conflict for the caller to look into: only time helps.
	return session.Session{}, errs.Retryable(fmt.Errorf("session %s: %d attempts lost, the last one by: %v", d.id, cas.Attempts, last), 0) //nolint:errorlint // hidden on purpose
}

// decide makes a decision on what is known. One that writes nothing is made again on a new read if what is known was only remembered: no
// lost race would ever tell that the memory is wrong. One that fails is made again if the session has moved meanwhile: it may have read
// messages that are newer than the session it decided on.
func (d *Session) decide(ctx context.Context, decide func(*session.Draft) error, remembered bool) (*session.Draft, error) {
	for attempt := 1; ; attempt++ {
		if !d.loaded {
			if _, err := d.Load(ctx); err != nil {
				return nil, err
			}
		}
		draft := session.NewDraft(&d.known)
		err := decide(draft)
		if err == nil && (!remembered || !draft.Unchanged) {
			return draft, nil
		}
		before := d.revision
		if _, failed := d.Load(ctx); failed != nil {
			return nil, errors.Join(err, failed)
		}
		if attempt == cas.Attempts || (!remembered && d.revision.Equal(before)) {
			return draft, err
		}
		remembered = false
	}
}

// swap commits a draft. After a failure it has read the session anew and knows what happened. It waits before it reads, not after, so that
// the next attempt starts from what stands there now.
func (d *Session) swap(ctx context.Context, draft *session.Draft, with []cas.Write, wait time.Duration) error {
	nonce := chat.Hash(d.store.newID())[:nonceLength]
	draft.Seal(nonce, d.store.clock.Now())
	if err := weigh.Check("session "+d.id, draft.Session); err != nil {
		return err
	}
	writes := []cas.Write{d.sessionWrite(draft.Session)}
	if d.conversation != "" && d.revision.IsZero() {
		writes = append(writes, d.headWrite())
	}
	for i := range draft.Created {
		w, err := d.store.createMessage(ctx, &draft.Created[i], nonce, maxSwap/len(draft.Created))
		if err != nil {
			return err
		}
		writes = append(writes, w)
	}
	for i := range draft.Updated {
		writes = append(writes, d.store.updateMessage(draft.Updated[i]))
	}
	writes = append(writes, with...)
	revision, err := d.store.commit(ctx, writes...)
	if err != nil {
		_ = d.store.clock.Sleep(ctx, wait) // cut short if the handler's time is over, which must not keep it from asking
		return d.settle(ctx, nonce, err)
	}
	d.known, d.revision = draft.Session, revision
	return nil
}

func (d *Session) sessionWrite(next session.Session) cas.Write {
	ref, revision := d.store.sessionRef(d.id), d.revision
	return func(tx *firestore.Transaction) error {
		if revision.IsZero() {
			return tx.Create(ref, next)
		}
		return tx.Update(ref, cas.Fields(next), firestore.LastUpdateTime(revision))
	}
}

func (d *Session) headWrite() cas.Write {
	h := head{Key: d.conversation, SessionID: d.id, UpdatedAt: d.store.clock.Now()}
	ref := d.store.headRef(d.conversation)
	return func(tx *firestore.Transaction) error { return tx.Create(ref, h) }
}

// settleFor is how long the question after a lost answer may take, even if the handler's own time is over.
const settleFor = 5 * time.Second

// errMoved says that somebody else's swap came first and ours was not written: decide again.
var errMoved = errors.New("the session has moved")

// settle reads what became of a commit that was not confirmed: nil if it went through, errMoved if another swap came first, the commit's own
// error if nothing was written. It asks after every failure, a conflict too, because the SDK repeats a commit whose answer was lost by itself,
// and the repetition then conflicts with the first try.
func (d *Session) settle(ctx context.Context, nonce string, lost error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleFor)
	defer cancel()
	before, revision := d.known.Swap, d.revision
	now, err := d.Load(ctx)
	switch {
	case errors.Is(err, errs.ErrNotFound):
		return lost
	case err != nil:
		return fmt.Errorf("%w; and asking failed: %w", lost, err)
	case now.Wrote(nonce):
		return nil
	case d.revision.Equal(revision):
		return lost
	case !now.Remembers(before):
		return errs.Retryable(fmt.Errorf("so many swaps came since that nobody can tell any more: %v", lost), 0) //nolint:errorlint // whatever it was, its outcome is unknown
	default:
		return fmt.Errorf("%w: %w", errMoved, lost)
	}
}

// Since reads the messages with a seq above after, up to the session's last as this handle knows it, in their order.
func (d *Session) Since(ctx context.Context, after int64) ([]message.Message, error) {
	if !d.loaded {
		if _, err := d.Load(ctx); err != nil {
			return nil, err
		}
	}
	return d.store.messages(ctx, d.id, after+1, d.known.Seq)
}

// Message reads the message with that seq; errs.ErrNotFound if there is none.
func (d *Session) Message(ctx context.Context, seq int64) (message.Message, error) {
	all, err := d.store.messages(ctx, d.id, seq, seq)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("message %d of session %s: %w", seq, d.id, errs.ErrNotFound)
	}
	if err != nil {
		return message.Message{}, err
	}
	return all[0], nil
}
