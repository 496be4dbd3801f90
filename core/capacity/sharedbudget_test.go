package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// Pools that name a fleet-wide budget share it, whatever amount each states (N11).
func TestSharedBudgets(t *testing.T) {
	pool := func(name, budget string) *api.NodePool {
		p := &api.NodePool{}
		if p.Name = name; budget != "" {
			p.Annotations = map[string]string{api.AnnotationFleetBudget: budget}
		}
		return p
	}
	all := []*api.NodePool{pool("a", "web=2"), pool("b", "jobs=10%"), pool("c", "web=20%"), pool("d", "web=2"), pool("e", ""), pool("f", "no budget")}
	web, jobs := SharedBudget{"web", []string{"2", "20%"}, []string{"a", "c", "d"}}, SharedBudget{"jobs", []string{"10%"}, []string{"b"}}
	require.Equal(t, []SharedBudget{jobs, web}, SharedBudgets(all))
	require.Equal(t, []SharedBudget{web}, SharedWith(all[2:3], all), "over all pools that share it")
	require.Empty(t, SharedWith(all[4:], all))
	require.True(t, web.Covers([]string{"e", "d"}))
	require.False(t, web.Covers([]string{"b", "e"}))
}
