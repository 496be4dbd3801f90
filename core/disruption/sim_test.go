package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever goes wrong, the rules hold at every tick, and once it stops all that began ends and the pools
// come to rest.
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
	require.NotEmpty(t, begun)
}

// While nobody but Flotilla moves pods, each that it moves comes to a place at once, however late hubs
// and agents hear of each other.
func TestPromisedPlacesAreKept(t *testing.T) {
	moved := 0
	for seed := range uint64(40) {
		w := newWorld(t, seed, 3, faults{lag: true, crashes: true, launches: true})
		for range 400 {
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
	require.Greater(t, moved, 100)
}
