package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// A burst costs one decision now and one a pause later, and does not push the next one away.
func TestDueOncePerPause(t *testing.T) {
	const pause = 15 * time.Second
	i := interests{of: map[string]*interest{}}
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	due, wake := i.due("unknown", at(0), pause)
	require.True(t, wake)
	require.Equal(t, at(0), due, "what was not decided yet does not wait")

	i.set("web", interest{})
	for _, c := range []struct {
		now  int
		due  int
		wake bool
	}{
		{0, 0, true}, {1, 15, true}, {2, 0, false}, {14, 0, false}, {15, 30, true}, {16, 0, false}, {100, 100, true}, {101, 115, true},
	} {
		due, wake := i.due("web", at(c.now), pause)
		require.Equal(t, c.wake, wake, "at %d", c.now)
		if c.wake {
			require.Equal(t, at(c.due), due, "at %d", c.now)
		}
		i.set("web", interest{eager: true})
	}
}

func TestNamedProperties(t *testing.T) {
	sorter := func(name string) api.ClusterSelectorTerm {
		return api.ClusterSelectorTerm{MetricSorter: &api.PropertySorter{Name: name}}
	}
	p := &api.Policy{Affinity: &api.Affinity{ClusterAffinity: &api.ClusterAffinity{
		Required: &api.ClusterSelector{ClusterSelectorTerms: []api.ClusterSelectorTerm{
			{}, {PropertySelector: &api.PropertySelector{MatchExpressions: []api.PropertyExpression{{Name: api.PropertyNodeCountAKS}}}},
		}},
		Preferred: []api.PreferredClusterTerm{{Preference: sorter(api.PropertyCPUCost)}, {}},
	}}}
	require.Equal(t, []string{api.PropertyNodeCount, api.PropertyCPUCost}, namedProperties(p))
	require.Empty(t, namedProperties(nil))
	require.Empty(t, namedProperties(&api.Policy{}))
}
