package e2e_test

import (
	"os"
	"testing"

	"kesoku.dev/emulators/e2e/host"
)

func TestMain(m *testing.M) {
	serveFunction()
	os.Exit(host.Main(m))
}
