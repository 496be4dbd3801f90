package overview_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/overview"
)

func TestWhenMoreNodesMayGo(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	span := func(after int, limit capacity.Count) capacity.Span {
		from := now.Add(time.Duration(after) * time.Hour)
		return capacity.Span{From: from, To: from.Add(time.Hour), Limits: map[string]capacity.Count{"Drifted": limit}}
	}
	budget := func(limit capacity.Count, spans ...capacity.Span) disruption.PoolBudget {
		return disruption.PoolBudget{Limits: map[string]capacity.Count{"Drifted": limit}, Calendar: spans}
	}
	more := func(budgets ...disruption.PoolBudget) time.Time {
		return (&overview.PoolSum{Budgets: budgets}).MoreAt(now)
	}
	require.Equal(t, now.Add(3*time.Hour), more(budget(0, span(-1, 5), span(1, 0), span(5, 9), span(3, 2))))
	require.Equal(t, now.Add(time.Hour), more(budget(0, span(3, 2)), budget(1, span(1, 2))), "the first of all members")
	require.Zero(t, more(budget(2, span(1, 1), span(2, 2))))
	require.Zero(t, more())
}
