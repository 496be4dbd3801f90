package simulate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/simulate"
	"flotilla/tests/scenario"
	"flotilla/tests/scenario/nodes"
)

// TestScenarios plays what becomes of pods, for a person who knows Karpenter to read.
func TestScenarios(t *testing.T) {
	scenario.Play(t, "testdata/*.txt", func() map[string]scenario.Command {
		w := nodes.NewWorld()
		return w.Commands(map[string]scenario.Command{
			"remove":      func(t *testing.T, args []string) string { return removed(t, w, args, false) },
			"consolidate": func(t *testing.T, args []string) string { return removed(t, w, args, true) },
		})
	})
}

// removed takes nodes away and prints where their pods go. It is done twice: a simulation leaves nothing behind.
func removed(t *testing.T, w *nodes.World, names []string, quiet bool) string {
	x := simulate.NewIndex(w.State())
	var gone []*simulate.ExistingNode
	for _, name := range names {
		require.Contains(t, x.ByName, name)
		gone = append(gone, x.ByName[name])
	}
	first := told(x.Simulate(gone, quiet))
	require.Equal(t, first, told(x.Simulate(gone, quiet)), "simulating again ends differently")
	return first
}

func told(o *simulate.Outcome) string {
	var b strings.Builder
	claims := map[*simulate.Claim]string{}
	for i, c := range o.Claims {
		claims[c] = fmt.Sprintf("new-%d", i)
	}
	for _, m := range o.Moves {
		to := claims[m.Claim]
		if m.Node != nil {
			to = m.Node.State.Name
		}
		fmt.Fprintf(&b, "%s -> %s\n", m.Pod.State.Name, to)
	}
	for _, c := range o.Claims {
		var types []string
		for _, m := range c.Types {
			types = append(types, m.Name)
		}
		fmt.Fprintf(&b, "%s: NodePool %s, %s", claims[c], c.Pool.Name, strings.Join(types, " or "))
		if zones := c.Needs.Get(corev1.LabelTopologyZone); zones != nil {
			fmt.Fprintf(&b, ", zone %s", zones)
		}
		b.WriteString("\n")
	}
	for _, f := range o.Failed {
		fmt.Fprintf(&b, "nowhere: %s\n", f)
	}
	for _, f := range o.Homeless {
		fmt.Fprintf(&b, "loses its place: %s\n", f)
	}
	return b.String()
}
