package terraform_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// grants are the roles that exist and may be given, each on what kinds of resource. All else is a slip or too much.
var grants = map[string][]string{
	"roles/run.invoker":                  {"google_cloud_run_v2_service_iam_member"},
	"roles/pubsub.publisher":             {"google_pubsub_topic_iam_member"},
	"roles/pubsub.subscriber":            {"google_pubsub_subscription_iam_member"},
	"roles/secretmanager.secretAccessor": {"google_secret_manager_secret_iam_member"},
	"roles/storage.objectCreator":        {"google_storage_bucket_iam_member"},
	"roles/storage.objectViewer":         {"google_storage_bucket_iam_member", "google_project_iam_member"},
	"roles/datastore.user":               {"google_project_iam_member"},
	"roles/aiplatform.user":              {"google_project_iam_member"},
	"roles/artifactregistry.writer":      {"google_project_iam_member"},
	"roles/logging.logWriter":            {"google_project_iam_member"},
	"roles/telemetry.tracesWriter":       {"google_project_iam_member"},
}

// conditional are roles that are given on the project only under a condition that narrows them to one resource.
var conditional = []string{"roles/datastore.user", "roles/storage.objectViewer"}

var primitive = regexp.MustCompile(`^roles/(owner|editor|viewer|.*[aA]dmin)$`)

// byArgument are the arguments of modules/function by which a function is given roles, and what on.
var byArgument = map[string]string{"staging_roles": "google_storage_bucket_iam_member", "project_roles": "google_project_iam_member"}

// roles: known ones, on the smallest resource there is, added one by one.
func (t *tree) roles() {
	for _, b := range t.blocks {
		switch b.Type {
		case "resource":
			if regexp.MustCompile(`_iam_(policy|binding)$`).MatchString(b.kind()) {
				t.problem("%s takes away what others were granted: add members one by one", b)
			}
			t.mayGrant(b, literals(b.Body), b.kind())
		case "module":
			for name, argument := range b.Body.Attributes {
				t.mayGrant(b, literals(argument.Expr), byArgument[name])
			}
		}
	}
}

// mayGrant: roles among the strings of a block, given on a kind of resource.
func (t *tree) mayGrant(b block, texts []string, on string) {
	for _, role := range texts {
		switch {
		case !strings.HasPrefix(role, "roles/"):
		case primitive.MatchString(role):
			t.problem("%s grants %s, which is far more than anything here needs", b, role)
		case grants[role] == nil:
			t.problem("%s grants %s, a role that nobody knows here", b, role)
		case !slices.Contains(grants[role], on):
			t.problem("%s grants %s on %q; it belongs on %q", b, role, on, grants[role])
		case on == "google_project_iam_member" && slices.Contains(conditional, role) && len(b.children("condition")) == 0:
			t.problem("%s grants %s on the whole project without a condition", b, role)
		}
	}
}

// order: a function has its rights and indexes before code that needs them comes, and keeps them until the code that needed them is gone.
func (t *tree) order() {
	b, _ := t.find(function, "resource", "google_cloudfunctions2_function", "this")
	if b.Block == nil {
		t.problem("%s has no function", function)
		return
	}
	for _, grant := range t.all(function, "resource") {
		if t.source(grant.attr("member")) != "google_service_account.this.member" {
			continue
		}
		if !slices.Contains(references(b.attr("depends_on")), grant.kind()+"."+grant.name()) {
			t.problem("%s does not wait for %s", b, grant)
		}
		if grant.attr("for_each") != nil && !t.isTrue(function, grant.in("lifecycle", "create_before_destroy")) {
			t.problem("%s is taken away while the old code still needs it", grant)
		}
	}
	for _, call := range t.all(root, "module") {
		if !slices.Contains(references(call.attr("depends_on")), "google_firestore_index.composite") {
			t.problem("%s does not wait for the indexes of its queries", call)
		}
	}
	if index, ok := t.find(root, "resource", "google_firestore_index", "composite"); ok && !t.isTrue(root, index.in("lifecycle", "create_before_destroy")) {
		t.problem("%s is taken away while the old code still needs it", index)
	}
}

// public: webhooks can be called by everybody, and nothing else by anybody but Pub/Sub.
func (t *tree) public() {
	open := map[string]bool{}
	for _, b := range t.blocks {
		for _, l := range literals(b.Body) {
			if l != "allUsers" && l != "allAuthenticatedUsers" {
				continue
			}
			name := strings.TrimSuffix(strings.TrimPrefix(path.Base(b.file), "function_"), ".tf")
			webhook := t.code.functions[name].http && b.Type == "resource" && b.kind() == "google_cloud_run_v2_service_iam_member" &&
				t.source(b.attr("name")) == "module."+name+".name" && t.text(root, b.attr("role")) == "roles/run.invoker" && l == "allUsers"
			if !webhook {
				t.problem("%s opens something to %s that is no webhook of its own file", b, l)
			}
			open[name] = true
		}
	}
	for name, program := range t.code.functions {
		call, ok := t.call(name)
		if !ok {
			continue
		}
		ingress := t.text(function, variableDefault(t, "ingress"))
		if e := call.attr("ingress"); e != nil {
			ingress = t.text(root, e)
		}
		switch {
		case program.http && !open[name]:
			t.problem("%s is a webhook that nobody may call", call)
		case program.http && ingress != "ALLOW_ALL":
			t.problem("%s is a webhook with ingress %q", call, ingress)
		case !program.http && ingress != "ALLOW_INTERNAL_ONLY":
			t.problem("%s is no webhook and has ingress %q", call, ingress)
		}
	}
}

var secretID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)

// secrets: no value ever passes through the state.
func (t *tree) secrets() {
	for _, b := range t.blocks {
		if b.Type == "resource" && b.kind() == "google_secret_manager_secret_version" && b.attr("secret_data") != nil {
			t.problem("%s puts a secret into the state: leave it out, or use secret_data_wo", b)
		}
	}
	for _, b := range t.resources("google_secret_manager_secret") {
		if id := t.text(root, b.attr("secret_id")); !secretID.MatchString(id) {
			t.problem("%s: %q is no id of a secret", b, id)
		}
	}
	for _, v := range t.all(root, "variable") {
		if isSecret(strings.ToUpper("_"+v.name())) && !t.isTrue(root, v.attr("ephemeral")) {
			t.problem("%s looks like a secret and would end in the state: make it ephemeral", v)
		}
	}
	for name := range t.code.functions {
		call, ok := t.call(name)
		if !ok || call.attr("secrets") == nil {
			continue
		}
		if !slices.ContainsFunc(references(call.attr("secrets")), func(r string) bool {
			secret, ok := strings.CutPrefix(r, "google_secret_manager_secret.")
			_, found := t.find(root, "resource", "google_secret_manager_secret", secret)
			return ok && found
		}) {
			t.problem("%s reads a secret that is not created here", call)
		}
	}
	if b := t.resources("google_secret_manager_secret_iam_member"); len(b) == 0 || t.source(b[0].attr("for_each")) != "toset([for s in var.secrets : s.secret])" {
		t.problem("%s does not let a function read exactly its own secrets", function)
	}
}

// state: nothing of one deployment is in the repository.
func (t *tree) state() {
	for p := range t.files {
		name := path.Base(p)
		if strings.Contains(name, ".tfstate") || name == ".terraform.lock.hcl" || (strings.HasSuffix(name, ".tfvars") && !strings.HasSuffix(name, ".example.tfvars")) {
			t.problem("%s belongs to one deployment or one machine, not to the repository", p)
		}
	}
	backends := 0
	for _, b := range t.all(root, "terraform") {
		for _, backend := range b.children("backend") {
			backends++
			if backend.Labels[0] != "gcs" || len(backend.Body.Attributes) > 0 {
				t.problem("%s: the backend is a gcs whose bucket is given at init", backend)
			}
		}
	}
	if backends != 1 {
		t.problem("there are %d backends, and one is needed", backends)
	}
}

// services are the APIs that a kind of resource needs, by the beginning of its name.
var services = map[string][]string{
	"google_firestore_": {"firestore"}, "google_pubsub_": {"pubsub"}, "google_service_account": {"iam"}, "google_storage_": {"storage"},
	"google_project_iam_": {"cloudresourcemanager"}, "google_secret_manager_": {"secretmanager"}, "google_cloud_scheduler_": {"cloudscheduler"},
	"google_cloudfunctions2_": {"cloudfunctions", "cloudbuild", "run", "artifactregistry"}, "google_cloud_run_": {"run"},
	"google_logging_": {"logging"}, "google_monitoring_": {"monitoring"}, "google_billing_": {"billingbudgets"}, "google_project_service": nil,
}

// apis: everything that is used is enabled, and before it is used.
func (t *tree) apis() {
	enabled := literals(t.local("apis"))
	need := func(b block, api string) {
		if !slices.Contains(enabled, api+".googleapis.com") {
			t.problem("%s needs %s.googleapis.com, which is not enabled", b, api)
		}
	}
	for _, b := range t.blocks {
		if b.Type != "resource" {
			continue
		}
		known := false
		for prefix, apis := range services {
			if strings.HasPrefix(b.kind(), prefix) {
				known = true
				for _, api := range apis {
					need(b, api)
				}
			}
		}
		if !known {
			t.problem("%s is of a kind whose API nobody knows here", b)
		}
	}
	for _, b := range t.blocks {
		if slices.Contains(literals(b.Body), "roles/aiplatform.user") {
			need(b, "aiplatform")
		}
		if slices.Contains(literals(b.Body), "roles/telemetry.tracesWriter") {
			need(b, "telemetry")
			need(b, "cloudtrace") // the Telemetry API drops spans without it
		}
		if b.module() == root && (b.Type == "module" || (b.Type == "resource" && b.kind() != "google_project_service")) && !t.waits(b, map[string]bool{}) {
			t.problem("%s does not wait for the APIs: it fails on an empty project", b)
		}
	}
}

// waits reports whether a block leads to the enabled APIs by what it refers to. A module waits as a whole only by its depends_on.
func (t *tree) waits(b block, seen map[string]bool) bool {
	if seen[b.String()] {
		return false
	}
	seen[b.String()] = true
	var refs []string
	switch {
	case b.Type == "module" && b.attr("depends_on") == nil:
		return false
	case b.Type == "module":
		refs = references(b.attr("depends_on"))
	default:
		refs = references(b.Body)
	}
	return slices.ContainsFunc(refs, func(r string) bool {
		kind, name, _ := strings.Cut(r, ".")
		if kind == "google_project_service" {
			return true
		}
		next, ok := t.find(root, "resource", kind, name)
		if kind == "module" {
			next, ok = t.find(root, "module", name)
		}
		return ok && t.waits(next, seen)
	})
}

// buckets: private, whole, and cleaned.
func (t *tree) buckets() {
	for _, b := range t.resources("google_storage_bucket") {
		if !t.isTrue(root, b.attr("uniform_bucket_level_access")) {
			t.problem("%s: access is not uniform", b)
		}
		if t.text(root, b.attr("public_access_prevention")) != "enforced" {
			t.problem("%s can be opened to the public", b)
		}
		if len(b.children("lifecycle_rule")) == 0 {
			t.problem("%s grows for ever: it has no lifecycle rule", b)
		}
		if b.name() != "source" && (b.attr("force_destroy") != nil || t.text(root, b.attr("deletion_policy")) != "ABANDON") {
			t.problem("%s would be deleted with the deployment", b)
		}
	}
}
