package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/sim"
)

func TestEqualSeedsMakeEqualFleets(t *testing.T) {
	one, other := sim.NewSource(7), sim.NewSource(7)
	members := sim.Members(one, 50)
	require.Equal(t, members, sim.Members(other, 50))
	require.Equal(t, sim.Policy(one, members), sim.Policy(other, members))
	require.NotEqual(t, members, sim.Members(sim.NewSource(8), 50))
}

func TestShuffleKeepsEveryValue(t *testing.T) {
	values := []int{1, 2, 3, 4, 5, 6, 7, 8}
	sim.Shuffle(sim.NewSource(1), values)
	require.ElementsMatch(t, []int{1, 2, 3, 4, 5, 6, 7, 8}, values)
	require.NotEqual(t, []int{1, 2, 3, 4, 5, 6, 7, 8}, values)
}

func TestBelowReachesEveryNumber(t *testing.T) {
	s, seen := sim.NewSource(3), map[int]bool{}
	for range 200 {
		n := s.Below(5)
		require.GreaterOrEqual(t, n, 0)
		require.Less(t, n, 5)
		seen[n] = true
	}
	require.Len(t, seen, 5)
}
