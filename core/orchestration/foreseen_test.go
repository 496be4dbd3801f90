package orchestration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/disruption/disruptiontest"
	"flotilla/core/explain"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

func byForce(p *api.NodePool) {
	p.Annotations = map[string]string{api.AnnotationExpiration: api.ExpirationForceful}
	p.Spec.Template.Spec.ExpireAfter = "1h"
}

func bare(p *api.PodState) { p.Owner = "" }

// Drift of a static pool looks for no places, and says all the same where the pods would go: to nodes that
// stay, to the node's own replacement at its lowest price, or nowhere; which are lost, and which are killed.
func TestStaticDriftTellsWhereItsPodsGo(t *testing.T) {
	f := simulatetest.Member{
		Nodes: []*api.NodeState{
			simulatetest.Going("n1", "d4", simulatetest.Pod("a", 1000), simulatetest.Pod("big", 2500), simulatetest.Pod("bare", 100, bare)),
			simulatetest.Going("n2", "d4", simulatetest.Pod("b", 1500), simulatetest.Pod("kept", 200, simulatetest.Guarded("true"))),
			simulatetest.Node("x", "d2", "z-a", "", simulatetest.Pod("own", 1500)),
		},
		Pools: []*api.NodePool{simulatetest.Pool("a", simulatetest.FixedSize)},
	}
	d := disruption.Decide(f.State())
	require.Equal(t, []string{
		`replace n1: Drifted ImageDrifted (static-drift), saves 0.1079 an hour
  new-0: pool a, f2 or d2 or e2 or f4 or d4 or 6 more, on-demand, from 0.0761 an hour
  default/a: n1 -> new-0
  default/bare: n1 -> lost: it has no controller, and nothing makes it again
  default/big: n1 -> nowhere: 0/2 nodes are available: 2 insufficient cpu
`, `replace n2: Drifted ImageDrifted (static-drift), saves 0.1079 an hour
  new-0: pool a, f2 or d2 or e2 or f4 or d4 or 6 more, on-demand, from 0.0761 an hour
  default/b: n2 -> new-0
  default/kept: n2 -> killed 59m30s into the drain, at 2026-11-20T12:59:30Z or later -> x
    it has the annotation karpenter.sh/do-not-disrupt
`,
	}, []string{d.Commands[0].String(), d.Commands[1].String()})
	require.Equal(t, []string{"pod default/bare is lost with n1: it has no controller, and nothing makes it again"}, d.Commands[0].Warnings())
	require.Contains(t, explain.Foresee(f.State(), 0).String(), "default/big: n1 -> nowhere: 0/2 nodes are available: 2 insufficient cpu")
}

// Forceful expiration launches nothing first: pods go to nodes that stay, those that wait already before them
// when they are larger, or nowhere.
func TestForcefulExpirationTellsWhereItsPodsGo(t *testing.T) {
	n1 := simulatetest.Aged(simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("p", 1000), simulatetest.Pod("q", 800), simulatetest.Pod("kept", 100, simulatetest.Guarded("true"))), 2)
	n1.TerminationGracePeriod = "10m"
	f := simulatetest.Member{
		Nodes:   []*api.NodeState{n1, simulatetest.Aged(simulatetest.Node("n2", "d4", "z-a", "a", simulatetest.Pod("r", 500)), 3), simulatetest.Node("x", "d4", "z-a", "", simulatetest.Pod("own", 500))},
		Pending: []api.PodState{simulatetest.Pod("waits", 2000)},
		Pools:   []*api.NodePool{simulatetest.Pool("a", byForce)},
	}
	d := disruption.Decide(f.State())
	require.Equal(t, "delete [n1] by expired p>x q>; delete [n2] by expired r>", disruptiontest.Summary(d))
	require.Equal(t, "nowhere: 0/1 nodes are available: 1 insufficient cpu", d.Commands[0].Moves[1].Where())
	require.Equal(t, []string{"kept +9m30s DoNotDisruptPod -> x"}, killedLines(d.Commands))
}

// What is only foreseen keeps no place: later decisions are those of a member that was told of no moves.
func TestForeseenMovesKeepNoPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		pool func(*api.NodePool)
		gone *api.NodeState
	}{
		"static drift":        {simulatetest.FixedSize, simulatetest.Going("n1", "d4", simulatetest.Pod("p", 100))},
		"forceful expiration": {byForce, simulatetest.Aged(simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("p", 100)), 2)},
	} {
		s := newStepper([]*api.NodeState{tc.gone, simulatetest.Node("x", "d4", "z-a", "b", simulatetest.Pod("own", 100))}, simulatetest.Pool("a", tc.pool), simulatetest.Pool("b"))
		s.step(0)
		require.Equal(t, []api.PodMove{{Pod: "default/p", From: "n1", To: "x"}}, s.one().Moves, name)
		state := orchestration.StateOf(s.in)
		require.Empty(t, state.Nominated, name)
		require.Empty(t, state.Promised, name)
		require.False(t, state.Unsettled, name)
		ahead := s.f.State().Ahead()
		(&disruption.Command{Method: s.one().Method, Forceful: s.one().Forceful, Nodes: []string{"n1"}, Moves: s.one().Moves}).Begun(ahead)
		require.Empty(t, ahead.Nominated, name)
		require.Equal(t, map[string]bool{"n1": true}, ahead.Busy, name)
	}
}

// A record tells of so many pods and not more what nothing acts on, however many nodes expire at once.
func TestRecordsTellOfSoManyForeseenPods(t *testing.T) {
	s := newStepper(nil, simulatetest.Pool("a", byForce))
	for i := range 50 {
		n := simulatetest.Aged(simulatetest.FilledNode(i, false), 2)
		n.Labels[api.LabelNodePool], n.TerminationGracePeriod = "a", "1h"
		for range 40 {
			n.Pods = append(n.Pods, simulatetest.Pod(n.Name+string(rune('a'+len(n.Pods))), 1, simulatetest.Guarded("true")))
		}
		s.f.Nodes = append(s.f.Nodes, n)
	}
	s.step(0)
	pods, bare := 0, 0
	for i := range s.in.Record.Disruptions {
		d := &s.in.Record.Disruptions[i]
		if pods += len(d.Moves) + len(d.Killed); len(d.Moves) == 0 && len(d.Killed) == 0 {
			bare++
		}
	}
	require.Len(t, s.in.Record.Disruptions, 50)
	require.Equal(t, 2000, pods)
	require.Equal(t, 10, bare)

	ended := api.Disruption{ID: "ended", Phase: api.PhaseDone, Nodes: []string{"gone"}, Ended: metav1.NewTime(simulatetest.Now), Killed: make([]api.KilledPod, orchestration.KeptMoves+1)}
	s.in.Record = api.DisruptionRecord{Header: api.NewHeader(api.KindDisruptionRecord), Disruptions: []api.Disruption{ended}}
	s.f.Nodes = nil
	s.step(time.Hour)
	require.Equal(t, "ended", s.one().ID)
	require.Empty(t, s.one().Killed)

	full := api.Disruption{ID: "full", Phase: api.PhaseDraining, Method: disruption.MethodDrift, Nodes: []string{"n1"}, Moves: make([]api.PodMove, orchestration.MostMoves), Killed: make([]api.KilledPod, 1)}
	s.in.Record.Disruptions = []api.Disruption{full}
	s.f.Nodes = []*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a")}
	s.step(2 * time.Hour)
	require.Len(t, s.one().Moves, orchestration.MostMoves)
	require.Empty(t, s.one().Killed, "the record has no room for it")
}

// Every pod that needs a place once its node has gone is told of once, by moves or as killed; deciding twice
// tells the same.
func TestEveryForeseenPodIsToldOfOnce(t *testing.T) {
	checked := 0
	for seed := range uint64(simulatetest.PropertySeeds) {
		f := simulatetest.RandomMember(seed)
		change := simulatetest.FixedSize
		if seed%2 == 0 {
			change = byForce
		}
		for _, p := range f.Pools {
			change(p)
		}
		for _, n := range f.Nodes {
			n.ProviderDrift, n.TerminationGracePeriod = "ImageDrifted", "1h"
		}
		s := f.State()
		d := disruption.Decide(s)
		require.Equal(t, d, disruption.Decide(s), "seed %d", seed)
		x := simulate.NewIndex(s)
		for i := range d.Commands {
			c := &d.Commands[i]
			if !disruption.Foreseen(c.Method, c.Forceful) {
				continue
			}
			told := map[string]int{}
			for _, m := range c.Moves {
				told[m.Pod]++
			}
			for j := range c.Killed {
				told[c.Killed[j].Pod]++
			}
			for j := range x.ByName[c.Nodes[0]].Pods {
				if p := &x.ByName[c.Nodes[0]].Pods[j]; p.Movable {
					require.Equal(t, 1, told[p.Key], "seed %d: %s\n%s", seed, p.Key, c)
					checked++
				}
			}
		}
	}
	require.Greater(t, checked, simulatetest.PropertySeeds)
}
