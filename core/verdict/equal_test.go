package verdict

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// Verdicts are equal that say the same of the same members, and differ in whatever is said.
func TestVerdictsThatSayTheSame(t *testing.T) {
	for name, change := range map[string]func(*Verdicts){
		"the placement":  func(v *Verdicts) { v.Placement = "api" },
		"its uid":        func(v *Verdicts) { v.UID = "u2" },
		"its generation": func(v *Verdicts) { v.Generation++ },
		"the type":       func(v *Verdicts) { v.Type = api.PickAll },
		"the number":     func(v *Verdicts) { v.Want = new(int32(4)) },
		"no number":      func(v *Verdicts) { v.Want = nil },
		"the terms":      func(v *Verdicts) { v.Terms++ },
		"a member":       func(v *Verdicts) { v.Members = slices.Clone(v.Members); v.Members[0] = "other" },
		"an outcome":     func(v *Verdicts) { v.Outcomes = slices.Clone(v.Outcomes); v.Outcomes[5] ^= OutcomePicked },
		"an affinity":    func(v *Verdicts) { v.Affinity = slices.Clone(v.Affinity); v.Affinity[9]++ },
		"no affinity":    func(v *Verdicts) { v.Affinity = nil },
		"a spread":       func(v *Verdicts) { v.Spread = slices.Clone(v.Spread); v.Spread[0]++ },
		"a rank":         func(v *Verdicts) { v.Ranks = []int32{0, 0, 0, 0, 0, 0, 0, 0, 0, 1} },
	} {
		v, w := smallVerdicts(), smallVerdicts()
		require.True(t, v.Equal(&w))
		change(&w)
		require.False(t, v.Equal(&w), name)
		require.False(t, w.Equal(&v), name)
		require.False(t, v.Agrees(&w), name)
	}
}
