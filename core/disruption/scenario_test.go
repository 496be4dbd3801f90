package disruption_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/disruption"
	"flotilla/core/explain"
	"flotilla/tests/scenario"
	"flotilla/tests/scenario/nodes"
)

// TestScenarios plays decisions about nodes, for a person who knows Karpenter to read.
func TestScenarios(t *testing.T) {
	scenario.Play(t, "testdata/*.txt", func() map[string]scenario.Command {
		w := nodes.NewWorld()
		return w.Commands(map[string]scenario.Command{
			"decide":  func(*testing.T, []string) string { return decided(w) },
			"foresee": func(*testing.T, []string) string { return sequence(w) },
			"why": func(t *testing.T, args []string) string {
				e, found := explain.Explain(w.State(), args[0])
				require.True(t, found)
				return e.String()
			},
		})
	})
}

// decided prints what goes now, why the others stay, and when time alone can change that.
func decided(w *nodes.World) string {
	d := disruption.Decide(w.State())
	var b strings.Builder
	for i := range d.Commands {
		b.WriteString(d.Commands[i].String())
	}
	for _, v := range d.Verdicts {
		if v.Disrupt != "" {
			continue
		}
		for _, r := range v.Refusals {
			fmt.Fprintf(&b, "%s stays: %s\n", v.Node, r)
		}
	}
	if !d.Recheck.IsZero() {
		fmt.Fprintf(&b, "again in %s\n", d.Recheck.Sub(w.Now))
	}
	return b.String()
}

// sequence prints all that would go, one after the other.
func sequence(w *nodes.World) string {
	f := explain.Foresee(w.State(), 0)
	var b strings.Builder
	for i := range f.Commands {
		b.WriteString(f.Commands[i].String())
	}
	fmt.Fprintf(&b, "saves %s\n", f.Savings.Sentence())
	if f.Then != "" {
		fmt.Fprintln(&b, f.Then)
	}
	return b.String()
}
