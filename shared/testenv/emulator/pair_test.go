package emulator

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pair of its own is started, answers, and is gone after Stop.
func TestStartStop(t *testing.T) {
	t.Parallel()
	var log tail
	e, err := Start(t.Context(), Options{FirestoreHeapMiB: 256, PubSubHeapMiB: 128, Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	if e.FirestoreHost == e.PubSubHost {
		t.Errorf("both on %s", e.PubSubHost)
	}
	want := []string{"FIRESTORE_EMULATOR_HOST=" + e.FirestoreHost, "PUBSUB_EMULATOR_HOST=" + e.PubSubHost}
	if got := e.Environ(); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("Environ() = %v, want %v", got, want)
	}
	if log.String() == "" {
		t.Error("nothing of the emulators' output reached Options.Log")
	}
	for range 2 { // A second Stop does nothing.
		if err := e.Stop(); err != nil {
			t.Errorf("Stop: %v", err)
		}
	}
	<-e.Ended()
	for _, p := range e.processes {
		if err := syscall.Kill(-p.pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process group of %s after Stop: %v, want none", p.name, err)
		}
	}
}

// An emulator that ends while it starts is reported at once, with its own words, and nothing else stays behind.
func TestStartBrokenJar(t *testing.T) {
	root := fakeSDK(t)
	t.Setenv("KESOKU_GCLOUD_SDK", root)
	_, err := Start(t.Context(), Options{})
	if err == nil {
		t.Fatal("Start succeeded with empty jars")
	}
	if !strings.Contains(err.Error(), "ended before it was ready") || !strings.Contains(err.Error(), ".jar") {
		t.Errorf("error does not quote Java: %v", err)
	}
}

// A machine without emulators gets one error that names every command it needs.
func TestStartNotInstalled(t *testing.T) {
	t.Setenv("KESOKU_GCLOUD_SDK", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	t.Setenv("PATH", t.TempDir())
	_, err := Start(t.Context(), Options{})
	if !errors.Is(err, ErrNotInstalled) {
		t.Fatalf("err = %v, want ErrNotInstalled", err)
	}
	for _, want := range []string{"no Java", firestoreJar, pubsubJar, "gcloud components install cloud-firestore-emulator pubsub-emulator",
		"apt-get install openjdk-17-jre-headless", "google-cloud-cli-firestore-emulator google-cloud-cli-pubsub-emulator"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not name %q: %v", want, err)
		}
	}
}

func fakeSDK(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, jar := range []string{firestoreJar, strings.Replace(pubsubJar, "*", "0.0.1", 1)} {
		path := filepath.Join(root, jar)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
