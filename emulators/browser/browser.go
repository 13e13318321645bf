// Package browser drives the local page in headless Chromium for tests: as a person would, by clicks and keys, and by waiting until something
// is to be seen. It knows nothing of Kesoku.
package browser

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var shots = flag.String("shots", "", "directory for screenshots of the page; none are taken without it")

// Pause bounds one step in the browser; it is never waited out when the page works.
const Pause = 30 * time.Second

// Step is one thing done in the browser.
type Step = chromedp.Action[chromedp.Void]

// Scene is several steps, one after another.
type Scene []Step

// Open starts Chromium on the page, in dark mode or not, and returns a function that takes steps in it. Without Chromium the test fails with
// the command that installs it.
func Open(t *testing.T, url string, dark bool) func(Scene) {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("Chromium is missing, which this test needs. Install it with: apt-get install -y --no-install-recommends chromium")
	}
	opts := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1440, 900), chromedp.Flag("hide-scrollbars", true),
	}
	for _, name := range []string{"quic", "background-networking", "component-update", "sync", "dev-shm-usage"} {
		opts = append(opts, chromedp.Flag("disable-"+name, true))
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(func() { cancel(); stop() })
	if err := chromedp.Do(ctx, media(dark), chromedp.Navigate(url), chromedp.WaitVisible(`.place.here`)); err != nil {
		t.Fatal(err)
	}
	return func(scene Scene) {
		t.Helper()
		limited, done := context.WithTimeout(ctx, Pause)
		defer done()
		for i, step := range scene {
			if err := chromedp.Do(limited, step); err != nil {
				t.Fatalf("step %d: %v", i+1, err)
			}
		}
	}
}

// media sets what the person's system prefers.
func media(dark bool) Step {
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return err
	})
}

// Typed presses keys as a keyboard does: a key whose press the page has taken types nothing.
func Typed(keys string, opts ...chromedp.KeyOption) Step {
	return chromedp.KeyEvent(keys, append(opts, func(p *input.DispatchKeyEventParams) {
		if p.Type == kb.KeyDown {
			p.Type = kb.KeyRawDown
		}
	})...)
}

// See waits until a JavaScript expression is true.
func See(expression string) Step {
	return chromedp.Poll[chromedp.Void](`(`+expression+`) || undefined`, chromedp.WithPollingTimeout(Pause))
}

// Shoot takes a picture of the page, when they are asked for by -shots.
func Shoot(name string) Step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if *shots == "" {
			return nil
		}
		png, err := chromedp.CaptureScreenshot()(ctx, target)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o600)
	})
}
