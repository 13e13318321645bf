package doctor

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/bus/topology"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/model"
)

// clients is the step without which the database and the topics cannot be asked.
func (e *examination) clients(ctx context.Context) Finding {
	parts, err := e.Open(ctx)
	if err != nil {
		return ill(err.Error(), "see what the credentials step says; if that is well, check the project")
	}
	e.parts = parts
	return well("ready")
}

func (e *examination) database(ctx context.Context) Finding {
	err := e.parts.Database.Probe(ctx)
	switch status.Code(err) {
	case codes.OK:
		return well("can be written and read")
	case codes.NotFound:
		return ill("there is no database: "+err.Error(), "run terraform apply, or gcloud firestore databases create --project "+e.Project)
	case codes.PermissionDenied, codes.Unauthenticated:
		return ill("access is refused: "+err.Error(), "give yourself roles/datastore.user on the project")
	default:
		return ill(err.Error(), "check the network, and FIRESTORE_EMULATOR_HOST if it is set")
	}
}

// query is one that fails without its index.
type query struct {
	index string
	run   func(ctx context.Context, q Queries, now time.Time) error
}

// queries has one for every index of infra/firestore/firestore.indexes.json.
func queries() []query {
	const nowhere = "doctor:none"
	return []query{
		{"sessions (wake_shard, wake_at)", func(ctx context.Context, q Queries, now time.Time) error {
			_, err := q.DueSessions(ctx, now, 1)
			return err
		}},
		{"events (wake_shard, wake_at)", func(ctx context.Context, q Queries, now time.Time) error {
			_, err := q.DueEvents(ctx, now, 1)
			return err
		}},
		{"events (route_id, pending, at)", func(ctx context.Context, q Queries, _ time.Time) error {
			_, err := q.PendingEvents(ctx, nowhere, 1)
			return err
		}},
		{"events (route_id, at descending)", func(ctx context.Context, q Queries, now time.Time) error {
			_, err := q.RecentEvents(ctx, nowhere, now, 1)
			return err
		}},
		{"sessions (channel_id, created_at descending)", func(ctx context.Context, q Queries, _ time.Time) error {
			_, err := q.SessionsOf(ctx, "none", 1)
			return err
		}},
	}
}

// indexes runs each query that needs a composite one. An emulator needs none and takes them all.
func (e *examination) indexes(ctx context.Context) Finding {
	now := e.Clock.Now()
	for _, q := range queries() {
		err := q.run(ctx, e.parts.Store, now)
		switch status.Code(err) {
		case codes.OK:
		case codes.FailedPrecondition:
			return ill("no index on "+q.index+" yet: "+err.Error(), "run terraform apply; a new index takes minutes to build")
		default:
			return ill("the query on "+q.index+" fails: "+err.Error(), "see what the Firestore step says")
		}
	}
	return well("%d queries run", len(queries()))
}

func (e *examination) configuration(ctx context.Context) Finding {
	const push = "run kesoku config push DIR"
	files, revision, err := e.parts.Store.Config(ctx)
	switch {
	case err != nil:
		return ill(err.Error(), "see what the Firestore step says")
	case revision == 0:
		return ill("none is published: every route has the defaults", push)
	}
	c, err := config.Parse(files)
	if err != nil {
		return ill(fmt.Sprintf("revision %d is wrong, and new instances do not start with it: %v", revision, err), "correct it, then "+push)
	}
	if err := model.CheckName(c.Defaults.Model); err != nil {
		return ill(fmt.Sprintf("revision %d: %v", revision, err), "correct chat.model, then "+push)
	}
	return well("revision %d, %s, %d cron jobs", revision, c.Defaults.Model, len(c.Jobs))
}

const terraform = "run terraform apply"

// workspaceEvents is the topic to which Google Chat publishes what heard rooms say; its subscription pushes to the webhook.
const workspaceEvents bus.Topic = "workspace-events"

// read lists the topics that a function of ours must be pushed from.
func read() []bus.Topic { return append(bus.Topics(), workspaceEvents) }

func (e *examination) topics(ctx context.Context) Finding {
	all := append(read(), bus.TopicLifecycle) // which may have no subscription: it is for other systems
	for _, t := range all {
		there, err := e.parts.Topics.Topic(ctx, string(t))
		switch {
		case err != nil:
			return pubsubIll(err)
		case !there:
			return ill("topic "+string(t)+" does not exist", terraform)
		}
	}
	return well("%d exist", len(all))
}

func pubsubIll(err error) Finding {
	if c := status.Code(err); c == codes.PermissionDenied || c == codes.Unauthenticated {
		return ill("access is refused: "+err.Error(), "give yourself roles/pubsub.viewer on the project")
	}
	return ill(err.Error(), "check the network, and PUBSUB_EMULATOR_HOST if it is set")
}

func (e *examination) subscriptions(ctx context.Context) Finding {
	n := 0
	for _, t := range read() {
		if there, err := e.parts.Topics.Topic(ctx, string(t)); err == nil && !there {
			continue // the step before says so
		}
		all, err := e.parts.Topics.Subscriptions(ctx, t)
		if err != nil {
			return pubsubIll(err)
		}
		if len(all) == 0 {
			return ill("nobody listens to topic "+string(t)+": it has no subscription", terraform)
		}
		for i := range all {
			if fault := judge(&all[i], deadlineOf(t), e.Local); fault != "" {
				return ill("subscription "+path.Base(all[i].Name)+" of "+string(t)+": "+fault, terraform)
			}
			if there, err := e.parts.Topics.Topic(ctx, all[i].DeadLetterTopic); err != nil || !there {
				return ill("subscription "+path.Base(all[i].Name)+": its dead-letter topic "+path.Base(all[i].DeadLetterTopic)+" does not exist", terraform)
			}
			n++
		}
	}
	return well("%d, with the right limits and dead letters", n)
}

// What a subscription must have, so that waiting out a lease never makes a dead letter of a wake-up.
const (
	ackDeadline  = 600 * time.Second
	hookDeadline = 60 * time.Second // twice the webhook's own timeout; it holds no lease
	minBackoff   = 10 * time.Second
	maxBackoff   = 600 * time.Second
	maxAttempts  = 20
)

// deadlineOf is how long a push from the topic must at least be waited for.
func deadlineOf(t bus.Topic) time.Duration {
	if t == workspaceEvents {
		return hookDeadline
	}
	return ackDeadline
}

// judge says what is wrong with a subscription; empty if nothing is. On the local stack a bridge pulls, and has the back-off.
func judge(s *topology.Subscription, deadline time.Duration, local bool) string {
	switch {
	case s.Detached:
		return "it is detached from its topic, so nothing arrives"
	case s.AckDeadline < deadline:
		return fmt.Sprintf("its ack deadline is %s, not %s: what is slow would run twice at once", s.AckDeadline, deadline)
	case s.DeadLetterTopic == "":
		return "it has no dead-letter topic: what always fails would come back for ever"
	case s.MaxAttempts != maxAttempts:
		return fmt.Sprintf("it gives up after %d attempts, not %d", s.MaxAttempts, maxAttempts)
	case local:
		return ""
	case s.MinBackoff != minBackoff || s.MaxBackoff != maxBackoff:
		return fmt.Sprintf("it retries after %s to %s, not %s to %s", s.MinBackoff, s.MaxBackoff, minBackoff, maxBackoff)
	case !strings.HasPrefix(s.PushEndpoint, "https://"):
		return fmt.Sprintf("it pushes to %q, not to a function", s.PushEndpoint)
	case s.PushAccount == "":
		return "its push carries no OIDC token, so Cloud Run refuses it"
	default:
		return ""
	}
}

// probe is the one object that the doctor leaves: always the same, so that it is written once.
const (
	probeName = "sessions/doctor/probe/0/probe.txt"
	probeText = "The doctor was here.\n"
)

func (e *examination) staging(ctx context.Context) Finding {
	if e.parts.Staging == nil {
		return skip("no bucket; name it by --bucket or STAGING_BUCKET")
	}
	name, err := e.parts.Staging.Put(ctx, probeName, []byte(probeText), "text/plain; charset=utf-8")
	if err == nil {
		_, _, err = e.parts.Staging.Get(ctx, name)
	}
	if err != nil {
		return ill(err.Error(), "check that bucket "+e.Bucket+" exists, and give yourself roles/storage.objectUser on it")
	}
	return well("%s can be written and read", e.Bucket)
}

// maxSince is how long after its time work may lie, and the last heartbeat be: sweeps come every minute.
const maxSince = 5 * time.Minute

// sweeps looks for a recent heartbeat, and for work that a sweep would have woken long ago.
func (e *examination) sweeps(ctx context.Context) Finding {
	const do = "check the scheduler's job: gcloud scheduler jobs list; and the function's log: kesoku logs --function sweep"
	now := e.Clock.Now()
	last, err := e.parts.Database.Swept(ctx)
	if err != nil {
		return ill(err.Error(), "see what the Firestore step says")
	}
	if last.IsZero() {
		return ill("no sweep has ever run", "give a new deployment two minutes; after that "+do)
	}
	if since := now.Sub(last).Round(time.Second); since > maxSince {
		return ill(fmt.Sprintf("the last sweep was %s ago", since), do)
	}
	due, where, err := e.parts.Database.Overdue(ctx)
	if err != nil {
		return ill(err.Error(), "see what the Firestore step says")
	}
	if late := now.Sub(due).Round(time.Second); !due.IsZero() && late > maxSince {
		return ill(fmt.Sprintf("%s should have been looked at %s ago", where, late), do)
	}
	return well("the last was %s ago, and nothing is overdue", now.Sub(last).Round(time.Second))
}
