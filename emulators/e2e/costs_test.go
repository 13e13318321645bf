package e2e_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// costs is where operators read what a turn does.
const costs = "../../docs/operate.md"

// What operators calculate with is what TestBudget allows.
func TestCostTable(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(costs)
	if err != nil {
		t.Fatal(err)
	}
	for operation, allowed := range map[string]int{
		"document writes": maxWrites, "document reads": maxReads, "reads of the history's tail": maxTail, "wake-ups published": publishes,
	} {
		row := regexp.MustCompile(`(?m)^\| ` + operation + ` \| (\d+) \| (\d+) \| (\d+) \|$`).FindSubmatch(page)
		if row == nil {
			t.Errorf("%s has no row about %s", costs, operation)
			continue
		}
		last, err := strconv.Atoi(string(row[3]))
		if err != nil || last != allowed {
			t.Errorf("%s: %s: the test allows %d, the table says %s", costs, operation, allowed, row[3])
		}
		for _, measured := range row[1:3] {
			if n, err := strconv.Atoi(string(measured)); err != nil || n > allowed {
				t.Errorf("%s: %s: %s were measured, and %d are allowed", costs, operation, measured, allowed)
			}
		}
	}
}
