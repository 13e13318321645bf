// Package emulator finds, starts and stops the real Firestore and Pub/Sub emulators, for tests and for the local stack, and leaves no
// process behind.
//
// It may know this machine's processes and the SDKs; it must not know tests (those have testenv), nor what Kesoku stores or publishes.
package emulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// The variables by which Google's SDKs, and so every function, find an emulator.
const (
	firestoreVar = "FIRESTORE_EMULATOR_HOST"
	pubsubVar    = "PUBSUB_EMULATOR_HOST"
)

// Options says how the emulators run. The zero value is what tests use.
type Options struct {
	FirestoreHeapMiB int       // Java heap of Firestore; 0: 1024, since all tests of a run share it
	PubSubHeapMiB    int       // Java heap of Pub/Sub; 0: 384, ten times what a test run was seen to need
	Log              io.Writer // receives what the emulators print; nil: nobody
}

// Pair is a running Firestore emulator and a running Pub/Sub emulator.
type Pair struct {
	FirestoreHost string // host:port
	PubSubHost    string // host:port

	processes []*process // empty when somebody else runs the pair
	ended     chan struct{}
}

// Start starts both emulators on free ports of the loopback interface and returns when both have answered their first calls (3 s
// on an idle machine). The caller must Stop them; on Linux they also die with the process that called Start. A machine without
// Java or an emulator gets ErrNotInstalled, wrapped in the commands that install them.
func Start(ctx context.Context, o Options) (*Pair, error) {
	t, err := findTools(ctx)
	if err != nil {
		return nil, err
	}
	p := &Pair{ended: make(chan struct{})}
	if err := p.launch(ctx, t, o); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	ready, ctx := errgroup.WithContext(ctx)
	ready.Go(func() error { return p.processes[0].ready(ctx, warmFirestore) })
	ready.Go(func() error { return p.processes[1].ready(ctx, warmPubSub) })
	if err := ready.Wait(); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// launch starts Java directly: `gcloud emulators …` takes 4 s to do it, sizes the heap by the machine's memory (4.6 GB seen), and
// orphans Java when it is killed.
func (p *Pair) launch(ctx context.Context, t tools, o Options) error {
	firestore, err := startProcess(ctx, "Firestore emulator", t.java, []string{heap(o.FirestoreHeapMiB, 1024), "-XX:+UseSerialGC",
		"-Duser.language=en", "-cp", t.firestore, "com.google.cloud.datastore.emulator.firestore.CloudFirestore", "--host=127.0.0.1"},
		"--port=", o.Log)
	if err != nil {
		return err
	}
	p.processes, p.FirestoreHost = append(p.processes, firestore), firestore.host
	pubsub, err := startProcess(ctx, "Pub/Sub emulator", t.java, []string{heap(o.PubSubHeapMiB, 384), "-XX:+UseSerialGC",
		"-Duser.language=en", "-jar", t.pubsub, "--host=127.0.0.1"}, "--port=", o.Log)
	if err != nil {
		return err
	}
	p.processes, p.PubSubHost = append(p.processes, pubsub), pubsub.host
	go p.watch(firestore, pubsub)
	return nil
}

func heap(mib, fallback int) string {
	if mib <= 0 {
		mib = fallback
	}
	return fmt.Sprintf("-Xmx%dm", mib)
}

func (p *Pair) watch(firestore, pubsub *process) {
	defer close(p.ended)
	select {
	case <-firestore.done:
	case <-pubsub.done:
	}
}

// Ended is closed as soon as either emulator has ended, by Stop or by itself. It is nil for a pair that somebody else runs.
func (p *Pair) Ended() <-chan struct{} { return p.ended }

// Environ returns the two settings ("NAME=value") that point a program's SDKs at the pair.
func (p *Pair) Environ() []string {
	return []string{firestoreVar + "=" + p.FirestoreHost, pubsubVar + "=" + p.PubSubHost}
}

// Stop kills both emulators and waits until they are gone. It may be called again, and does nothing for a pair that somebody else runs.
func (p *Pair) Stop() error {
	errs := make([]error, 0, len(p.processes))
	for _, running := range p.processes {
		errs = append(errs, running.kill())
	}
	return errors.Join(errs...)
}

// Shared returns the one pair of this process: the pair named by FIRESTORE_EMULATOR_HOST and PUBSUB_EMULATOR_HOST, else one
// that is started at the first call and lives until the process ends. Tests get theirs through testenv.New.
func Shared() (*Pair, error) { return shared() }

var shared = sync.OnceValues(func() (*Pair, error) {
	p := &Pair{FirestoreHost: os.Getenv(firestoreVar), PubSubHost: os.Getenv(pubsubVar)}
	switch {
	case p.FirestoreHost != "" && p.PubSubHost != "":
		return p, nil
	case p.FirestoreHost != "" || p.PubSubHost != "":
		return nil, fmt.Errorf("%s and %s must be set both or not at all", firestoreVar, pubsubVar)
	case !diesWithParent:
		// Tests cannot know which of them is the last, and nothing else would end the emulators here.
		return nil, errors.New("on this system the emulators must run already: start tests by make test, or by emulators/with")
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout+30*time.Second)
	defer cancel()
	return Start(ctx, Options{})
})
