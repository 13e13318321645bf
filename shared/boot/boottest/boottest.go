// Package boottest gives a function's tests what boot gives the function, on the emulators: a Base over one instance's connections, and the
// events that Pub/Sub would push.
package boottest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/google/uuid"

	"kesoku.dev/shared/blob"
	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
)

// nowhere is an address that nobody listens on.
const nowhere = "http://127.0.0.1:1/"

// Base is what boot would make of the environment for the instance c. Nothing can be staged: its storage is not there.
func Base(t *testing.T, env *testenv.Env, c *testenv.Client, now clock.Clock, log *slog.Logger) *boot.Base {
	t.Helper()
	for _, topic := range bus.Topics() {
		env.Topic(string(topic))
	}
	files, err := blob.Connect(t.Context(), "bucket", nowhere)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.New(c.Firestore, noStage{}, now, uuid.NewString)
	if err != nil {
		t.Fatal(err)
	}
	publisher, err := bus.NewPublisher(c.PubSub)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(publisher.Stop)
	b, err := boot.Assemble(t.Context(), st, publisher, files, now, log)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Instance is one copy of an event function, with a connection of its own and an ear at what it publishes.
type Instance struct {
	*Ear
	Client *testenv.Client
	Handle func(context.Context, cloudevents.Event) error
}

// Start makes an instance of the function whose New that is, without variables of its own. It logs nothing.
func Start(t *testing.T, env *testenv.Env, name string, now clock.Clock,
	build func(context.Context, *boot.Base, *boot.Vars) (func(context.Context, cloudevents.Event) error, error),
) *Instance {
	t.Helper()
	i := &Instance{Client: env.Instance(name)}
	var err error
	if i.Handle, err = build(t.Context(), Base(t, env, i.Client, now, slog.New(slog.DiscardHandler)), boot.VarsOf(nil)); err != nil {
		t.Fatal(err)
	}
	i.Ear = Listen(i.Client)
	return i
}

// noStage stands where nothing is staged.
type noStage struct{}

func (noStage) Put(context.Context, string, []byte, string) (string, error) {
	return "", errors.New("nothing here is too large for a document")
}

// Credentials gives Google's clients the key file of a service account whose token endpoint is not there.
func Credentials(t *testing.T) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "f@p.iam.gserviceaccount.com", "token_uri": nowhere + "token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
}

// Push is the event of a wake-up with that data, published at that time.
func Push(t *testing.T, topic bus.Topic, id string, data []byte, at time.Time) cloudevents.Event {
	t.Helper()
	e := cloudevents.NewEvent()
	e.SetID(id)
	e.SetSource("//pubsub.googleapis.com/projects/p/topics/" + string(topic))
	e.SetType("google.cloud.pubsub.topic.v1.messagePublished")
	body := map[string]any{"message": map[string]any{"data": data, "publishTime": at}}
	if err := e.SetData(cloudevents.ApplicationJSON, body); err != nil {
		t.Fatal(err)
	}
	return e
}

// Wake is Push of an encoded wake-up, published now.
func Wake(t *testing.T, topic bus.Topic, wake any) cloudevents.Event {
	t.Helper()
	data, err := json.Marshal(wake)
	if err != nil {
		t.Fatal(err)
	}
	return Push(t, topic, "e1", data, time.Now())
}

// DeadLetters counts what was buried.
func DeadLetters(t *testing.T, env *testenv.Env) int {
	t.Helper()
	docs, err := env.Firestore.Collection("dead_letters").Documents(t.Context()).GetAll()
	if err != nil {
		t.Fatal(err)
	}
	return len(docs)
}

// Ear notes what an instance publishes and disturbs nothing.
type Ear struct {
	mu    sync.Mutex
	wakes []string
}

// Listen returns an ear at the instance.
func Listen(c *testenv.Client) *Ear {
	e := &Ear{}
	c.Faults.Add(testenv.Fault{Match: func(req any) bool {
		p, ok := req.(*pubsubpb.PublishRequest)
		if !ok {
			return false
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, m := range p.GetMessages() {
			topic := p.GetTopic()
			e.wakes = append(e.wakes, topic[len("projects/")+len(c.PubSub.Project())+len("/topics/"):]+" "+string(m.GetData()))
		}
		return false
	}})
	return e
}

// Heard returns what was published since the last look, each as its topic and data.
func (e *Ear) Heard() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	wakes := e.wakes
	e.wakes = nil
	return wakes
}
