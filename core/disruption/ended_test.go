package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// A decision that nobody waits for any more is given up wherever it stands: it takes no node, and says so.
func TestADecisionThatNobodyWaitsForIsGivenUp(t *testing.T) {
	for name, s := range map[string]*simulate.State{
		"finds something": benchState(500, false),
		"finds nothing":   simulatetest.Mixed(200, 500, true, 1).State(),
	} {
		t.Run(name, func(t *testing.T) {
			asked, until := 0, -1
			want := Decide(s)
			s.Ended = func() bool { asked++; return asked-1 == until }
			require.Equal(t, want, Decide(s), "somebody waits to the end")
			all := asked
			require.Greater(t, all, 3, "it is asked often")
			for until = range all {
				asked = 0
				d := Decide(s)
				require.True(t, d.Ended)
				require.Empty(t, d.Commands)
				require.Equal(t, until+1, asked, "it is not asked again")
				require.LessOrEqual(t, d.Evaluated, want.Evaluated)
				require.Len(t, d.Verdicts, s.Cluster.Len())
				for _, v := range d.Verdicts {
					require.Equal(t, []Refusal{{Code: CodeNotReached, Message: "nobody waits for the decision any more, and it was given up"}}, v.Refusals)
				}
			}
			asked, until = 0, 0
			_, why, ok := Validate(Command{Method: MethodSingle, Nodes: s.Cluster.Names()[:1]}, s)
			require.False(t, ok)
			require.Equal(t, "nobody waits for the decision any more, and it was given up", why)
			asked = 0
			require.Empty(t, NodeAlone(s, s.Cluster.Names()[0]).Removal)
		})
	}
}
