package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// A burst costs one decision now and one a pause later. A change that comes after a decision for another
// cause, which took the timer away, is told the same time again and is not lost.
func TestDueOncePerPause(t *testing.T) {
	const pause = 15 * time.Second
	i := interests{of: map[string]*interest{}}
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	require.Equal(t, at(0), i.due("unknown", at(0), pause), "what was not decided yet does not wait")

	i.set("web", interest{})
	for _, c := range []struct{ now, due int }{
		{0, 0}, {1, 15}, {2, 15}, {14, 15}, {15, 30}, {16, 30}, {100, 100}, {101, 115},
	} {
		require.Equal(t, at(c.due), i.due("web", at(c.now), pause), "at %d", c.now)
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
