// Package stack runs all of Kesoku on this machine: the real Firestore and Pub/Sub emulators, every function in a process of its own behind
// the functions framework, a bridge that pushes as Pub/Sub does, and stand-ins for what Google has no emulator for. The functions know
// nothing of it: they are given other endpoints, and no more.
package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"github.com/google/uuid"
	"google.golang.org/api/option"

	"kesoku.dev/emulators/bridge"
	"kesoku.dev/emulators/googlechat"
	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/googlechat/topic"
	"kesoku.dev/emulators/models"
	"kesoku.dev/emulators/oauth"
	"kesoku.dev/emulators/process"
	"kesoku.dev/emulators/stack/view"
	"kesoku.dev/emulators/storage"
	"kesoku.dev/emulators/telemetry"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv/emulator"
)

// Names that the local project goes by.
const (
	Project       = "kesoku-local"
	bucket        = "kesoku-staging"
	projectNumber = "123456789012"
	account       = "deliver@kesoku-local.iam.gserviceaccount.com"
	pushAccount   = "pubsub-invoker@kesoku-local.iam.gserviceaccount.com"
)

// Options say how the stack runs. Command must be set.
type Options struct {
	// Command starts this program as a function: it is run with FUNCTION_TARGET and PORT set and must call ServeFunction.
	Command []string
	// Project separates stacks that share emulators; empty means Project.
	Project string
	// Emulators, if not nil, are used and not stopped.
	Emulators *emulator.Pair
	// Config are the configuration files by name.
	Config map[string]string
	Chat   googlechat.Options // its webhook is set by the stack
	Models models.Options
	// ModelKey, if not empty, is a key for the real Gemini API, which then answers in the stand-in's place.
	ModelKey string
	// Env is added to every function's environment, as NAME=value.
	Env []string
	// Chaos and the back-off of redeliveries are the bridge's; zero means none, and Pub/Sub's own from ten seconds.
	Chaos      bridge.Chaos
	MinBackoff time.Duration
	MaxBackoff time.Duration
	// Sweep publishes to the topic sweeps this often; 0 means every minute, negative never.
	Sweep time.Duration
	// FunctionLog takes what the functions print.
	FunctionLog io.Writer
	Log         *slog.Logger
}

// Stack is everything, running.
type Stack struct {
	Chat      *googlechat.Server
	Store     *store.Store
	PubSub    *pubsub.Client
	Traces    *telemetry.Server
	Functions map[string]*process.Process
	URLs      URLs

	opts      Options
	emulators *emulator.Pair
	firestore *firestore.Client
	rules     *view.Rules
	dir       string
	cancel    context.CancelFunc
	running   sync.WaitGroup
}

// URLs are where the parts listen.
type URLs struct {
	Webhook, ChatAPI, Models, Storage, Token, Sample, Telemetry string
	Firestore, PubSub                                           string // host:port
}

// Start starts everything and returns when messages can be sent. Stop it.
func Start(ctx context.Context, o Options) (*Stack, error) {
	if o.Project == "" {
		o.Project = Project
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.FunctionLog == nil {
		o.FunctionLog = io.Discard
	}
	s := &Stack{opts: o, Functions: map[string]*process.Process{}, Traces: telemetry.New()}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	if err := s.start(ctx, life); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Stack) start(ctx, life context.Context) error {
	for _, step := range []func(ctx, life context.Context) error{
		s.startEmulators, s.connect, s.startStandIns, s.publishConfig, s.startFunctions, s.startBridge, s.startScheduler,
	} {
		if err := step(ctx, life); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stack) startEmulators(ctx, _ context.Context) error {
	pair := s.opts.Emulators
	if pair == nil {
		var err error
		if pair, err = emulator.Start(ctx, emulator.Options{}); err != nil {
			return err
		}
		s.emulators = pair
	}
	s.opts.Emulators = pair
	s.URLs.Firestore, s.URLs.PubSub = pair.FirestoreHost, pair.PubSubHost
	return nil
}

func (s *Stack) connect(_, life context.Context) error {
	toFirestore, err := emulator.Dial(s.URLs.Firestore)
	if err != nil {
		return err
	}
	if s.firestore, err = firestore.NewClient(life, s.opts.Project, option.WithGRPCConn(toFirestore)); err != nil {
		return fmt.Errorf("connect to Firestore: %w", err)
	}
	toPubSub, err := emulator.Dial(s.URLs.PubSub)
	if err != nil {
		return err
	}
	if s.PubSub, err = pubsub.NewClient(life, s.opts.Project, option.WithGRPCConn(toPubSub), option.WithTelemetryDisabled()); err != nil {
		return fmt.Errorf("connect to Pub/Sub: %w", err)
	}
	s.Store, err = store.New(s.firestore, unstaged{}, clock.System{}, uuid.NewString)
	return err
}

// unstaged is the staging area of a store that only looks.
type unstaged struct{}

func (unstaged) Put(context.Context, string, []byte, string) (string, error) {
	return "", errors.New("the stack itself stores no messages")
}

func (s *Stack) startStandIns(ctx, life context.Context) error {
	tokens, err := oauth.New(account)
	if err != nil {
		return err
	}
	chatOptions := s.opts.Chat
	chatOptions.RequireBearer, chatOptions.Publish = true, topic.Publish(s.PubSub)
	if s.Chat, err = googlechat.New(chatOptions); err != nil {
		return err
	}
	for _, standIn := range []struct {
		url     *string
		handler http.Handler
	}{
		{&s.URLs.ChatAPI, s.Chat.Handler()},
		{&s.URLs.Models, models.New(s.opts.Models)},
		{&s.URLs.Storage, storage.New(storage.Options{Buckets: []string{bucket}})},
		{&s.URLs.Token, tokens},
		{&s.URLs.Telemetry, s.Traces},
		{&s.URLs.Sample, http.HandlerFunc(sample)},
	} {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("listen for a stand-in: %w", err)
		}
		*standIn.url = serve(life, l, standIn.handler)
	}
	if s.dir, err = os.MkdirTemp("", "kesoku-local-"); err != nil {
		return fmt.Errorf("make a folder for the local credentials: %w", err)
	}
	_, err = tokens.WriteKey(s.dir, s.opts.Project, s.URLs.Token)
	return err
}

func (s *Stack) publishConfig(ctx, _ context.Context) error {
	_, revision, err := s.Store.Config(ctx)
	if err != nil {
		return err
	}
	if _, err = s.Store.PublishConfig(ctx, s.opts.Config, revision); err != nil {
		return err
	}
	s.rules, err = view.NewRules(s.Store, s.opts.Config)
	return err
}

// Stop ends everything that Start started, in the order in which messages flow, and returns when it is gone.
func (s *Stack) Stop() {
	if s.Chat != nil {
		s.Chat.SetWebhook(hook.Webhook{})
	}
	s.cancel() // stand-ins, bridge, scheduler
	var stopping sync.WaitGroup
	for _, f := range s.Functions {
		stopping.Go(f.Stop)
	}
	stopping.Wait()
	s.running.Wait()
	if s.Chat != nil {
		s.Chat.Close()
	}
	if s.firestore != nil {
		_ = s.firestore.Close() // nothing is left to send
	}
	if s.emulators != nil {
		if err := s.emulators.Stop(); err != nil {
			s.opts.Log.Error("emulators did not stop", "error", err)
		}
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // a temporary folder; the system clears it in time
	}
}
