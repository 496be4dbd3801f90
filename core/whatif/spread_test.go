package whatif_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/sim"
	"flotilla/core/whatif"
)

// How evenly a placement lies is judged as the scheduler judges it: a zone that the agent of one member alone states is no part of
// it (D32). One that people wrote is, and so is one of two members that can be picked.
func TestADomainOfOneBreaksNoSpread(t *testing.T) {
	healthy := func(name, zone string, stated ...string) api.Member {
		return api.Member{
			Name: name, HasAgent: true, Joined: "True", Healthy: "True", LastHeartbeat: sim.Now, HealthChanged: sim.Now.Add(-time.Hour),
			Labels: map[string]string{"zone": zone}, Agent: api.AgentLabels{Stated: stated},
		}
	}
	for what, c := range map[string]struct {
		wanted  int32
		members []api.Member // beside those of zone a
		skew    int          // 0 where none is told of
	}{
		"stated by one, picked":            {5, []api.Member{healthy("b1", "b", "zone")}, 0},
		"written, picked":                  {5, []api.Member{healthy("b1", "b")}, 3},
		"stated by one, ranked":            {1, []api.Member{healthy("b1", "b", "zone")}, 0},
		"stated by two, both of them rank": {1, []api.Member{healthy("b1", "b", "zone"), healthy("b2", "b", "zone")}, 1},
	} {
		next := &api.Placement{}
		next.Name = "web"
		next.Spec.Policy = &api.Policy{
			PlacementType: api.PickN, NumberOfClusters: &c.wanted,
			TopologySpreadConstraints: []api.TopologySpreadConstraint{{TopologyKey: "zone", WhenUnsatisfiable: api.ScheduleAnyway}},
		}
		answer := whatif.Build(whatif.Input{
			Now: sim.Now, Subjects: []whatif.Subject{{Next: next}},
			Members: append(c.members, healthy("c1", "a"), healthy("c2", "a"), healthy("c3", "a"), healthy("c4", "a"), healthy("c5", "a")),
		})
		require.Equal(t, int(c.wanted), answer.Placements[0].Gained, what)
		if c.skew == 0 {
			require.Empty(t, answer.Placements[0].Spread, what)
			continue
		}
		require.Equal(t, []whatif.Spread{{
			TopologyKey: "zone", WhenUnsatisfiable: api.ScheduleAnyway, MaxSkew: 1,
			Skew: whatif.Change{After: c.skew}, Emptiest: "b", Fullest: "a", Broken: c.skew > 1,
		}}, answer.Placements[0].Spread, what)
	}
}
