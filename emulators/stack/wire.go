package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"kesoku.dev/emulators/bridge"
	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/process"
	"kesoku.dev/emulators/scheduler"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/testenv/emulator"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

// maxDeliveries is how often a wake-up is tried before it is a dead letter, as in production.
const maxDeliveries = 20

// startFunctions starts every function in a process of its own. The webhook's own URL is its tokens' audience, so its port is chosen first.
func (s *Stack) startFunctions(ctx, _ context.Context) error {
	var wait sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for _, name := range Functions() {
		wait.Go(func() {
			child, err := process.Start(ctx, name, s.opts.Command, s.Environ(), s.opts.FunctionLog, s.opts.Log)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = err
				return
			}
			s.Functions[name] = child
		})
	}
	wait.Wait()
	if failed != nil {
		return failed
	}
	s.URLs.Webhook = s.Functions[webhook].URL
	s.Chat.SetWebhook(hook.Webhook{
		URL: s.URLs.Webhook, Audience: audience, ProjectNumber: projectNumber, PushURL: s.URLs.Webhook, PushAudience: audience,
		PushServiceAccount: pushAccount,
	})
	return nil
}

// workspaceEvents is the topic that subscriptions of rooms publish to. It is no wake-up's: who publishes there is Google Chat.
const workspaceEvents = "workspace-events"

// audience is the URL that the webhook is configured under. Behind a tunnel or a load balancer, too, it is not where the function listens.
const audience = "https://kesoku.example/googlechat"

// Environ is what every function is told, as NAME=value. It is the list of README's table, with this machine's endpoints.
func (s *Stack) Environ() []string {
	sampleHost := s.URLs.Sample
	if u, err := url.Parse(s.URLs.Sample); err == nil {
		sampleHost = u.Host
	}
	env := []string{
		"GOOGLE_CLOUD_PROJECT=" + s.opts.Project, "STAGING_BUCKET=" + bucket,
		"STORAGE_EMULATOR_HOST=" + s.URLs.Storage,
		"GOOGLE_APPLICATION_CREDENTIALS=" + filepath.Join(s.dir, "credentials.json"),
		"CHAT_ENDPOINT=" + s.URLs.ChatAPI, "CHAT_PROJECT_NUMBER=" + projectNumber, "CHAT_AUDIENCE=" + audience, "CHAT_ACTION_URL=" + audience,
		"WORKSPACE_EVENTS_ENDPOINT=" + s.URLs.ChatAPI, "WORKSPACE_EVENTS_TOPIC=projects/" + s.opts.Project + "/topics/" + workspaceEvents,
		"CHAT_PUSH_ACCOUNT=" + pushAccount, "CHAT_APP_USER=" + s.Chat.App().Name,
		"CHAT_CERTS_URL=" + s.URLs.ChatAPI + "/certs/chat.json", "GOOGLE_CERTS_URL=" + s.URLs.ChatAPI + "/certs/oidc.json",
		"FETCH_ALLOW=" + sampleHost, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + s.URLs.Telemetry + "/v1/traces",
	}
	if s.opts.ModelKey != "" {
		env = append(env, "GEMINI_API_KEY="+s.opts.ModelKey)
	} else {
		env = append(env, "GEMINI_API_KEY=local", "GEMINI_BASE_URL="+s.URLs.Models)
	}
	env = append(env, s.opts.Emulators.Environ()...)
	return append(env, s.opts.Env...)
}

// OperatorEnviron is what the operators' command line is told, as NAME=value: the functions' environment without what concerns the model, and
// where the webhook really is.
func (s *Stack) OperatorEnviron() []string {
	env := slices.DeleteFunc(s.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "GEMINI_") })
	return append(env, "KESOKU_WEBHOOK="+s.URLs.Webhook)
}

// startBridge makes the topics and subscriptions, dead letters included, and pushes from each to its function.
func (s *Stack) startBridge(ctx, life context.Context) error {
	for _, unread := range []string{"dead-letters", string(bus.TopicLifecycle)} {
		if _, err := emulator.EnsureTopic(ctx, s.PubSub, unread); err != nil {
			return err
		}
	}
	pushed := map[string]string{workspaceEvents: webhook}
	for topic, function := range subscribers() {
		pushed[string(topic)] = function
	}
	var routes []bridge.Route
	for topic, function := range pushed {
		name, err := emulator.EnsureTopic(ctx, s.PubSub, topic)
		if err != nil {
			return err
		}
		_, err = emulator.EnsureSubscription(ctx, s.PubSub, &pubsubpb.Subscription{
			Name: topic + "-push", Topic: name,
			DeadLetterPolicy: &pubsubpb.DeadLetterPolicy{
				DeadLetterTopic: "projects/" + s.opts.Project + "/topics/dead-letters", MaxDeliveryAttempts: maxDeliveries,
			},
		})
		if err != nil {
			return err
		}
		routes = append(routes, bridge.Route{Subscription: topic + "-push", URL: s.Functions[function].URL})
	}
	b, err := bridge.New(bridge.Config{
		Client: s.PubSub, Log: s.opts.Log, Chaos: s.opts.Chaos, Grace: time.Second, MinBackoff: s.opts.MinBackoff, MaxBackoff: s.opts.MaxBackoff,
		Authorize: s.Chat.AuthorizePush,
	})
	if err != nil {
		return err
	}
	s.running.Go(func() {
		if err := b.Run(life, routes...); err != nil && life.Err() == nil {
			s.opts.Log.Error("bridge ended", "error", err)
		}
	})
	return nil
}

// startScheduler publishes for the cron jobs and the sweeps.
func (s *Stack) startScheduler(_, life context.Context) error {
	parsed, err := config.Parse(s.opts.Config)
	if err != nil {
		return err
	}
	var jobs []scheduler.Job
	for _, j := range parsed.Jobs {
		data, err := json.Marshal(bus.Cron{Job: j.Name})
		if err != nil {
			return fmt.Errorf("encode job %s: %w", j.Name, err)
		}
		jobs = append(jobs, scheduler.Job{Name: j.Name, Schedule: j.Schedule, TimeZone: j.TimeZone, Topic: string(bus.TopicCron), Data: data})
	}
	every := s.opts.Sweep
	if every == 0 {
		every = time.Minute
	}
	if every > 0 {
		jobs = append(jobs, scheduler.Job{Name: "sweep", Schedule: "@every " + every.String(), Topic: string(bus.TopicSweeps), Data: []byte("{}")})
	}
	if every > 0 { // one now, so that nobody has to wait to see whether sweeps run
		if err := scheduler.Publish(life, s.PubSub, jobs[len(jobs)-1]); err != nil {
			return err
		}
	}
	s.running.Go(func() {
		if err := scheduler.Run(life, s.PubSub, jobs, s.opts.Log); err != nil {
			s.opts.Log.Error("scheduler ended", "error", err)
		}
	})
	return nil
}

// sample is a page for fetch_url to read, since the model may be asked to on a machine without a network.
func sample(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, `<!doctype html><title>Kesoku</title><h1>Kesoku</h1>
<p>An AI agent that lives where people already talk, and runs on nothing that has to be kept alive.</p>
<p>A message is stored, decided on, answered in a turn and delivered: four functions that forget everything between two calls.</p>`)
}
