package nodes

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/hub/flotilla/cli/clitest"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// Calendars that are the same are printed once, with the members that have them.
func TestCalendarsArePrintedOnce(t *testing.T) {
	var out bytes.Buffer
	a := Commands{Client: resource.New(session.New(session.Environment{Out: &out, Err: &out}))}
	span := func(n capacity.Count) []capacity.Span {
		limits := map[string]capacity.Count{}
		for _, reason := range api.DisruptionReasons {
			limits[reason] = n
		}
		return []capacity.Span{{From: clitest.Now, To: clitest.Now.Add(time.Hour), Limits: limits}}
	}
	require.NoError(t, a.printBudgets(&disruption.BudgetReport{At: clitest.Now, Pools: []disruption.PoolBudget{
		{Name: "a", Member: "berlin", Calendar: span(1), Invalid: "budgets[0]: bad"},
		{Name: "a", Member: "oslo", Calendar: span(1), Invalid: "budgets[0]: bad"},
		{Name: "a", Member: "tampa", Calendar: span(2), Invalid: "budgets[0]: bad"},
	}}))
	require.Contains(t, out.String(), "\nlimits of a on berlin, oslo, UTC:\n  Sun 2026-03-01 12:00 - Sun 2026-03-01 13:00  1\n\nlimits of a on tampa, UTC:\n  Sun 2026-03-01 12:00 - Sun 2026-03-01 13:00  2\n")
	require.Equal(t, 1, strings.Count(out.String(), "cannot be evaluated, so that nothing is allowed: budgets[0]: bad"))
}

// Calendars of a pool beyond the first are counted, with the command that shows them.
func TestManyCalendarsAreCounted(t *testing.T) {
	var out bytes.Buffer
	a := Commands{Client: resource.New(session.New(session.Environment{Out: &out, Err: &out}))}
	r := disruption.BudgetReport{At: clitest.Now}
	for n := range shownCalendars + 2 {
		limits := map[string]capacity.Count{}
		for _, reason := range api.DisruptionReasons {
			limits[reason] = capacity.Count(n)
		}
		spans := []capacity.Span{{From: clitest.Now, To: clitest.Now.Add(time.Hour), Limits: limits}}
		for _, side := range []string{"east", "west"} {
			r.Pools = append(r.Pools, disruption.PoolBudget{Name: "a", Member: fmt.Sprintf("%s-%d", side, n), Calendar: spans})
		}
	}
	require.NoError(t, a.printBudgets(&r))
	require.Equal(t, shownCalendars, strings.Count(out.String(), "UTC:\n"))
	require.Contains(t, out.String(), "\nlimits of a on 4 more members, with other numbers of nodes: flotilla budgets a -m MEMBER\n")
}
