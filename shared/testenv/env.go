// Package testenv gives every test a project of its own on the real Firestore and Pub/Sub emulators, with clients that count their reads,
// writes and publishes and that can be made to fail or die.
//
// It may know the SDKs and their wire calls; it must not know what Kesoku stores or publishes.
package testenv

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"

	"kesoku.dev/shared/testenv/emulator"
)

// Env is one test's own project on the emulators. Its embedded client is the test's own view: use it to prepare and to look, and
// clients made by Client as the instances under test, so that counts, faults and deaths of one leave the others alone.
type Env struct {
	*Client
	ProjectID string

	t       *testing.T
	pair    *emulator.Pair
	mu      sync.Mutex
	clients map[string]*Client
}

// Client is one instance's connection to Firestore and Pub/Sub.
type Client struct {
	Name      string
	Firestore *firestore.Client
	PubSub    *pubsub.Client
	Faults    *Faults

	life  context.Context
	end   context.CancelFunc
	meter *meter
	// One connection for each emulator.
	firestoreConn, pubsubConn *grpc.ClientConn
}

// New gives the test a project that no other test has. It starts the emulators unless they run already, and fails the test if that
// cannot be done. Nothing needs clearing afterwards.
func New(t *testing.T) *Env {
	t.Helper()
	pair, err := emulator.Shared()
	if err != nil {
		t.Fatalf("start the emulators: %v", err)
	}
	e := &Env{ProjectID: projectID(t.Name()), t: t, pair: pair, clients: map[string]*Client{}}
	e.Client = e.newClient("test")
	return e
}

// newClient leaves out the context's cancellation, because a test's context ends before its clean-ups run.
func (e *Env) newClient(name string) *Client {
	e.t.Helper()
	c, err := connect(context.WithoutCancel(e.t.Context()), e.pair, e.ProjectID, name)
	if err != nil {
		e.t.Fatalf("connect client %s: %v", name, err)
	}
	e.t.Cleanup(func() {
		if err := c.close(); err != nil {
			e.t.Fatalf("close client %s: %v", name, err)
		}
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.clients[name] = c
	return c
}

// Instance returns the client of that name in this test's project, made at the first call.
func (e *Env) Instance(name string) *Client {
	e.t.Helper()
	e.mu.Lock()
	c := e.clients[name]
	e.mu.Unlock()
	if c == nil {
		c = e.newClient(name)
	}
	return c
}

// Total adds up the counts of all instances, leaving out the test's own client.
func (e *Env) Total() Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	sum := Counts{Calls: map[string]int{}}
	for _, c := range e.clients {
		if c != e.Client {
			sum.add(c.Counts())
		}
	}
	return sum
}

// Topic creates the topic unless it exists, and returns its full name.
func (e *Env) Topic(id string) string {
	e.t.Helper()
	name, err := emulator.EnsureTopic(e.t.Context(), e.PubSub, id)
	if err != nil {
		e.t.Fatalf("%v", err)
	}
	return name
}

// Subscription creates topic and subscription unless they exist, and returns the subscription's full name. The ack deadline is 600 s.
func (e *Env) Subscription(topic, id string) string {
	e.t.Helper()
	name, err := emulator.EnsureSubscription(e.t.Context(), e.PubSub, &pubsubpb.Subscription{Name: id, Topic: e.Topic(topic)})
	if err != nil {
		e.t.Fatalf("%v", err)
	}
	return name
}

func connect(ctx context.Context, pair *emulator.Pair, project, name string) (*Client, error) {
	c := &Client{Name: name, Faults: &Faults{}, meter: &meter{n: Counts{Calls: map[string]int{}}}}
	c.life, c.end = context.WithCancel(context.Background())
	intercepted := []grpc.DialOption{grpc.WithUnaryInterceptor(c.unary), grpc.WithStreamInterceptor(c.stream)}
	var err error
	if c.firestoreConn, err = emulator.Dial(pair.FirestoreHost, intercepted...); err != nil {
		return nil, err
	}
	if c.pubsubConn, err = emulator.Dial(pair.PubSubHost, intercepted...); err != nil {
		return nil, err
	}
	if c.Firestore, err = firestore.NewClient(ctx, project, c.FirestoreOptions()...); err != nil {
		return nil, fmt.Errorf("open Firestore of %s: %w", project, err)
	}
	if c.PubSub, err = pubsub.NewClient(ctx, project, c.PubSubOptions()...); err != nil {
		return nil, fmt.Errorf("open Pub/Sub of %s: %w", project, err)
	}
	return c, nil
}

// FirestoreOptions returns the options that make another Firestore client use this one's connection, counts and faults.
func (c *Client) FirestoreOptions() []option.ClientOption {
	return []option.ClientOption{option.WithGRPCConn(c.firestoreConn)}
}

// PubSubOptions returns the options that make another Pub/Sub client use this one's connection, counts and faults.
func (c *Client) PubSubOptions() []option.ClientOption {
	return []option.ClientOption{option.WithGRPCConn(c.pubsubConn), option.WithTelemetryDisabled()}
}

// Counts returns what this client has done so far.
func (c *Client) Counts() Counts { return c.meter.counts() }

// Kill ends the instance as a crash does: calls under way lose their answers, later ones never leave, streams break. What reached the
// emulator stays. A killed client never lives again; make another one.
func (c *Client) Kill() { c.end() }

// close closes the connections rather than the SDK clients, which would close them once for each of their parts.
func (c *Client) close() error {
	c.end()
	return errors.Join(c.firestoreConn.Close(), c.pubsubConn.Close())
}

// projectID makes an id of the shape that Google allows (lower case, digits, hyphens, at most 30), unique by 64 random bits.
func projectID(test string) string {
	base := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '-'
		}
	}, strings.TrimPrefix(test, "Test"))
	var random [8]byte
	_, _ = rand.Read(random[:]) // crypto/rand.Read never fails: it ends the program instead.
	return fmt.Sprintf("t-%.11s-%s", base, hex.EncodeToString(random[:]))
}
