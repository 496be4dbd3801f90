package hubd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/store"
	"flotilla/core/api"
)

func TestFreezesAreCountedByWhatIsFrozen(t *testing.T) {
	scopes := []string{api.FreezeFleet, api.FreezeRuns, api.FreezeOf("berlin"), api.FreezeOf("oslo"), api.FreezeOf("riga")}
	got := frozenBy(scopes, func(scope string) bool { return scope == api.FreezeRuns || scope == api.FreezeOf("oslo") })
	require.Equal(t, map[string]int{"fleet": 1, "member": 2}, got)
}

func TestHeldWithdrawalsAreCounted(t *testing.T) {
	held := func(losses ...api.Loss) (entry store.Entry[api.Release]) {
		for _, loss := range losses {
			entry.Value.Held = append(entry.Value.Held, api.Held{Loss: loss})
		}
		return entry
	}
	require.Equal(t, 3, heldOn([]store.Entry[api.Release]{held(api.Loss{Objects: 12}, api.Loss{}), held(), held(api.Loss{Objects: 1}, api.Loss{Objects: 2, Whole: true})}), "what waits for something else is no withdrawal")
}
