package bridge_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"cloud.google.com/go/pubsub/v2"
	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
	cloudevents "github.com/cloudevents/sdk-go/v2"

	"kesoku.dev/emulators/bridge"
)

// A function behind the functions framework gets the event that Google's platform would give it, and its error becomes a retry.
func TestFunctionsFramework(t *testing.T) {
	t.Parallel()
	env, sub := project(t)
	events := make(chan cloudevents.Event, 2)
	first := true
	path := "/ps/" + env.ProjectID // The framework's registry is global, and a path can be taken once.
	err := funcframework.RegisterCloudEventFunctionContext(t.Context(), path+"/", func(_ context.Context, e cloudevents.Event) error {
		events <- e
		if first {
			first = false
			return errors.New("try again")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil || l.Close() != nil {
		t.Fatal("no free port")
	}
	failed := make(chan error, 1)
	go func() { failed <- funcframework.StartHostPort(host, port) }() // It has no way to stop, and ends with the test process.
	run(t, bridge.Config{Client: env.PubSub, Clock: &instant{}}, bridge.Route{Subscription: sub, URL: "http://" + l.Addr().String() + path})
	publish(t, env, &pubsub.Message{Data: []byte("look"), Attributes: map[string]string{"session": "s1"}})

	var e cloudevents.Event
	select {
	case e = <-events:
	case err := <-failed:
		t.Fatal(err)
	}
	if again := <-events; again.ID() != e.ID() {
		t.Errorf("the retry is event %s, want %s", again.ID(), e.ID())
	}
	var data struct {
		Message struct {
			Data       []byte
			Attributes map[string]string
		}
	}
	if err := e.DataAs(&data); err != nil {
		t.Fatal(err)
	}
	if want := "//pubsub.googleapis.com/projects/" + env.ProjectID + "/topics/turns"; e.Source() != want {
		t.Errorf("source %q, want %q", e.Source(), want)
	}
	if e.Type() != "google.cloud.pubsub.topic.v1.messagePublished" || string(data.Message.Data) != "look" || data.Message.Attributes["session"] != "s1" {
		t.Errorf("event %s with %+v", e.Type(), data)
	}
}
