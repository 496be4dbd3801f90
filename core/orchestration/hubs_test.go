package orchestration_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// Budgets hold at every instant: two hubs that decide from views of different age, crashes that lose
// what was not recorded, results that come late or not at all. The record is what both share, and a
// command that does not fit it is dropped.
func TestBudgetsHoldAtEveryInstant(t *testing.T) {
	begun := 0
	for seed := range uint64(60) {
		begun += runHubs(t, seed)
	}
	require.Greater(t, begun, 100)
}

func runHubs(t *testing.T, seed uint64) int {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	f := simulatetest.RandomMember(seed)
	now, begun := simulatetest.Now, 0
	var record []api.Disruption
	revision := 0
	type hub struct {
		revision int
		record   []api.Disruption
	}
	hubs := [2]hub{}
	for tick := range 60 {
		now = now.Add(time.Duration(1+r.IntN(90)) * time.Second)
		for i := range hubs {
			h := &hubs[i]
			if r.IntN(3) > 0 { // else its view is as old as it was
				h.revision, h.record = revision, slices.Clone(record)
			}
			s := f.State()
			s.Now, s.Busy = now, orchestration.Busy(h.record)
			d := disruption.Decide(s)
			if len(d.Commands) == 0 || h.revision != revision || r.IntN(6) == 0 { // the write is refused, or the hub dies before it
				continue
			}
			for k := range d.Commands {
				c := &d.Commands[k]
				require.True(t, orchestration.Fits(c, record))
				if !c.Forceful {
					requireBudget(t, seed, s, c)
				}
				record = append(record, orchestration.Begin(c, fmt.Sprintf("d-%d-%d-%d", tick, i, k), now, len(s.Busy)+len(c.Nodes)))
				begun++
			}
			revision++
		}
		finishSome(r, f, record, now)
	}
	return begun
}

// requireBudget counts, from the nodes alone, that a pool stays within the limit for a reason.
func requireBudget(t *testing.T, seed uint64, s *simulate.State, c *disruption.Command) {
	t.Helper()
	for _, p := range s.Pools {
		total, down := 0, 0
		for _, n := range s.Cluster.Nodes {
			if n.Pool != p.Name || !n.State.Managed || !n.State.Initialized || n.State.InstanceTerminating {
				continue
			}
			total++
			if !n.State.Ready || n.State.Deleting || s.Busy[n.State.Name] || slices.Contains(c.Nodes, n.State.Name) {
				down++
			}
		}
		takes := slices.ContainsFunc(c.Nodes, func(name string) bool { return s.Cluster.Nodes[name].Pool == p.Name })
		if limit := p.Budgets.Limit(s.Now, total, c.Reason, s.Rules); takes {
			require.LessOrEqual(t, down, limit, "seed %d: pool %s, %s", seed, p.Name, c)
		}
	}
}

// finishSome lets some disruptions end: their nodes go, or their replacement failed.
func finishSome(r *rand.Rand, f *simulatetest.Member, record []api.Disruption, now time.Time) {
	for i := range record {
		d := &record[i]
		if !d.Running() || r.IntN(4) > 0 {
			continue
		}
		if d.Phase == api.PhaseLaunching && r.IntN(2) == 0 {
			*d, _ = orchestration.Advance(*d, &api.DisruptionResult{ID: d.ID, Replacements: []api.NodeReplacement{{Name: d.ID + "-0", Failed: "no capacity"}}}, now)
			continue
		}
		d.Phase = api.PhaseDone
		f.Nodes = slices.DeleteFunc(f.Nodes, func(n *api.NodeState) bool { return slices.Contains(d.Nodes, n.Name) })
	}
}
