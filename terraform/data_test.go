package terraform_test

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/robfig/cron/v3"

	"kesoku.dev/shared/config"
)

const (
	indexFile = "infra/firestore/firestore.indexes.json"
	cronFile  = "infra/config/cronjobs.yaml"
)

// indexes is the index file, in the format of the Firebase tools.
type indexes struct {
	Indexes []struct {
		CollectionGroup string `json:"collectionGroup"`
		QueryScope      string `json:"queryScope"`
		Fields          []struct {
			FieldPath string `json:"fieldPath"`
			Order     string `json:"order"`
		} `json:"fields"`
	} `json:"indexes"`
	FieldOverrides []struct {
		CollectionGroup string `json:"collectionGroup"`
		FieldPath       string `json:"fieldPath"`
		TTL             bool   `json:"ttl"`
		Indexes         []any  `json:"indexes"`
	} `json:"fieldOverrides"`
}

// serves reports whether composite index i serves a query: first the fields that must be equal, in any order, then the order.
func (x *indexes) serves(i int, q query) bool {
	index := x.Indexes[i]
	if index.CollectionGroup != q.collection || index.QueryScope != "COLLECTION" || len(index.Fields) != len(q.equal)+len(q.order) {
		return false
	}
	for n, f := range index.Fields {
		if n < len(q.equal) {
			if !slices.Contains(q.equal, f.FieldPath) {
				return false
			}
			continue
		}
		if (ordering{f.FieldPath, f.Order}) != q.order[n-len(q.equal)] {
			return false
		}
	}
	return true
}

// unindexed reports whether a field is taken out of all automatic indexes.
func (x *indexes) unindexed(collection, field string) bool {
	for _, o := range x.FieldOverrides {
		if o.CollectionGroup == collection && o.FieldPath == field {
			return len(o.Indexes) == 0
		}
	}
	return false
}

// firestore: an index for each query, none that no query needs, TTL where the code counts on it, and nothing large indexed.
func (t *tree) firestore() {
	var x indexes
	if err := json.Unmarshal([]byte(t.files[indexFile]), &x); err != nil {
		t.problem("%s does not parse: %v", indexFile, err)
		return
	}
	used := make([]bool, len(x.Indexes))
	for _, q := range t.code.queries {
		if len(q.equal)+len(q.order) == 1 {
			for _, f := range slices.Concat(q.equal, fieldsOf(q.order)) {
				if x.unindexed(q.collection, f) {
					t.problem("%s: %s of %s is not indexed, and the store queries by it", indexFile, f, q.collection)
				}
			}
			continue
		}
		served := false
		for i := range x.Indexes {
			if x.serves(i, q) {
				served, used[i] = true, true
			}
		}
		if !served {
			t.problem("%s: no index serves the store's query %+v", indexFile, q)
		}
	}
	for i, u := range used {
		if !u {
			t.problem("%s: no query needs the index %+v", indexFile, x.Indexes[i])
		}
	}
	var ttl []string
	for _, o := range x.FieldOverrides {
		if !t.code.fields[o.FieldPath] {
			t.problem("%s: nothing stored has a field %q", indexFile, o.FieldPath)
		}
		if o.TTL && o.FieldPath == "expire_at" {
			ttl = append(ttl, o.CollectionGroup)
		}
	}
	if !slices.Equal(sorted(ttl), t.code.perishable) {
		t.problem("%s: TTL is on expire_at of %q; the store writes it in %q", indexFile, sorted(ttl), t.code.perishable)
	}
	for _, field := range []string{"content", "metadata"} {
		if !x.unindexed("messages", field) {
			t.problem("%s: %s of messages is indexed, and too large for it", indexFile, field)
		}
	}
	if e := t.local("firestore"); e == nil || !strings.Contains(t.source(e), "/../"+indexFile) || !strings.HasPrefix(t.source(e), "jsondecode(") {
		t.problem("local.firestore is not %s", indexFile)
	}
}

func fieldsOf(order []ordering) []string {
	var out []string
	for _, o := range order {
		out = append(out, o.field)
	}
	return out
}

// database: what is lost by a slip can be had back.
func (t *tree) database() {
	all := t.resources("google_firestore_database")
	if len(all) != 1 {
		t.problem("there are %d databases, and the store opens one", len(all))
		return
	}
	for attr, want := range map[string]string{
		"name": "(default)", "type": "FIRESTORE_NATIVE", "point_in_time_recovery_enablement": "POINT_IN_TIME_RECOVERY_ENABLED",
		"delete_protection_state": "DELETE_PROTECTION_ENABLED", "deletion_policy": "ABANDON",
	} {
		if got := t.text(root, all[0].attr(attr)); got != want {
			t.problem("%s: %s is %q, want %q", all[0], attr, got, want)
		}
	}
	backups := t.resources("google_firestore_backup_schedule")
	if len(backups) == 0 || len(backups[0].children("daily_recurrence")) == 0 {
		t.problem("the database has no daily backup")
	}
}

// kept: what the end of a deployment leaves alone, the next one can take over.
func (t *tree) kept() {
	for _, b := range t.blocks {
		if b.Type != "resource" || t.text(root, b.attr("deletion_policy")) != "ABANDON" {
			continue
		}
		if !slices.ContainsFunc(t.all(root, "import"), func(i block) bool {
			return t.source(i.attr("to")) == b.kind()+"."+b.name() && slices.Contains(references(i.attr("for_each")), "var.adopt")
		}) {
			t.problem("%s is left alone and can never be deployed again", b)
		}
	}
}

// schedules: Scheduler's jobs are made from the very file that the cron function reads, and all reach the function that is meant.
func (t *tree) schedules() {
	published := map[string]string{}
	for p, text := range t.files {
		if name, ok := strings.CutPrefix(p, "infra/config/"); ok {
			published[name] = text
		}
	}
	if _, err := config.Parse(published); err != nil {
		t.problem("infra/config: %v", err)
	}
	if e := t.local("cronjobs"); e == nil || !strings.HasPrefix(t.source(e), "yamldecode(") || !strings.Contains(t.source(e), "/../"+cronFile) {
		t.problem("local.cronjobs is not %s", cronFile)
	}
	fields := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	byFunction := map[string]int{}
	for _, b := range t.resources("google_cloud_scheduler_job") {
		name := strings.TrimSuffix(strings.TrimPrefix(path.Base(b.file), "function_"), ".tf")
		byFunction[name]++
		if line := t.text(root, b.attr("schedule")); line != "" {
			if _, err := fields.Parse(line); err != nil {
				t.problem("%s: %q is no schedule: %v", b, line, err)
			}
		}
		target := b.in("pubsub_target", "topic_name")
		if target == nil || !slices.Equal(sorted(literals(target)), []string{t.code.subscribers[name]}) {
			t.problem("%s does not publish to %q, the topic of %s", b, t.code.subscribers[name], name)
		}
		if t.source(b.attr("time_zone")) == "" {
			t.problem("%s has no time zone", b)
		}
	}
	for _, name := range []string{"cron", "sweep"} {
		if byFunction[name] != 1 {
			t.problem("function_%s.tf has %d schedules, want one resource", name, byFunction[name])
		}
	}
	if b, ok := t.find(root, "resource", "google_cloud_scheduler_job", "sweep"); ok && t.text(root, b.attr("schedule")) != "* * * * *" {
		t.problem("%s: sweeps come every minute", b)
	}
	if b, ok := t.find(root, "resource", "google_cloud_scheduler_job", "cron"); ok {
		if got := t.source(b.in("pubsub_target", "data")); got != `base64encode(jsonencode({ job = each.key }))` {
			t.problem("%s sends %s; the cron function reads {\"job\": name}", b, got)
		}
		if !slices.Contains(references(b.attr("for_each")), "local.cronjobs") {
			t.problem("%s is not made from local.cronjobs", b)
		}
	}
}

// topics: those of the code, each with dead letters that are kept, and subscriptions within Pub/Sub's limits.
func (t *tree) topics() {
	if got := sorted(literals(t.local("topics"))); !slices.Equal(got, sorted(t.code.topics)) {
		t.problem("local.topics is %q; the code has %q", got, sorted(t.code.topics))
	}
	for _, name := range []string{"wake", "dead"} {
		b, ok := t.find(root, "resource", "google_pubsub_topic", name)
		if !ok || t.source(b.attr("for_each")) != "local.topics" {
			t.problem("not every topic has a %s one", name)
		}
	}
	dead, ok := t.find(root, "resource", "google_pubsub_subscription", "dead")
	if !ok || t.source(dead.attr("for_each")) != "local.topics" || !slices.Contains(references(dead.attr("topic")), "google_pubsub_topic.dead") {
		t.problem("dead-letter topics without subscriptions drop what they get")
	}
	agent, ok := t.find(root, "resource", "google_pubsub_topic_iam_member", "dead_letters")
	if !ok || t.source(agent.attr("for_each")) != "local.topics" || t.source(agent.attr("member")) != "local.pubsub_agent" ||
		!slices.Contains(references(agent.attr("topic")), "google_pubsub_topic.dead") {
		t.problem("Pub/Sub's own account may not publish dead letters")
	}
	agent, ok = t.find(function, "resource", "google_pubsub_subscription_iam_member", "dead_letters")
	if !ok || t.source(agent.attr("member")) != "var.platform.pubsub_agent" || t.text(function, agent.attr("role")) != "roles/pubsub.subscriber" {
		t.problem("Pub/Sub's own account may not take dead letters out of subscriptions")
	}
	for _, b := range t.resources("google_pubsub_subscription") {
		t.subscription(b)
	}
}

func (t *tree) subscription(b block) {
	if ack := t.number(b.module(), b.attr("ack_deadline_seconds")); ack < 10 || ack > 600 {
		t.problem("%s: an ack deadline of %v s is not within 10 to 600", b, ack)
	}
	if ttl := b.in("expiration_policy", "ttl"); ttl == nil || t.source(ttl) != `""` {
		t.problem("%s expires when nobody talks for a month", b)
	}
	if len(b.children("push_config")) == 0 {
		return
	}
	if attempts := t.number(b.module(), b.in("dead_letter_policy", "max_delivery_attempts")); attempts < 5 || attempts > 100 {
		t.problem("%s: %v delivery attempts are not within 5 to 100", b, attempts)
	}
	if b.in("dead_letter_policy", "dead_letter_topic") == nil {
		t.problem("%s has no dead-letter topic", b)
	}
	least, most := t.text(b.module(), b.in("retry_policy", "minimum_backoff")), t.text(b.module(), b.in("retry_policy", "maximum_backoff"))
	if least != "10s" || most != "600s" {
		t.problem("%s retries after %q to %q; waiting out a lease needs 10s to 600s", b, least, most)
	}
	if b.module() == root { // a webhook's, which verifies the token itself, by its own address
		t.pushToWebhook(b)
		return
	}
	audience := t.source(b.in("push_config", "oidc_token", "audience"))
	if !strings.HasSuffix(audience, ".uri") || t.source(b.in("push_config", "oidc_token", "service_account_email")) != "var.platform.invoker" {
		t.problem("%s does not push as the invoker with a token for the service (audience %q)", b, audience)
	}
	endpoint := t.source(b.in("push_config", "push_endpoint"))
	if !strings.Contains(endpoint, ".uri}/${var.subscription.topic}") {
		t.problem("%s pushes to %s: want the service's own address and the topic's path behind it", b, endpoint)
	}
}

func (t *tree) pushToWebhook(b block) {
	for _, path := range [][]string{{"push_config", "push_endpoint"}, {"push_config", "oidc_token", "audience"}} {
		if got := t.source(b.in(path...)); got != "local.webhook_url" {
			t.problem("%s: %s is %s, and the webhook takes tokens for its own address alone", b, path[len(path)-1], got)
		}
	}
	call, ok := t.call("googlechat")
	account := t.source(b.in("push_config", "oidc_token", "service_account_email"))
	if !ok || !strings.Contains(t.source(call.attr("environment")), account) {
		t.problem("%s pushes as %s, whom the webhook does not know", b, account)
	}
}
