package browser

import (
	"fmt"
	"strings"
	"testing"
)

// Finding is something that is wrong with a page.
type Finding struct {
	Rule   string // such as "color-contrast" and "focus-invisible"
	Target string // a selector of what it is about; empty where that is the page
	HTML   string // its first tag, and what it says
	Why    string // what was found, and what was expected
}

// String tells it in one line.
func (f Finding) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s  %s  %s", f.Rule, f.Why, f.Target, f.HTML))
}

// None fails the test, and goes on with it, where there are findings, and tells each.
func None(t testing.TB, findings []Finding) {
	t.Helper()
	for _, f := range findings {
		t.Error(f)
	}
}
