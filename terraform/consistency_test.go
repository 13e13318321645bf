// Package terraform_test holds the deployment and the code together: what Terraform would create and what the functions read, publish,
// query and log are read from their sources and compared, and with them the limits that neither `terraform validate` nor a plan knows.
package terraform_test

import (
	"os"
	"slices"
	"testing"
)

// check returns all that is wrong between a deployment and the code that it deploys.
func check(t *tree) []string {
	for _, rule := range []func(){
		t.entryPoints, t.runtime, t.environment, t.wiring, t.sizes, t.bundles, t.variables, // functions
		t.roles, t.order, t.security, t.public, t.secrets, t.state, t.apis, t.buckets, // access
		t.firestore, t.database, t.kept, t.schedules, t.topics, // data
		t.alerts, t.logMetrics, t.dashboards, // watch
	} {
		rule()
	}
	return sorted(t.found)
}

// D4: what Terraform deploys is what the code is.
func TestConsistent(t *testing.T) {
	t.Parallel()
	repository := os.DirFS("..")
	for _, problem := range check(parse(readFiles(t, repository), readCode(t, repository), nil)) {
		t.Error(problem)
	}
}

// The facts themselves: a reader that finds nothing would make every check pass.
func TestFacts(t *testing.T) {
	t.Parallel()
	c := readCode(t, os.DirFS(".."))
	if !slices.Contains(c.perishable, "dead_letters") || len(c.queries) < 5 || !c.messages["swept"] || !c.fields["wake_at"] {
		t.Errorf("perishable %q, %d queries, %d messages, %d fields", c.perishable, len(c.queries), len(c.messages), len(c.fields))
	}
	if hook := c.functions["googlechat"]; !hook.http || !hook.variables["CHAT_AUDIENCE"] || !slices.Equal(hook.publishes, []string{"inbound"}) {
		t.Errorf("googlechat: %+v", hook)
	}
	if c.subscribers["turn"] != "turns" || !slices.Contains(c.shared, "STAGING_BUCKET") {
		t.Errorf("subscribers %v, shared %q", c.subscribers, c.shared)
	}
}
