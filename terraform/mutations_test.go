package terraform_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// mutation is one mismatch: a text of the deployment, or a fact of the code, that is changed, and what check says to it.
type mutation struct {
	name     string
	file     string
	old, new string // an empty old makes new the whole file, an empty new with it removes the file
	code     func(*code)
	want     string
}

var ofFunctions = []mutation{
	{name: "syntax", file: "terraform/main.tf", old: "locals {", new: "locals {{", want: "does not parse"},
	{name: "function without a module", file: "terraform/function_cron.tf", old: `module "cron"`, new: `module "crons"`, want: `functions/cron is not deployed`},
	{name: "function that is not there", code: func(c *code) { delete(c.functions, "sweep") }, want: "deploys what is not there: functions/sweep"},
	{name: "function that is new", code: func(c *code) { c.functions["discord"] = program{entry: "discord"} }, want: "functions/discord is not deployed"},
	{name: "entry point", code: func(c *code) { edit(c, "turn", func(p *program) { p.entry = "turns" }) }, want: `functions/turn registers "turns"`},
	{name: "function of another name", file: "terraform/function_cron.tf", old: `"cron"` + "\n  description", new: `"clock"` + "\n  description", want: `is named "clock"`},
	{name: "entry point in Terraform", file: "terraform/modules/function/main.tf", old: "entry_point     = var.name", new: `entry_point     = "main"`, want: "entry point is"},
	{name: "event trigger", file: "terraform/modules/function/main.tf", old: "  service_config {", new: "  event_trigger {\n    event_type = \"x\"\n  }\n  service_config {", want: "event_trigger"},
	{name: "runtime", file: "terraform/variables.tf", old: `default     = "go126"`, new: `default     = "go125"`, want: `defaults to "go125"`},
	{name: "go line", code: func(c *code) { c.goLine = "1.27.0" }, want: `go.mod says "1.27.0"`},
	{name: "toolchain", code: func(c *code) { c.toolchain = true }, want: "toolchain line"},
	{name: "variable misspelt", file: "terraform/function_googlechat.tf", old: "CHAT_AUDIENCE ", new: "CHAT_AUDIENZ  ", want: "sets CHAT_AUDIENZ, which functions/googlechat does not read"},
	{name: "required variable missing", file: "terraform/function_googlechat.tf", old: "CHAT_PROJECT_NUMBER = var.project_number", new: "", want: "does not set CHAT_PROJECT_NUMBER, without which"},
	{name: "variable that the code learned", code: func(c *code) { edit(c, "cron", func(p *program) { p.variables["CRON_EARLY"] = false }) }, want: "does not set CRON_EARLY"},
	{name: "Workspace events with a token for another address", file: "terraform/function_googlechat.tf", old: "audience              = local.webhook_url", new: "audience              = module.googlechat.uri", want: "takes tokens for its own address alone"},
	{name: "Workspace events by a stranger", file: "terraform/function_googlechat.tf", old: "service_account_email = google_service_account.invoker.email", new: "service_account_email = google_service_account.builder.email", want: "whom the webhook does not know"},
	{name: "endpoint moved in a deployment", file: "terraform/function_deliver.tf", old: "CHAT_ACTION_URL = ", new: "CHAT_ENDPOINT = \"x\"\n    CHAT_ACTION_URL = ", want: "only the local stack sets"},
	{name: "variable of the platform", file: "terraform/function_turn.tf", old: "TURN_CHECKPOINT = ", new: "K_SERVICE = \"x\"\n    TURN_CHECKPOINT = ", want: "which is the platform's"},
	{name: "secret forgotten", file: "terraform/function_turn.tf", old: "  secrets = {", new: "  unsecrets = {", want: "does not set GEMINI_API_KEY"},
	{name: "secret in the open", code: func(c *code) {
		edit(c, "deliver", func(p *program) { p.variables["CHAT_TOKEN"], p.variables["CHAT_ACTION_URL"] = false, false })
	}, file: "terraform/function_deliver.tf", old: "CHAT_ACTION_URL = ", new: "CHAT_TOKEN = \"x\"\n    CHAT_ACTION_URL = ", want: "sets CHAT_TOKEN in the open"},
	{name: "shared variable", file: "terraform/modules/function/main.tf", old: "STAGING_BUCKET = ", new: "BUCKET = ", want: "gives every function"},
	{name: "publishes too little", file: "terraform/function_pipeline.tf", old: `, google_pubsub_topic.wake["deliveries"].name,`, new: ",", want: `may publish to ["turns"]`},
	{name: "publishes too much", file: "terraform/function_cron.tf", old: `[google_pubsub_topic.wake["turns"].name]`, new: `[google_pubsub_topic.wake["turns"].name, google_pubsub_topic.wake["sweeps"].name]`, want: `may publish to ["sweeps" "turns"]`},
	{name: "woken by another's topic", file: "terraform/function_turn.tf", old: `wake["turns"].id`, new: `wake["cron"].id`, want: `is woken by ["cron" "turns"]`},
	{name: "dead letters of another", file: "terraform/function_sweep.tf", old: `dead["sweeps"]`, new: `dead["cron"]`, want: `functions/sweep is pushed "sweeps"`},
	{name: "never woken", file: "terraform/function_sweep.tf", old: "subscription = {", new: "abonnement = {", want: "has no subscription"},
	{name: "webhook with a subscription", code: func(c *code) { edit(c, "cron", func(p *program) { p.http = true }) }, want: "takes no events"},
	{name: "longer than the ack deadline", file: "terraform/function_turn.tf", old: "timeout_seconds = 540", new: "timeout_seconds = 3600", want: "not before the ack deadline"},
	{name: "checkpoint too late", file: "terraform/function_turn.tf", old: `"480s"`, new: `"530s"`, want: "less than 30 s"},
	{name: "concurrency without a CPU", file: "terraform/function_cron.tf", old: "concurrency = 1", new: "concurrency = 4", want: "needs at least 1 CPU"},
	{name: "memory without CPUs", file: "terraform/function_sweep.tf", old: "memory_mib = 256", new: "memory_mib = 2048", want: "do not go with"},
	{name: "another's size", file: "terraform/function_sweep.tf", old: `lookup(var.sizes, "sweep"`, new: `lookup(var.sizes, "cron"`, want: "another function's size"},
	{name: "bundle without its digest", file: "terraform/modules/function/main.tf", old: "${local.digest}.zip", new: "source.zip", want: "does not hold the bundle's digest"},
	{name: "path that must exist", file: "terraform/modules/function/main.tf", old: `try(filesha256(local.zip), "missing")`, new: "filesha256(local.zip)", want: "breaks even validate"},
	{name: "bundle without a name", file: "terraform/modules/function/main.tf", old: `  name   = "${var.name}/${local.digest}.zip"`, new: "", want: "does not hold the bundle's digest"},
	{name: "variable without a type", file: "terraform/variables.tf", old: "type        = set(string)", new: "", want: "has no type"},
	{name: "variable without a check", file: "terraform/variables.tf", old: "  validation {\n    condition     = can(regex(\"^[0-9]{6,20}$\"", new: "  check {\n    condition     = can(regex(\"^[0-9]{6,20}$\"", want: "variable.project_number takes whatever is written"},
	{name: "limit without a check", file: "terraform/modules/function/variables.tf", old: "  validation {\n    condition     = var.max_delivery_attempts", new: "  check {\n    condition     = var.max_delivery_attempts", want: "variable max_delivery_attempts has no validation"},
}

// tableRule is the line between the head and the rows of the page's table.
const tableRule = "| --- | --- | --- | --- |\n"

var ofAccess = []mutation{
	{name: "primitive role", file: "terraform/build.tf", old: `"roles/artifactregistry.writer"`, new: `"roles/editor"`, want: "grants roles/editor, which is far more"},
	{name: "role that does not exist", file: "terraform/modules/function/main.tf", old: "roles/secretmanager.secretAccessor", new: "roles/secretmanager.accessor", want: "a role that nobody knows"},
	{name: "role on the project", file: "terraform/function_turn.tf", old: `"roles/aiplatform.user"`, new: `"roles/pubsub.publisher"`, want: `grants roles/pubsub.publisher on "google_project_iam_member"`},
	{name: "role of an argument", file: "terraform/function_turn.tf", old: "staging_roles =", new: "bucket_roles  =", want: `grants roles/storage.objectCreator on ""`},
	{name: "database's role on the project", file: "terraform/function_turn.tf", old: `"roles/aiplatform.user"`, new: `"roles/datastore.user"`, want: "grants roles/datastore.user on the whole project without a condition"},
	{name: "API of a role", file: "terraform/main.tf", old: `    "aiplatform.googleapis.com",` + "\n", new: "", want: "needs aiplatform.googleapis.com"},
	{name: "grant that no page tells", file: securityFile, old: "| `kesoku-cron` | `roles/pubsub.publisher`", new: "| `kesoku-clock` | `roles/pubsub.publisher`", want: "does not say: kesoku-cron | roles/pubsub.publisher | topic turns"},
	{name: "page that tells of no grant", file: securityFile, old: tableRule, new: tableRule + "| `kesoku-sweep` | `roles/pubsub.publisher` | topic sweeps | So it is |\n", want: "says what nothing grants: kesoku-sweep | roles/pubsub.publisher | topic sweeps"},
	{name: "row without a reason", file: securityFile, old: tableRule, new: tableRule + "| `kesoku-sweep` | `roles/pubsub.publisher` | topic turns | |\n", want: "a row has four cells"},
	{name: "page gone", file: securityFile, want: "does not say: allUsers"},
	{name: "grant of an argument", file: "terraform/function_turn.tf", old: `["roles/storage.objectCreator", "roles/storage.objectViewer"]`, new: `["roles/storage.objectCreator"]`, want: "says what nothing grants: kesoku-turn | roles/storage.objectViewer | bucket PROJECT-kesoku-staging"},
	{name: "grant for another", file: "terraform/pubsub.tf", old: "member = local.pubsub_agent", new: "member = google_service_account.builder.member", want: "does not say: kesoku-builder | roles/pubsub.publisher | topic turns-dead"},
	{name: "condition on another database", file: "terraform/modules/function/main.tf", old: "/databases/${var.platform.database}", new: "/databases/backup", want: "does not say: kesoku-sweep | roles/datastore.user | database backup"},
	{name: "condition that leaves more", file: "terraform/modules/function/main.tf", old: `&& resource.name == \"`, new: `|| resource.name == \"`, want: "what does resource.type == "},
	{name: "code before its right", file: "terraform/modules/function/main.tf", old: "google_pubsub_topic_iam_member.publishes, ", new: "", want: "does not wait for terraform/modules/function/main.tf: resource.google_pubsub_topic_iam_member.publishes"},
	{name: "code before its index", file: "terraform/function_sweep.tf", old: ", google_firestore_index.composite]", new: "]", want: "module.sweep does not wait for the indexes"},
	{name: "index gone before its code", file: "terraform/firestore.tf", old: "create_before_destroy = true", new: "", want: "google_firestore_index.composite is taken away while"},
	{name: "right gone before its code", file: "terraform/modules/function/main.tf", old: "  lifecycle {\n    create_before_destroy = true\n  }\n}\n\nresource \"google_storage_bucket_iam_member\"", new: "}\n\nresource \"google_storage_bucket_iam_member\"", want: "google_project_iam_member.project is taken away while"},
	{name: "role without its condition", file: "terraform/build.tf", old: "  condition {", new: "  conditions {", want: "without a condition"},
	{name: "authoritative binding", file: "terraform/pubsub.tf", old: "google_pubsub_topic_iam_member", new: "google_pubsub_topic_iam_binding", want: "takes away what others were granted"},
	{name: "public function", file: "terraform/function_pipeline.tf", old: "\nmodule", new: "\nresource \"google_cloud_run_v2_service_iam_member\" \"pipeline_public\" {\n  location = var.region\n  name     = module.pipeline.name\n  role     = \"roles/run.invoker\"\n  member   = \"allUsers\"\n}\n\nmodule", want: "that is no webhook"},
	{name: "public bucket", file: "terraform/modules/function/main.tf", old: "member = google_service_account.this.member", new: `member = "allAuthenticatedUsers"`, want: "to allAuthenticatedUsers"},
	{name: "webhook that nobody may call", file: "terraform/function_googlechat.tf", old: `"allUsers"`, new: `"serviceAccount:x"`, want: "that nobody may call"},
	{name: "ingress of a webhook", file: "terraform/function_googlechat.tf", old: "ALLOW_ALL", new: "ALLOW_INTERNAL_ONLY", want: "is a webhook with ingress"},
	{name: "ingress of the others", file: "terraform/modules/function/variables.tf", old: `default     = "ALLOW_INTERNAL_ONLY"`, new: `default     = "ALLOW_ALL"`, want: "is no webhook and has ingress"},
	{name: "secret in the state", file: "terraform/secrets.tf", old: "resource", new: "resource \"google_secret_manager_secret_version\" \"v\" {\n  secret      = google_secret_manager_secret.gemini_api_key.id\n  secret_data = \"x\"\n}\n\nresource", want: "into the state"},
	{name: "secret as a variable", file: "terraform/variables.tf", old: `variable "vertex_location"`, new: `variable "gemini_api_key"`, want: "would end in the state"},
	{name: "id of a secret", file: "terraform/secrets.tf", old: `"gemini-api-key"` + "\n", new: `"gemini/api/key"` + "\n", want: "is no id of a secret"},
	{name: "secret of nobody", file: "terraform/secrets.tf", old: `"gemini_api_key" {`, new: `"openai_api_key" {`, want: "reads a secret that is not created here"},
	{name: "all secrets for everyone", file: "terraform/modules/function/main.tf", old: "for s in var.secrets", new: "for s in var.all_secrets", want: "exactly its own secrets"},
	{name: "state in the repository", file: "terraform/terraform.tfstate", new: "{}", want: "belongs to one deployment"},
	{name: "lock file of one machine", file: "terraform/.terraform.lock.hcl", new: "# x", want: "belongs to one deployment"},
	{name: "state's bucket in the configuration", file: "terraform/versions.tf", old: `backend "gcs" {}`, new: "backend \"gcs\" {\n    bucket = \"x\"\n  }", want: "bucket is given at init"},
	{name: "API that is off", file: "terraform/main.tf", old: `    "cloudscheduler.googleapis.com",` + "\n", new: "", want: "needs cloudscheduler.googleapis.com"},
	{name: "before its API", file: "terraform/storage.tf", old: "depends_on = [google_project_service.api]", new: "", want: "does not wait for the APIs"},
	{name: "module before the builder", file: "terraform/function_cron.tf", old: "depends_on = [google_project_iam_member.builder, google_project_iam_member.builder_source, google_firestore_index.composite]", new: "", want: "module.cron does not wait"},
	{name: "bucket for the public", file: "terraform/storage.tf", old: `"enforced"`, new: `"inherited"`, want: "can be opened to the public"},
	{name: "bucket of conversations", file: "terraform/storage.tf", old: `deletion_policy = "ABANDON"`, new: "force_destroy = true", want: "would be deleted with the deployment"},
	{name: "bucket that grows", file: "terraform/storage.tf", old: "  lifecycle_rule {\n    condition {\n      days", new: "  lifecycle {\n    condition {\n      days", want: "grows for ever"},
	{name: "bucket with mixed access", file: "terraform/storage.tf", old: "uniform_bucket_level_access = true", new: "uniform_bucket_level_access = false", want: "access is not uniform"},
}

var ofData = []mutation{
	{name: "index dropped", file: indexFile, old: `"fieldPath": "channel_id"`, new: `"fieldPath": "chatbot_id"`, want: "no index serves the store's query {collection:sessions equal:[channel_id]"},
	{name: "index in another order", file: indexFile, old: `"order": "DESCENDING"`, new: `"order": "ASCENDING"`, want: "no index serves"},
	{name: "index that nobody needs", code: func(c *code) { c.queries = c.queries[1:] }, want: "no query needs the index"},
	{name: "query that is new", code: func(c *code) {
		c.queries = append(c.queries, query{collection: "sessions", equal: []string{"role"}, order: []ordering{{"updated_at", "DESCENDING"}}})
	}, want: "no index serves the store's query {collection:sessions equal:[role]"},
	{name: "field that is queried", file: indexFile, old: `"collectionGroup": "notes", "fieldPath": "text"`, new: `"collectionGroup": "notes", "fieldPath": "at"`, want: "at of notes is not indexed"},
	{name: "TTL dropped", file: indexFile, old: `{ "collectionGroup": "cronjobs", "fieldPath": "expire_at", "ttl": true`, new: `{ "collectionGroup": "cronjobs", "fieldPath": "expire_at", "ttl": false`, want: "TTL is on expire_at of"},
	{name: "TTL that is new", code: func(c *code) { c.perishable = sorted(append(c.perishable, "jobs")) }, want: "the store writes it in"},
	{name: "content indexed", file: indexFile, old: `"messages", "fieldPath": "content"`, new: `"messages", "fieldPath": "status"`, want: "content of messages is indexed"},
	{name: "field of nobody", file: indexFile, old: `"fieldPath": "turn_lease"`, new: `"fieldPath": "turnlease"`, want: `nothing stored has a field "turnlease"`},
	{name: "index file cut short", file: indexFile, old: "]\n}\n", new: "", want: "does not parse"},
	{name: "another index file", file: "terraform/firestore.tf", old: "firestore.indexes.json\"))", new: "indexes.json\"))", want: "local.firestore is not"},
	{name: "no delete protection", file: "terraform/firestore.tf", old: "DELETE_PROTECTION_ENABLED", new: "DELETE_PROTECTION_DISABLED", want: "delete_protection_state is"},
	{name: "no point-in-time recovery", file: "terraform/firestore.tf", old: `"POINT_IN_TIME_RECOVERY_ENABLED"`, new: `"POINT_IN_TIME_RECOVERY_DISABLED"`, want: "point_in_time_recovery_enablement is"},
	{name: "database for good", file: "terraform/firestore.tf", old: "to       = google_firestore_database.default", new: "to       = google_firestore_database.other", want: "google_firestore_database.default is left alone"},
	{name: "bucket for good", file: "terraform/storage.tf", old: "toset(var.adopt ?", new: "toset(var.adapt ?", want: "google_storage_bucket.staging is left alone"},
	{name: "no backup", file: "terraform/firestore.tf", old: "daily_recurrence {}", new: "", want: "no daily backup"},
	{name: "cron line", file: cronFile, old: "jobs: []", new: "jobs:\n  - {name: a, schedule: \"61 * * * *\", prompt: p, chatbot_id: googlechat, channel_id: c}", want: `job "a": schedule`},
	{name: "time zone of a job", file: cronFile, old: "jobs: []", new: "jobs:\n  - {name: a, schedule: \"1 * * * *\", time_zone: Tokio, prompt: p, chatbot_id: googlechat, channel_id: c}", want: `job "a": time_zone`},
	{name: "cron line in Terraform", file: "terraform/function_sweep.tf", old: `"* * * * *"`, new: `"every minute"`, want: "is no schedule"},
	{name: "sweeps by the hour", file: "terraform/function_sweep.tf", old: `"* * * * *"`, new: `"0 * * * *"`, want: "sweeps come every minute"},
	{name: "body of a cron wake-up", file: "terraform/function_cron.tf", old: "{ job = each.key }", new: "{ name = each.key }", want: "the cron function reads"},
	{name: "schedule for another", file: "terraform/function_sweep.tf", old: `topic_name = google_pubsub_topic.wake["sweeps"].id`, new: `topic_name = google_pubsub_topic.wake["cron"].id`, want: `does not publish to "sweeps"`},
	{name: "another cron file", file: "terraform/function_cron.tf", old: "/config/cronjobs.yaml", new: "/config/cron.yaml", want: "local.cronjobs is not"},
	{name: "topic dropped", file: "terraform/pubsub.tf", old: `"cron", "sweeps"]`, new: `"cron"]`, want: "local.topics is"},
	{name: "topic that is new", code: func(c *code) { c.topics = append(c.topics, "jobs") }, want: `the code has ["cron" "deliveries" "inbound" "jobs"`},
	{name: "dead letters dropped", file: "terraform/pubsub.tf", old: `"google_pubsub_subscription" "dead"`, new: `"google_pubsub_subscription" "gone"`, want: "drop what they get"},
	{name: "dead letters unpublished", file: "terraform/pubsub.tf", old: "member = local.pubsub_agent", new: `member = "serviceAccount:x"`, want: "may not publish dead letters"},
	{name: "dead letters not taken", file: "terraform/modules/function/subscription.tf", old: "var.platform.pubsub_agent", new: "var.platform.invoker", want: "may not take dead letters"},
	{name: "no dead-letter topic", file: "terraform/modules/function/subscription.tf", old: "dead_letter_topic     = var.subscription.dead_letters", new: "", want: "has no dead-letter topic"},
	{name: "ack deadline", file: "terraform/pubsub.tf", old: "ack_deadline_seconds       = 600", new: "ack_deadline_seconds       = 900", want: "ack deadline of 900"},
	{name: "default of the ack deadline", file: "terraform/modules/function/variables.tf", old: "default     = 600", new: "default     = 700", want: "ack deadline of 700"},
	{name: "delivery attempts", file: "terraform/modules/function/variables.tf", old: "default     = 20", new: "default     = 4", want: "4 delivery attempts"},
	{name: "back-off", file: "terraform/modules/function/subscription.tf", old: `"10s"`, new: `"0s"`, want: `retries after "0s"`},
	{name: "expiry", file: "terraform/modules/function/subscription.tf", old: `ttl = ""`, new: `ttl = "2678400s"`, want: "expires when nobody talks"},
	{name: "token for the endpoint", file: "terraform/modules/function/subscription.tf", old: "audience = google_cloudfunctions2_function.this.service_config[0].uri", new: "", want: "token for the service"},
	{name: "push without the topic's path", file: "terraform/modules/function/subscription.tf", old: "/${var.subscription.topic}", new: "", want: "the topic's path behind it"},
}

var ofWatch = []mutation{
	{name: "playbook missing", file: "infra/playbooks/backlog.md", want: "alert backlog has no playbook"},
	{name: "playbook of no alert", file: "infra/playbooks/weather.md", new: "# Rain\n", want: "is the playbook of no alert"},
	{name: "alert missing", file: "terraform/alerts.tf", old: "    no-sweep = {", new: "    sweepless = {", want: "nobody is told of no-sweep"},
	{name: "alert without its playbook", file: "terraform/alerts.tf", old: "playbooks/${each.key}.md", new: "playbooks/README.md", want: "with their playbooks"},
	{name: "address that cannot be taken away", file: "terraform/alerts.tf", old: "create_before_destroy = true", new: "", want: "alerts still name it"},
	{name: "severity", file: "terraform/alerts.tf", old: `severity = "WARNING"`, new: `severity = "WARN"`, want: `there is no severity "WARN"`},
	{name: "metric misspelt", file: "terraform/alerts.tf", old: "subscription_oldest_unacked_message_age", new: "subscription_oldest_unacked_age", want: "a metric that nobody knows"},
	{name: "log metric renamed", file: "terraform/alerts.tf", old: "kesoku_sweeps         =", new: "kesoku_swept          =", want: "no log metric has that name"},
	{name: "query cut short", file: "terraform/alerts.tf", old: "[15m]))) > 240000", new: "[15m])) > 240000", want: "do not match"},
	{name: "kind of resource missing", file: "terraform/alerts.tf", old: "user_kesoku_buried{monitored_resource=\\\"cloud_run_revision\\\"}", new: "user_kesoku_buried", want: "several kinds of resource"},
	{name: "service of nobody", file: "terraform/alerts.tf", old: `service_name=\"turn\"`, new: `service_name=\"turns\"`, want: `the service "turns"`},
	{name: "message that nothing logs", file: "terraform/alerts.tf", old: `jsonPayload.message=\"swept\"`, new: `jsonPayload.message=\"sweeped\"`, want: `looks for "sweeped"`},
	{name: "message that the code renamed", code: func(c *code) { delete(c.messages, "buried: no retry can help") }, want: "infra/playbooks/buried.md looks for"},
	{name: "dashboard cut short", file: dashboard, old: "\n}\n", new: "", want: "does not parse"},
	{name: "log metric that the code does not name", code: func(c *code) { c.metrics = c.metrics[1:] }, want: "shared/telemetry names"},
	{name: "log metric that Terraform does not make", code: func(c *code) { c.metrics = append(c.metrics, "kesoku_recalls") }, want: `"kesoku_recalls"`},
	{name: "traces without their API", file: "terraform/main.tf", old: `    "cloudtrace.googleapis.com",` + "\n", new: "", want: "needs cloudtrace.googleapis.com"},
	{name: "dashboard of a metric that is gone", file: dashboard, old: "user_kesoku_nacked", new: "user_kesoku_nacks", want: "no log metric has that name"},
	{name: "counted for nobody", file: dashboard, old: "user_kesoku_nacked", new: "user_kesoku_errors", want: "kesoku_nacked is counted for nobody"},
}

// edit changes one function of a copy of the facts.
func edit(c *code, name string, change func(*program)) {
	p := c.functions[name]
	p.variables = maps.Clone(p.variables)
	change(&p)
	c.functions[name] = p
}

// clone copies what mutations change.
func (c code) clone() code {
	c.functions, c.messages = maps.Clone(c.functions), maps.Clone(c.messages)
	c.queries, c.topics, c.perishable = slices.Clone(c.queries), slices.Clone(c.topics), slices.Clone(c.perishable)
	return c
}

// D4: a check that cannot fail is none. Each mismatch is made in memory, and must be told.
func TestMutations(t *testing.T) {
	t.Parallel()
	repository := os.DirFS("..")
	f, c := readFiles(t, repository), readCode(t, repository)
	base := parse(f, c, nil)
	for _, m := range slices.Concat(ofFunctions, ofAccess, ofData, ofWatch) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			changed, facts := maps.Clone(f), c.clone()
			switch {
			case m.file == "":
			case m.old != "":
				if strings.Count(f[m.file], m.old) == 0 {
					t.Fatalf("%s does not contain %q any more: rewrite the mutation", m.file, m.old)
				}
				changed[m.file] = strings.Replace(f[m.file], m.old, m.new, 1)
			case m.new == "":
				delete(changed, m.file)
			default:
				changed[m.file] = m.new
			}
			if m.code != nil {
				m.code(&facts)
			}
			found := check(parse(changed, facts, base))
			if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, m.want) }) {
				t.Errorf("not told: want %q among %q", m.want, found)
			}
		})
	}
}
