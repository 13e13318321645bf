package terraform_test

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// localOnly are variables that move endpoints for the local stack. A deployment talks to Google's own.
var localOnly = []string{"CHAT_ENDPOINT", "WORKSPACE_EVENTS_ENDPOINT", "CHAT_CERTS_URL", "GOOGLE_CERTS_URL", "GEMINI_BASE_URL", "FETCH_ALLOW", "STORAGE_EMULATOR_HOST"}

// reserved are variables that the platform sets; setting one fails the deployment.
var reserved = []string{"FUNCTION_TARGET", "FUNCTION_SIGNATURE_TYPE", "K_SERVICE", "K_REVISION", "K_CONFIGURATION", "PORT", "LOG_EXECUTION_ID"}

// call is the module call of a function, and whether there is one.
func (t *tree) call(name string) (block, bool) { return t.find(root, "module", name) }

// entryPoints: one function is one folder, one file and one module call, all of one name.
func (t *tree) entryPoints() {
	for name, program := range t.code.functions {
		b, ok := t.call(name)
		if !ok {
			t.problem("functions/%s is not deployed: there is no module %q", name, name)
			continue
		}
		if program.entry != name {
			t.problem("functions/%s registers %q, and its entry point is its folder's name", name, program.entry)
		}
		if want := root + "/function_" + strings.ReplaceAll(name, "-", "_") + ".tf"; b.file != want {
			t.problem("%s belongs into %s", b, want)
		}
		if got := t.text(root, b.attr("name")); got != name {
			t.problem("%s is named %q", b, got)
		}
		if got := t.text(root, b.attr("source")); got != "./modules/function" {
			t.problem("%s comes from %q", b, got)
		}
	}
	for _, b := range t.all(root, "module") {
		if _, ok := t.code.functions[b.name()]; !ok {
			t.problem("%s deploys what is not there: functions/%s", b, b.name())
		}
	}
	entry, _ := t.find(function, "resource", "google_cloudfunctions2_function", "this")
	if entry.Block == nil {
		t.problem("%s has no function", function)
		return
	}
	if got := t.source(entry.in("build_config", "entry_point")); got != "var.name" {
		t.problem("%s: its entry point is %q and not its name", entry, got)
	}
	if len(entry.children("event_trigger")) > 0 {
		t.problem("%s has an event_trigger: its subscription would be Eventarc's, without back-off and dead letters of ours", entry)
	}
}

// runtime: the platform's Go must be the module's.
func (t *tree) runtime() {
	major, minor, _ := strings.Cut(t.code.goLine, ".")
	minor, _, _ = strings.Cut(minor, ".")
	v, ok := t.find(root, "variable", "runtime")
	if !ok {
		t.problem("there is no variable runtime")
		return
	}
	if got, want := t.text(root, v.attr("default")), "go"+major+minor; got != want {
		t.problem("%s defaults to %q; go.mod says %q, which is %q", v, got, t.code.goLine, want)
	}
	if t.code.toolchain {
		t.problem("go.mod has a toolchain line: one that is newer than the platform's breaks the build")
	}
}

// environment: a function is given the variables that it reads, all that it cannot do without, and no others.
func (t *tree) environment() {
	b, _ := t.find(function, "resource", "google_cloudfunctions2_function", "this")
	var shared []string
	if b.Block != nil {
		for _, i := range items(b.in("service_config", "environment_variables")) {
			shared = append(shared, i.key)
		}
	}
	var read []string // what the platform, or the local stack alone, sets is nothing that Terraform could
	for _, v := range t.code.shared {
		if !slices.Contains(localOnly, v) && !slices.Contains(reserved, v) {
			read = append(read, v)
		}
	}
	if !slices.Equal(sorted(shared), sorted(read)) {
		t.problem("%s gives every function %q; shared/boot reads %q", function, sorted(shared), sorted(read))
	}
	for name, program := range t.code.functions {
		call, ok := t.call(name)
		if !ok {
			continue
		}
		given, secret := t.given(call, "environment"), t.given(call, "secrets")
		for _, v := range slices.Concat(given, secret) {
			if _, ok := program.variables[v]; !ok {
				t.problem("%s sets %s, which functions/%s does not read", call, v, name)
			}
			if slices.Contains(localOnly, v) {
				t.problem("%s sets %s, which only the local stack sets", call, v)
			}
			if slices.Contains(reserved, v) {
				t.problem("%s sets %s, which is the platform's", call, v)
			}
		}
		for v, required := range program.variables {
			set := slices.Contains(given, v) || slices.Contains(secret, v)
			switch {
			case !set && required:
				t.problem("%s does not set %s, without which functions/%s does not start", call, v, name)
			case !set && !slices.Contains(localOnly, v):
				t.problem("%s does not set %s, which functions/%s reads", call, v, name)
			case isSecret(v) && !slices.Contains(secret, v):
				t.problem("%s sets %s in the open: it belongs into secrets", call, v)
			}
		}
	}
}

// given are the variables that a module call sets by an attribute.
func (t *tree) given(call block, attr string) []string {
	var out []string
	for _, i := range items(call.attr(attr)) {
		if variableName.MatchString(i.key) {
			out = append(out, i.key)
		}
	}
	return out
}

func isSecret(variable string) bool {
	return slices.ContainsFunc([]string{"_KEY", "_TOKEN", "_SECRET", "_PASSWORD"}, func(s string) bool { return strings.HasSuffix(variable, s) })
}

// wiring: a function is woken by its own topic and may publish to those that its code publishes to, no more and no less.
func (t *tree) wiring() {
	for name, program := range t.code.functions {
		call, ok := t.call(name)
		if !ok {
			continue
		}
		var publishes []string
		if e := call.attr("publishes"); e != nil {
			publishes = sorted(literals(e))
		}
		if !slices.Equal(publishes, program.publishes) {
			t.problem("%s may publish to %q; functions/%s publishes to %q", call, publishes, name, program.publishes)
		}
		subscription, topic := call.attr("subscription"), t.code.subscribers[name]
		switch {
		case program.http && subscription != nil:
			t.problem("%s has a subscription, and functions/%s takes no events", call, name)
		case !program.http && subscription == nil:
			t.problem("%s has no subscription: nothing would ever wake functions/%s", call, name)
		case !program.http && !slices.Equal(sorted(literals(subscription)), []string{topic}):
			t.problem("%s is woken by %q; functions/%s is pushed %q", call, sorted(literals(subscription)), name, topic)
		}
	}
}

// sizes: what a function is made of fits together, and it ends before its wake-up comes again.
func (t *tree) sizes() {
	ack := t.number(function, variableDefault(t, "ack_deadline_seconds"))
	for name := range t.code.functions {
		call, ok := t.call(name)
		if !ok {
			continue
		}
		timeout := t.number(root, call.attr("timeout_seconds"))
		if timeout < 1 || timeout >= ack {
			t.problem("%s ends after %v s, which is not before the ack deadline of %v s", call, timeout, ack)
		}
		for _, i := range items(call.attr("environment")) {
			if i.key != "TURN_CHECKPOINT" {
				continue
			}
			checkpoint, err := time.ParseDuration(t.text(root, i.value))
			if err != nil || checkpoint.Seconds()+30 > timeout {
				t.problem("%s: TURN_CHECKPOINT %q leaves less than 30 s of %v s to come to a commit", call, t.text(root, i.value), timeout)
			}
		}
		t.size(call)
	}
}

func (t *tree) size(call block) {
	merged, ok := call.attr("size").(*hclsyntax.FunctionCallExpr)
	if !ok || len(merged.Args) == 0 {
		t.problem("%s: its size is not merge({…}, lookup(var.sizes, …))", call)
		return
	}
	of := map[string]float64{}
	for _, i := range rows(merged.Args[0]) {
		of[i.key] = t.number(root, i.value)
	}
	keys := []string{"concurrency", "cpu", "max_instances", "memory_mib", "min_instances"}
	if !slices.Equal(slices.Sorted(maps.Keys(of)), keys) {
		t.problem("%s: its size has %v, want %v", call, slices.Sorted(maps.Keys(of)), keys)
		return
	}
	if of["concurrency"] > 1 && of["cpu"] < 1 {
		t.problem("%s: concurrency %v needs at least 1 CPU and has %v", call, of["concurrency"], of["cpu"])
	}
	if most := map[bool]float64{true: 4096 * of["cpu"], false: 1024}[of["cpu"] >= 1]; of["memory_mib"] > most || of["memory_mib"] < 128 {
		t.problem("%s: %v MiB do not go with %v CPUs", call, of["memory_mib"], of["cpu"])
	}
	if of["max_instances"] < max(1, of["min_instances"]) {
		t.problem("%s: at most %v instances, at least %v", call, of["max_instances"], of["min_instances"])
	}
	if !slices.Contains(literals(merged.Args[1]), call.name()) {
		t.problem("%s takes another function's size from var.sizes", call)
	}
}

// bundles: the source is named by its content, so that only what changed is deployed, and no path stands in the configuration itself.
func (t *tree) bundles() {
	b, ok := t.find(function, "resource", "google_storage_bucket_object", "source")
	if !ok {
		t.problem("%s uploads no bundle", function)
		return
	}
	if !slices.Contains(references(b.attr("name")), "local.digest") {
		t.problem("%s: its name does not hold the bundle's digest, so a new bundle would change nothing", b)
	}
	for _, l := range t.all(function, "locals") {
		if e := l.attr("digest"); e != nil && !strings.HasPrefix(t.source(e), "try(filesha256(") {
			t.problem("%s: the digest is %s; without `try` a missing bundle breaks even validate", l, t.source(e))
		}
		if e := l.attr("zip"); e != nil && !strings.Contains(t.source(e), "var.platform.dist") {
			t.problem("%s: the bundle is not looked for in var.dist", l)
		}
	}
}

// variables: each has a type and says what it is; what an operator writes is checked.
func (t *tree) variables() {
	for _, module := range []string{root, function} {
		for _, v := range t.all(module, "variable") {
			kind := t.source(v.attr("type"))
			switch {
			case kind == "":
				t.problem("%s has no type", v)
			case t.text(module, v.attr("description")) == "":
				t.problem("%s has no description", v)
			case module == root && kind != "bool" && len(v.children("validation")) == 0:
				t.problem("%s takes whatever is written: it has no validation", v)
			}
		}
	}
	for _, name := range []string{"size", "timeout_seconds", "ack_deadline_seconds", "max_delivery_attempts", "ingress", "name"} {
		if v, ok := t.find(function, "variable", name); !ok || len(v.children("validation")) == 0 {
			t.problem("%s: variable %s has no validation, and no plan would refuse a wrong one", function, name)
		}
	}
	for _, module := range []string{root, function} {
		for _, o := range t.all(module, "output") {
			if t.text(module, o.attr("description")) == "" {
				t.problem("%s has no description", o)
			}
		}
	}
}

// variableDefault is the default of one of the function module's variables.
func variableDefault(t *tree, name string) hclsyntax.Expression {
	v, ok := t.find(function, "variable", name)
	if !ok || v.attr("default") == nil {
		return &hclsyntax.LiteralValueExpr{Val: cty.NullVal(cty.Number)}
	}
	return v.attr("default")
}
