package terraform_test

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const dashboard = "infra/dashboards/kesoku.json"

// measured are Google's own metrics that are used here, as PromQL writes them.
var measured = []string{
	"pubsub_googleapis_com:subscription_num_undelivered_messages", "pubsub_googleapis_com:subscription_oldest_unacked_message_age",
	"run_googleapis_com:request_count", "run_googleapis_com:request_latencies_bucket",
}

// counted is how PromQL writes the counters of log entries.
const counted = "logging_googleapis_com:user_"

var (
	metricName  = regexp.MustCompile(`[a-z_]+_googleapis_com:[a-z0-9_]+`)
	serviceName = regexp.MustCompile(`service_name="([^"]*)"`)
	logged      = regexp.MustCompile(`jsonPayload\.message="([^"]+)"`)
	functionIs  = regexp.MustCompile(`jsonPayload\.function="([^"]+)"`)
)

// longest is how many characters the documentation of an alert may have.
const longest = 8192

// alerts: each has a playbook and measures what there is.
func (t *tree) alerts() {
	var names []string
	for _, row := range rows(t.local("alerts")) {
		names = append(names, row.key)
		fields := map[string]string{}
		for _, i := range rows(row.value) {
			fields[i.key] = t.text(root, i.value)
		}
		if !slices.Equal(slices.Sorted(maps.Keys(fields)), []string{"hold", "query", "severity", "what"}) || slices.Contains(slices.Collect(maps.Values(fields)), "") {
			t.problem("alert %s has %v, want hold, query, severity and what", row.key, fields)
		}
		if !slices.Contains([]string{"CRITICAL", "ERROR", "WARNING"}, fields["severity"]) {
			t.problem("alert %s: there is no severity %q", row.key, fields["severity"])
		}
		t.promQL("alert "+row.key, fields["query"])
	}
	if len(names) == 0 {
		t.problem("there are no alerts")
	}
	for _, must := range []string{"dead-letters", "backlog", "errors", "turn-latency", "no-sweep"} {
		if !slices.Contains(names, must) {
			t.problem("nobody is told of %s", must)
		}
	}
	if len(t.resources("google_billing_budget")) > 0 {
		names = append(names, "budget")
	}
	for _, name := range names {
		if t.files["infra/playbooks/"+name+".md"] == "" {
			t.problem("alert %s has no playbook", name)
		}
	}
	for p, body := range t.files {
		if path.Dir(p) == "infra/playbooks" {
			if name := strings.TrimSuffix(path.Base(p), ".md"); !slices.Contains(names, name) {
				t.problem("%s is the playbook of no alert", p)
			}
			t.playbook(p, body)
		}
	}
	b, ok := t.find(root, "resource", "google_monitoring_alert_policy", "alert")
	if !ok || t.source(b.attr("for_each")) != "local.alerts" || !strings.Contains(t.source(b.in("documentation", "content")), "/../infra/playbooks/${each.key}.md") {
		t.problem("alerts are not made from local.alerts with their playbooks")
	}
	for _, channel := range t.resources("google_monitoring_notification_channel") {
		if !t.isTrue(root, channel.in("lifecycle", "create_before_destroy")) {
			t.problem("%s cannot be taken away: alerts still name it", channel)
		}
	}
}

// playbook: what a person is told to search for can be found.
func (t *tree) playbook(p, body string) {
	if !strings.HasPrefix(body, "# ") || utf8.RuneCountInString(body) > longest {
		t.problem("%s needs a heading and at most %d characters", p, longest)
	}
	t.logQuery(p, body)
}

// logQuery checks the messages and functions that a search in the log names.
func (t *tree) logQuery(where, text string) {
	for _, m := range logged.FindAllStringSubmatch(text, -1) {
		if !t.code.messages[m[1]] {
			t.problem("%s looks for %q, which nothing logs", where, m[1])
		}
	}
	for _, m := range functionIs.FindAllStringSubmatch(text, -1) {
		if _, ok := t.code.functions[m[1]]; !ok && m[1] != "FUNCTION" {
			t.problem("%s looks for the log of %q, which is no function", where, m[1])
		}
	}
}

// counters are the names of the metrics that count log entries.
func (t *tree) counters() []string {
	var out []string
	for _, row := range rows(t.local("log_metrics")) {
		out = append(out, row.key)
	}
	return out
}

// promQL checks a query: it is whole, and all that it names exists.
func (t *tree) promQL(where, q string) {
	for _, pair := range []string{"()", "[]", "{}"} {
		if strings.Count(q, pair[:1]) != strings.Count(q, pair[1:]) {
			t.problem("%s: %s do not match in %s", where, pair, q)
		}
	}
	names := metricName.FindAllString(q, -1)
	if len(names) == 0 {
		t.problem("%s measures nothing: %s", where, q)
	}
	for _, name := range names {
		counter, ours := strings.CutPrefix(name, counted)
		switch {
		case ours && !slices.Contains(t.counters(), counter):
			t.problem("%s measures %s, and no log metric has that name", where, name)
		case !ours && !slices.Contains(measured, name):
			t.problem("%s measures %s, a metric that nobody knows here", where, name)
		case !strings.HasPrefix(name, "pubsub_") && !strings.Contains(q, `monitored_resource="cloud_run_revision"`):
			t.problem("%s: %s belongs to several kinds of resource, and the query does not say which", where, name)
		}
	}
	for _, m := range serviceName.FindAllStringSubmatch(q, -1) {
		if _, ok := t.code.functions[m[1]]; !ok {
			t.problem("%s measures the service %q, which is no function", where, m[1])
		}
	}
}

// logMetrics: what is counted is logged, and all of it is looked at.
func (t *tree) logMetrics() {
	if !slices.Equal(sorted(t.counters()), sorted(t.code.metrics)) {
		t.problem("log metrics are %q; shared/telemetry names %q", sorted(t.counters()), sorted(t.code.metrics))
	}
	for _, row := range rows(t.local("log_metrics")) {
		for _, i := range rows(row.value) {
			if i.key == "filter" {
				t.logQuery("log metric "+row.key, t.text(root, i.value))
			}
		}
		if !strings.Contains(t.files[dashboard]+t.files[root+"/alerts.tf"], counted+row.key) {
			t.problem("log metric %s is counted for nobody", row.key)
		}
	}
}

// dashboards: they parse, and show what there is.
func (t *tree) dashboards() {
	var board any
	if err := json.Unmarshal([]byte(t.files[dashboard]), &board); err != nil {
		t.problem("%s does not parse: %v", dashboard, err)
		return
	}
	queries := 0
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for k, e := range v {
				if q, ok := e.(string); ok && k == "prometheusQuery" {
					queries++
					t.promQL(dashboard, q)
				}
				walk(e)
			}
		}
	}
	walk(board)
	if queries == 0 {
		t.problem("%s shows nothing", dashboard)
	}
}
