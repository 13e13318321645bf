package archtest

import "slices"

// Patterns name packages by their folder ("shared/bus") or, outside this module, by import path. "x/..." is x and all below it,
// "x/*" is all below x without x itself.

// topNames is all that may stand at the root. Dotfiles are free.
var topNames = []string{"functions", "shared", "infra", "terraform", "emulators", "go.mod", "go.sum", "Makefile", "README.md", "AGENTS.md", "LICENSE", "docs",
	"dist"} // dist is what infra/bundle builds; git ignores it.

// skipped are folders of tools, not of the source.
var skipped = []string{".git", ".bin", ".terraform", "dist", "node_modules"}

// ban is a forbidden import.
type ban struct {
	from   []string
	except []string // of from
	to     []string
	tests  bool // holds for test files too
	reason string
}

var (
	adapters  = []string{"shared/store/...", "shared/bus/...", "shared/blob/...", "shared/model/...", "shared/platform/...", "shared/tool/..."}
	executors = []string{"shared/turn/...", "shared/deliver/...", "shared/pipeline/...", "shared/compact/..."}
	everybody = []string{"..."}
)

var bans = []ban{
	{from: []string{"shared/..."}, to: []string{"functions/...", "infra/...", "terraform/...", "emulators/..."}, tests: true,
		reason: "shared is the library: it imports nothing from the other folders"},
	{from: []string{"functions/..."}, to: []string{"infra/...", "terraform/...", "emulators/..."}, tests: true,
		reason: "a function is deployed with shared alone"},
	{from: []string{"infra/..."}, to: []string{"functions/...", "emulators/..."},
		reason: "importing a function runs its init, and operators' tools do not serve functions"},
	{from: []string{"shared/errs", "shared/clock"}, to: []string{"shared/...", "functions/...", "infra/...", "emulators/..."},
		reason: "everything imports these two, so they import nothing of ours"},
	{from: adapters, to: append([]string{"shared/boot/..."}, executors...),
		reason: "arrows point from the executors to the adapters"},
	{from: executors, to: []string{"shared/store/...", "shared/blob/...", "shared/boot/...", "shared/model/*", "shared/platform/*"},
		reason: "an executor reaches a store, a model or a platform through the small interface that it declares or the contract; of bus it " +
			"uses the envelopes"},
	{from: []string{"shared/store/..."}, to: []string{"shared/bus/...", "shared/blob/..."}, reason: "one adapter, one system"},
	{from: []string{"shared/bus/..."}, to: []string{"shared/store/...", "shared/blob/..."}, reason: "one adapter, one system"},
	{from: []string{"shared/blob/..."}, to: []string{"shared/store/...", "shared/bus/..."}, reason: "one adapter, one system"},
	{from: everybody, except: []string{"shared/testenv/...", "shared/boot/boottest", "emulators/..."}, to: []string{"shared/testenv/..."},
		reason: "the test environment is for tests and the local stack"},
	{from: []string{"emulators/googlechat/...", "emulators/discord/...", "emulators/wechat/...", "emulators/models/...", "emulators/storage/...",
		"emulators/scheduler/...", "emulators/telemetry/..."}, to: []string{"shared/*", "functions/...", "infra/..."}, except: nil,
		reason: "a stand-in knows the public protocol only, else it repeats our mistakes"},

	{from: everybody, except: []string{"shared/store/...", "shared/testenv/...", "emulators/..."}, to: []string{"cloud.google.com/go/firestore/..."},
		reason: "store is the only package that knows Firestore"},
	{from: everybody, except: []string{"shared/bus/...", "shared/boot/...", "shared/testenv/...", "emulators/..."},
		to: []string{"cloud.google.com/go/pubsub/..."}, reason: "bus is the only package that knows Pub/Sub; boot wires its client"},
	{from: everybody, except: []string{"shared/blob/...", "emulators/storage/..."}, to: []string{"google.golang.org/api/storage/..."},
		reason: "blob is the only package that knows Cloud Storage; its stand-in is tested with Google's client"},
	{from: everybody, to: []string{"cloud.google.com/go/storage/..."}, tests: true,
		reason: "its gRPC half doubles the size of every function; the JSON API's client is enough for blob"},
	{from: everybody, except: []string{"shared/model/gemini/..."}, to: []string{"google.golang.org/genai/..."},
		reason: "a model's SDK stays in its driver"},
	{from: everybody, except: []string{"shared/model/generativeai/..."}, to: []string{"github.com/google/generative-ai-go/..."},
		reason: "a model's SDK stays in its driver"},
	{from: everybody, except: []string{"shared/model/openai/..."}, to: []string{"github.com/openai/..."}, reason: "a model's SDK stays in its driver"},
	{from: everybody, except: []string{"shared/model/claude/..."}, to: []string{"github.com/anthropics/..."},
		reason: "a model's SDK stays in its driver"},
	{from: everybody, except: []string{"shared/platform/googlechat/...", "emulators/googlechat/..."},
		to:     []string{"google.golang.org/api/chat/...", "google.golang.org/api/workspaceevents/..."},
		reason: "a platform's SDK stays in its adapter"},
	{from: everybody, except: []string{"shared/telemetry/export"},
		to:     []string{"go.opentelemetry.io/otel/sdk/...", "go.opentelemetry.io/otel/exporters/...", "go.opentelemetry.io/contrib/..."},
		reason: "telemetry/export is the only package that knows OpenTelemetry's SDK; everybody else has its API, by way of telemetry"},
	{from: everybody, except: []string{"shared/boot", "emulators/..."}, to: []string{"shared/telemetry/export"},
		reason: "boot makes an instance's exporter; nobody else asks where spans go"},
	{from: []string{"shared/..."}, except: []string{"shared/boot/..."}, to: []string{"github.com/GoogleCloudPlatform/functions-framework-go/..."},
		reason: "only functions and the local stack are served by the functions framework"},
}

// allowedStandIns is what a stand-in may import of shared: time, so that its tests need not sleep.
var allowedStandIns = []string{"shared/clock"}

// siblings are folders whose children must not import one another.
var siblings = []struct {
	parent string
	tests  bool
	reason string
}{
	{"functions", true, "one folder is one deployable; what two need belongs to shared"},
	{"shared/model", false, "a driver knows the contract, not the other drivers"},
	{"shared/platform", false, "an adapter knows the contract, not the other adapters"},
}

// pure packages compute: no network, no files, no clients. They import the standard library, each other, and what stands beside their name.
var pure = map[string][]string{
	"shared/message": nil, "shared/chat": nil, "shared/session": nil, "shared/history": nil, "shared/errs": nil, "shared/clock": nil,
	"shared/urge":           nil,
	"shared/listen":         nil,
	"shared/render":         {"github.com/yuin/goldmark/...", "github.com/rivo/uniseg/..."}, // Markdown; grapheme clusters
	"shared/render/compose": {"github.com/yuin/goldmark/..."},                               // which tells code from text
	"shared/locale":         {"golang.org/x/text/..."},
	"shared/censor":         {"golang.org/x/text/..."}, // case folding, compatibility forms
	"shared/hooks":          nil,
}

// impure are the parts of the standard library that a pure package must not import.
var impure = []string{"net/http/...", "net", "os/...", "syscall", "database/..."}

// reaches are packages that must not be linked, not even by way of others.
var reaches = []struct {
	from, to []string
	reason   string
}{
	{[]string{"shared/boot"}, []string{"shared/model/...", "shared/platform/...", "shared/tool/..."},
		"each function wires the models, platforms and tools that it serves"},
	{[]string{"functions/toolbox"}, []string{"shared/store/...", "shared/bus/...", "shared/blob/..."},
		"the sandbox has no privileges, so it has nothing to do with data"},
}

// partial is what only some functions may link: the models' and the platforms' adapters, which alone import the SDKs. What all of them need
// (the contracts, tokens and verification) is not in it.
var partial = []string{"shared/model/*", "shared/platform/googlechat", "shared/platform/discord", "shared/platform/wechat",
	"google.golang.org/genai/...", "github.com/google/generative-ai-go/...", "github.com/openai/...", "github.com/anthropics/...",
	"google.golang.org/api/chat/..."}

var (
	models    = []string{"shared/model/...", "google.golang.org/genai/...", "github.com/google/generative-ai-go/...", "github.com/openai/...", "github.com/anthropics/..."}
	platforms = []string{"shared/platform/...", "google.golang.org/api/chat/..."}
)

// links says of each function which of partial it may link, by whatever way. A function that is not listed is a violation: a cold start that
// somebody waits for must not pay for what it never uses.
var links = map[string][]string{
	"googlechat": nil, "discord": nil, "wechat": nil, "api": nil, // they verify, store and wake
	"pipeline": slices.Concat(platforms, models), // fetches what people attached; asks a model whether a message is for it
	"turn":     models,
	"deliver":  platforms,
	"cron":     nil,
	"sweep":    platforms, // keeps the subscriptions by which rooms are heard; nobody waits for it
	"toolbox":  nil,
	"console":  nil,
}

// environmentReaders may read the process's environment; infra/bundle hands it on to the go command and reads nothing of it.
var environmentReaders = []string{"shared/boot/...", "shared/testenv/...", "emulators/...", "infra/bundle/..."}

// Budgets, in lines. Test and generated files are free of them.
const (
	maxFunction = 60
	maxFile     = 400
)

// overBudget lists what may break a budget, each with its reason: a file's path, or "file.go:Function".
var overBudget = map[string]string{}
