package emulator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Where the emulators lie below the SDK's root. The Pub/Sub jar carries its version in its name.
const (
	firestoreJar = "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"
	pubsubJar    = "platform/pubsub-emulator/lib/cloud-pubsub-emulator-*-all.jar"
)

// ErrNotInstalled says that Java or an emulator is missing on this machine; the error around it names the commands that install them.
var ErrNotInstalled = errors.New("the Firestore and Pub/Sub emulators cannot run here")

// install is the one answer to everything that may be missing.
const install = `install what is missing:
  Java 17 or newer:  apt-get install openjdk-17-jre-headless
  emulators:         gcloud components install cloud-firestore-emulator pubsub-emulator
                     (Debian: apt-get install google-cloud-cli-firestore-emulator google-cloud-cli-pubsub-emulator)
or name the Google Cloud SDK's folder in KESOKU_GCLOUD_SDK`

// tools is what the emulators need from the machine.
type tools struct {
	java, firestore, pubsub string // absolute paths
}

// findTools looks for Java and for the first SDK root that has both emulators.
func findTools(ctx context.Context) (tools, error) {
	var missing []string
	java, err := findJava()
	if err != nil {
		missing = append(missing, err.Error())
	}
	roots := sdkRoots(ctx)
	for _, root := range roots {
		t := tools{java: java, firestore: newest(filepath.Join(root, firestoreJar)), pubsub: newest(filepath.Join(root, pubsubJar))}
		if t.firestore != "" && t.pubsub != "" && java != "" {
			return t, nil
		}
	}
	for _, jar := range []string{firestoreJar, pubsubJar} {
		if !anyHas(roots, jar) {
			missing = append(missing, fmt.Sprintf("no %s below %s", jar, strings.Join(roots, ", ")))
		}
	}
	return tools{}, fmt.Errorf("%w: %s; %s", ErrNotInstalled, strings.Join(missing, "; "), install)
}

func findJava() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		if java, err := exec.LookPath(filepath.Join(home, "bin", "java")); err == nil {
			return java, nil
		}
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("no Java: %w", err)
	}
	return java, nil
}

// sdkRoots lists the folders that may hold the SDK, the likeliest first. An SDK named by KESOKU_GCLOUD_SDK is the only one looked at.
func sdkRoots(ctx context.Context) []string {
	if root := os.Getenv("KESOKU_GCLOUD_SDK"); root != "" {
		return []string{root}
	}
	roots := []string{"/usr/lib/google-cloud-sdk", "/usr/share/google-cloud-sdk", "/opt/google-cloud-sdk", "/usr/local/google-cloud-sdk",
		"/usr/local/share/google-cloud-sdk", "/opt/homebrew/share/google-cloud-sdk", "/snap/google-cloud-sdk/current"}
	if home, err := os.UserHomeDir(); err == nil {
		roots = append(roots, filepath.Join(home, "google-cloud-sdk"))
	}
	if anyHas(roots, firestoreJar) && anyHas(roots, pubsubJar) {
		return roots // Asking gcloud takes a second of Python start-up, and is needed for unusual places only.
	}
	out, err := exec.CommandContext(ctx, "gcloud", "info", "--format=value(installation.sdk_root)").Output()
	if root := strings.TrimSpace(string(out)); err == nil && root != "" {
		roots = append([]string{root}, roots...)
	}
	return roots
}

func anyHas(roots []string, pattern string) bool {
	for _, root := range roots {
		if newest(filepath.Join(root, pattern)) != "" {
			return true
		}
	}
	return false
}

// newest returns the last file by name that matches the pattern, or "".
func newest(pattern string) string {
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}
