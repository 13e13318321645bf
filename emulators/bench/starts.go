package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"kesoku.dev/emulators/stack"
	"kesoku.dev/shared/clock"
)

// Function is what was measured of one function's own process. Times are medians, in milliseconds.
type Function struct {
	Name  string  `json:"name"`
	Zip   int64   `json:"zip_bytes"`  // of the archive that it is deployed from; 0 if there is none
	Size  int64   `json:"size_bytes"` // of the binary that the platform makes of it; 0 if there is none
	Start float64 `json:"start_ms"`   // from exec to the first answer of any kind but a failure
	// FirstEvent is from exec to the first event dealt with (200): connected, its wake-up refused and recorded; at a webhook, its sender refused.
	FirstEvent float64 `json:"first_event_ms"`
}

const (
	// startWithin bounds one start.
	startWithin = 30 * time.Second
	// askEvery is how often a function that starts is asked; it is also how exact the times are.
	askEvery = time.Millisecond
)

// badEvent is a push that every function refuses for good: no wake-up decodes from its data, which is {"bench":1}.
const badEvent = `{"message":{"messageId":"1","data":"eyJiZW5jaCI6MX0="},"subscription":"projects/bench/subscriptions/bench"}`

// starts measures the start of each function, beside a stack that tells it its environment.
func (o Options) starts(ctx context.Context) ([]Function, error) {
	d, err := o.start(ctx, Profile{Clients: 1, Spaces: 1}, o.Emulators)
	if err != nil {
		return nil, err
	}
	defer d.Stop()
	var out []Function
	for _, name := range stack.Functions() {
		f := Function{Name: name}
		f.Zip, f.Size = sizesOf(o.Command, name)
		var starts, events []time.Duration
		for range o.Starts {
			started, first, err := o.startOnce(ctx, name, d.Stack.Environ())
			if err != nil {
				return nil, fmt.Errorf("start function %s: %w", name, err)
			}
			starts, events = append(starts, started), append(events, first)
		}
		f.Start, f.FirstEvent = milliseconds(percentile(starts, 0.5)), milliseconds(percentile(events, 0.5))
		out = append(out, f)
	}
	return out, nil
}

// startOnce starts a function, has it answer twice, and ends it.
func (o Options) startOnce(ctx context.Context, name string, env []string) (started, first time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	port, err := freePort(ctx)
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.CommandContext(ctx, o.Command[0], o.Command[1:]...) //nolint:gosec // our own binary
	cmd.Env = slices.Concat(os.Environ(), env, []string{"FUNCTION_TARGET=" + name, "PORT=" + port})
	cmd.Stdout, cmd.Stderr = o.FunctionLog, o.FunctionLog
	url := "http://127.0.0.1:" + port
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	if err := untilAnswered(ctx, client, http.MethodGet, url, ""); err != nil {
		return 0, 0, err
	}
	started = time.Since(began)
	err = untilAnswered(ctx, client, http.MethodPost, url+"/projects/bench/topics/bench", badEvent)
	return started, time.Since(began), err
}

// untilAnswered asks until the answer is no failure.
func untilAnswered(ctx context.Context, client *http.Client, method, url, body string) error {
	last := "no answer"
	for {
		req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // the status says it all
			_ = resp.Body.Close()
			if resp.StatusCode < http.StatusInternalServerError {
				return nil
			}
			last = resp.Status
		}
		if err := (clock.System{}).Sleep(ctx, askEvery); err != nil {
			return fmt.Errorf("%s %s: %s: %w", method, url, last, err)
		}
	}
}

func freePort(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return port, l.Close()
}
