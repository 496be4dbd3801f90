package orchestration_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/disruption"
)

// Whatever goes wrong, the rules hold at every tick: budgets, those of the fleet included, one disruption
// for a node, no move that does not pay, a place for every pod, the lock, back-offs. Once it stops all that
// began ends, no taint is left, and the pools come to rest.
func TestRulesHoldWhateverGoesWrong(t *testing.T) {
	begun, phases, lost := map[string]int{}, map[string]int{}, 0
	for seed := range uint64(20) {
		w := newWorld(t, seed, 3, allFaults)
		w.run(400)
		w.calm()
		w.settle()
		w.requireSettled()
		for k, n := range w.begun {
			begun[k] += n
		}
		for k, n := range w.phases {
			phases[k] += n
		}
		lost += w.lostWrites
	}
	t.Log(begun, phases, lost)
	require.Equal(t, []string{disruption.MethodDrift, disruption.MethodEmpty, disruption.MethodExpired, api.MethodManual, disruption.MethodMulti, disruption.MethodSingle, disruption.MethodStaticDrift}, slices.Sorted(maps.Keys(begun)))
	require.Equal(t, []string{api.PhaseAborted, api.PhaseDone, api.PhaseDraining, api.PhaseLaunching}, slices.Sorted(maps.Keys(phases)))
	require.Greater(t, lost, 5, "writes that another hub, or another time, had made void")
}

// The same of many members that share one budget.
func TestRulesHoldOverManyMembers(t *testing.T) {
	w := newWorld(t, 1, 120, allFaults)
	w.run(60)
	w.calm()
	w.settle()
	w.requireSettled()
	t.Log(w.begun)
	require.Greater(t, len(w.ids), 120)
}

// While nobody but Flotilla moves pods, each that it moves comes to a place at once, however late hubs
// and agents hear of each other.
func TestPromisedPlacesAreKept(t *testing.T) {
	moved := 0
	for seed := range uint64(50) {
		w := newWorld(t, seed, 3, faults{lag: true, crashes: true, launches: true})
		for range 200 {
			w.tick()
			for _, l := range w.lands {
				w.requireKept(l)
			}
		}
		for _, l := range w.lands {
			moved += l.moved
		}
	}
	t.Log(moved)
	require.Greater(t, moved, 500)
}

// While schedulers rest, pods wait that have a place: nothing goes without which one of them has none (N23).
func TestPodsThatWaitKeepAPlace(t *testing.T) {
	spared := 0
	for seed := range uint64(12) {
		w := newWorld(t, seed, 3, faults{people: true, asleep: true})
		w.run(300)
		spared += w.spared
	}
	t.Log(spared)
	require.Greater(t, spared, 20, "pods that waited and had a place when something went")
}

// Equal seeds are equal worlds: what fails once can be seen again.
func TestWorldsComeAgain(t *testing.T) {
	var trails [2][]string
	for i := range trails {
		w := newWorld(t, 7, 3, allFaults)
		w.run(200)
		trails[i] = w.trail
	}
	require.Equal(t, trails[0], trails[1])
}
