package orchestration_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/disruption/disruptiontest"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// stepper is one member that Step is asked about again and again, as the room does it.
type stepper struct {
	f       simulatetest.Member
	in      orchestration.StepInput
	last    orchestration.StepResult
	now     time.Time
	results map[string]*api.DisruptionResult
}

func newStepper(nodes []*api.NodeState, pools ...*api.NodePool) *stepper {
	for _, n := range nodes {
		n.UID = "uid-" + n.Name
		for _, p := range pools {
			if n.Labels[api.LabelNodePool] == p.Name { // as agents do when they see it first
				n.Annotations = maps.Clone(n.Annotations)
				stamped(n, api.PoolStamp{Pool: p.Name, Hash: capacity.PoolHash(p)})
			}
		}
	}
	return &stepper{
		f: simulatetest.Member{Nodes: nodes, Pools: pools}, now: simulatetest.Now, results: map[string]*api.DisruptionResult{},
		in: orchestration.StepInput{Member: "berlin"},
	}
}

// step asks at a time since the start and writes what it is told.
func (s *stepper) step(after time.Duration) orchestration.StepResult {
	s.now = simulatetest.Now.Add(after)
	s.in.State, s.in.Results = *s.f.State(), s.results
	s.in.State.Now = s.now
	s.last = orchestration.Step(s.in)
	if s.last.Changed {
		s.in.Record = s.last.Record
	}
	s.in.Waiting, s.in.Deletions = s.last.Waiting, nil
	s.in.Lock.Ours = (s.in.Lock.Ours || s.last.TakeLock) && !s.last.ReleaseLock
	return s.last
}

func (s *stepper) one() *api.Disruption { return &s.in.Record.Disruptions[0] }

func (s *stepper) remove(name string) {
	for i, n := range s.f.Nodes {
		if n.Name == name {
			s.f.Nodes = append(s.f.Nodes[:i:i], s.f.Nodes[i+1:]...)
			return
		}
	}
}

func reasonsOf(events []api.Audit) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.Reason)
	}
	return out
}

// An empty node waits for its validation, drains under the lock, and is done when it is gone; then
// nothing is left to do.
func TestStepEmptyNode(t *testing.T) {
	s := newStepper([]*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a")}, simulatetest.Pool("a"))
	chosen := s.step(0)
	require.Empty(t, s.in.Record.Disruptions)
	require.Len(t, chosen.Waiting, 1)
	require.True(t, chosen.Again)
	require.False(t, chosen.TakeLock)
	require.Equal(t, []string{"ConsolidationCandidate"}, reasonsOf(chosen.Events))
	require.Equal(t, simulatetest.Now.Add(disruption.ValidationWait), chosen.Recheck)

	require.Len(t, s.step(14*time.Second).Waiting, 1, "not before its time, and not twice")
	began := s.step(15 * time.Second)
	require.True(t, began.TakeLock)
	require.Empty(t, began.Waiting)
	require.Equal(t, api.PhaseDraining, s.one().Phase)
	require.Equal(t, map[string]string{"n1": "uid-n1"}, s.one().UIDs)
	require.Equal(t, []string{s.one().ID}, began.Began)
	require.Contains(t, reasonsOf(began.Events), "DisruptionTerminating", "nothing is launched for it")
	require.NotContains(t, reasonsOf(began.Events), "DisruptionLaunching")
	require.False(t, s.step(20*time.Second).Changed, "nothing changed, nothing to write")

	s.results[s.one().ID] = &api.DisruptionResult{ID: s.one().ID, Phase: api.PhaseDraining, Message: "waiting for pod x"}
	s.step(21 * time.Second)
	require.Equal(t, "waiting for pod x", s.one().Message)
	s.results[s.one().ID] = &api.DisruptionResult{ID: s.one().ID, Phase: api.PhaseDone, Gone: []string{"n1"}}
	done := s.step(30 * time.Second)
	require.True(t, done.ReleaseLock)
	require.Equal(t, api.PhaseDone, s.one().Phase)
	require.Equal(t, []string{s.one().ID}, done.Ended)
	require.Empty(t, done.Waiting, "the node is still in the view, and is not taken twice")
	s.remove("n1")
	after := s.step(60 * time.Second)
	require.Empty(t, after.Waiting)
	require.False(t, after.Changed)
	require.False(t, after.Again, "nothing is to be done, so nothing is to be looked at again at once")
}

// replaceable is a dear node with a small pod, that a cheap one would do for.
func replaceable() *stepper {
	return newStepper([]*api.NodeState{simulatetest.Node("n1", "d16", "z-a", "a", simulatetest.Pod("p", 500))}, simulatetest.Pool("a"))
}

func (s *stepper) launching(t *testing.T) {
	t.Helper()
	s.step(0)
	s.step(15 * time.Second)
	require.Len(t, s.in.Record.Disruptions, 1)
	require.Equal(t, api.PhaseLaunching, s.one().Phase)
}

func (s *stepper) say(phase string, change func(*api.DisruptionResult)) {
	r := &api.DisruptionResult{ID: s.one().ID, Phase: phase}
	if change != nil {
		change(r)
	}
	s.results[r.ID] = r
}

// A replacement comes first; nothing else is decided until it is in the view; then the node drains, and
// the replacement is left alone for a while though it is empty at first.
func TestStepReplacement(t *testing.T) {
	s := replaceable()
	s.launching(t)
	d := s.one()
	name := d.Replacements[0].Name
	require.Equal(t, "replacement "+name+" is on its way", s.in.Record.Stale)
	require.Contains(t, d.Message, "waiting for 1 of 1 replacements: "+name+" has no node yet; given up at ")
	require.Len(t, s.in.Record.Pools, 1)
	require.Equal(t, "a", s.in.Record.Pools[0].Name)
	require.NotEmpty(t, d.Replacements[0].Types)
	require.LessOrEqual(t, len(d.Replacements[0].Types), api.MaxLaunchTypes)
	cheapest := d.Replacements[0].Types[0]
	require.Equal(t, d.Replacements[0].InstanceTypes[0], cheapest.Name)
	require.NotEmpty(t, cheapest.Offerings)
	require.Positive(t, cheapest.Allocatable["cpu"])

	s.f.Nodes = append(s.f.Nodes, simulatetest.Node("empty", "d4", "z-a", "a"))
	require.Nil(t, s.step(16*time.Second).Decision)
	s.remove("empty")
	s.say(api.PhaseLaunching, func(r *api.DisruptionResult) {
		r.Replacements = []api.NodeReplacement{{Name: name, Node: "fresh", Initialized: true}}
	})
	s.step(60 * time.Second)
	require.Equal(t, api.PhaseDraining, s.one().Phase)
	require.NotEmpty(t, s.in.Record.Stale, "the replacement is ready and not in the view")
	s.f.Nodes = append(s.f.Nodes, simulatetest.Node("fresh", cheapest.Name, "z-a", "a"))
	seen := s.step(61 * time.Second)
	require.Empty(t, s.in.Record.Stale)
	require.Empty(t, seen.Waiting)
	require.Equal(t, []disruption.Code{disruption.CodeNominated}, disruptiontest.Codes(*seen.Decision, "fresh"))
	s.say(api.PhaseDone, func(r *api.DisruptionResult) { r.Gone = []string{"n1"} })
	s.remove("n1")
	s.step(70 * time.Second)
	require.Equal(t, []disruption.Code{disruption.CodeNominated}, disruptiontest.Codes(*s.step(89 * time.Second).Decision, "fresh"))
	require.Len(t, s.step(91*time.Second).Waiting, 1, "nobody came: it is empty")
}

// A replacement that fails aborts the disruption and backs the node off; the lock and the node are kept
// until the agent has taken the taint off.
func TestStepAbort(t *testing.T) {
	s := replaceable()
	s.launching(t)
	s.say(api.PhaseLaunching, func(r *api.DisruptionResult) {
		r.Replacements = []api.NodeReplacement{{Name: s.one().Replacements[0].Name, Failed: "no capacity"}}
	})
	failed := s.step(20 * time.Second)
	require.Equal(t, api.PhaseAborted, s.one().Phase)
	require.True(t, s.one().Ended.IsZero())
	require.False(t, failed.ReleaseLock)
	require.Equal(t, []string{"DisruptionFailed"}, reasonsOf(failed.Events))
	require.Len(t, s.in.Record.Backoffs, 1)
	require.Equal(t, simulatetest.Now.Add(80*time.Second), s.in.Record.Backoffs[0].Until.Time)
	require.Empty(t, s.in.Record.Pools)
	require.Equal(t, []disruption.Code{disruption.CodeUndoing}, disruptiontest.Codes(*s.step(5 * time.Minute).Decision, "n1"), "the agent is away: the taint is still there")
	state := s.f.State()
	state.Undoing = map[string]string{"n1": s.one().ID}
	row := orchestration.MemberNodes(state, "berlin", s.last.Decision, s.in.Record.Disruptions)[0].Status
	require.Equal(t, []string{api.NodeDisrupting, api.PhaseAborted, s.one().ID}, []string{row.State, row.Phase, row.Disruption})
	require.Contains(t, row.Verdict.Message, s.one().ID+" of the node was given up")
	s.say(api.PhaseAborted, nil)
	confirmed := s.step(5*time.Minute + time.Second)
	require.Equal(t, api.NodeReady, orchestration.MemberNodes(s.f.State(), "berlin", s.last.Decision, s.in.Record.Disruptions)[0].Status.State)
	require.True(t, confirmed.ReleaseLock)
	require.Len(t, s.step(5*time.Minute+2*time.Second).Waiting, 1, "the back-off is over")
}

// A launch that nobody answers for is given up at its deadline.
func TestStepLaunchTimesOut(t *testing.T) {
	s := replaceable()
	s.launching(t)
	require.Equal(t, s.one().Deadline.Time, s.last.Recheck)
	s.step(s.one().Deadline.Sub(simulatetest.Now))
	require.Equal(t, api.PhaseAborted, s.one().Phase)
	require.Contains(t, s.one().Message, "not ready in time")
}

// What was chosen is checked again, and given up with the reason; what is chosen meanwhile counts with
// it.
func TestStepValidation(t *testing.T) {
	budget := func(n string) *api.NodePool {
		return simulatetest.Pool("a", func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new(n)}} })
	}
	s := newStepper([]*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a"), simulatetest.Node("n2", "d4", "z-a", "a")}, budget("1"))
	require.Equal(t, []string{"n1"}, s.step(0).Waiting[0].Command.Nodes)
	require.Len(t, s.step(time.Second).Waiting, 1, "the budget is spoken for")
	s.f.Nodes[0].Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	gone := s.step(15 * time.Second)
	require.Equal(t, 1, gone.Failed)
	require.Contains(t, gone.Events[0].Message, "no node of the command is empty and within budget any more")
	require.Len(t, gone.Waiting, 1)
	require.Equal(t, []string{"n2"}, gone.Waiting[0].Command.Nodes)
	s.f.Nodes[0].Ready = false
	require.Equal(t, 1, s.step(30*time.Second).Failed, "a node that is down uses the budget up")
	require.Empty(t, s.in.Record.Disruptions)
}

// Two commands whose wait is over at once do not exceed a budget together, as two hubs' choices would.
func TestStepBeginsWithinBudget(t *testing.T) {
	s := newStepper([]*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a"), simulatetest.Node("n2", "d4", "z-a", "a")}, simulatetest.Pool("a", func(p *api.NodePool) {
		p.Annotations = map[string]string{api.AnnotationFleetBudget: "f=1"}
	}))
	for _, n := range []string{"n1", "n2"} {
		s.in.Waiting = append(s.in.Waiting, orchestration.Waiting{disruption.Command{Method: disruption.MethodEmpty, Reason: api.ReasonEmpty, Nodes: []string{n}}, simulatetest.Now})
	}
	s.f.Change = func(st *simulate.State) { st.FleetAllowed = map[string]int{"f": 1} }
	out := s.step(15 * time.Second)
	require.Len(t, out.Began, 1)
	require.Equal(t, 1, out.Failed)
	require.Equal(t, map[string]int{"f": 1}, s.in.State.FleetAllowed, "the input is not changed")

	s.in.Record, s.in.Lock = api.DisruptionRecord{}, orchestration.MemberLock{}
	s.f.Pools[0].Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("1")}}
	s.f.Change = nil
	for _, n := range []string{"n1", "n2"} {
		s.in.Waiting = append(s.in.Waiting, orchestration.Waiting{disruption.Command{Method: disruption.MethodEmpty, Reason: api.ReasonEmpty, Nodes: []string{n}}, simulatetest.Now})
	}
	require.Len(t, s.step(15*time.Second).Began, 1)
}

// Nothing is decided while the view is too old, another holds the member or waits for it; what was chosen
// is given up, what runs goes on.
func TestStepHeld(t *testing.T) {
	for why, hold := range map[string]func(*stepper){
		"no inventory":                          func(s *stepper) { s.f.Change = func(st *simulate.State) { st.Stale = "no inventory" } },
		"the member is not Ready":               func(s *stepper) { s.in.Hold = "the member is not Ready" },
		"update run web-1 holds the member":     func(s *stepper) { s.in.Lock = orchestration.MemberLock{Owner: "update run web-1"} },
		"update run web-1 waits for the member": func(s *stepper) { s.in.Lock.Awaited = "update run web-1" },
	} {
		s := newStepper([]*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a")}, simulatetest.Pool("a"))
		s.step(0)
		hold(s)
		out := s.step(time.Second)
		require.Nil(t, out.Decision, why)
		require.Empty(t, out.Waiting, why)
		require.Equal(t, []string{"ConsolidationRejected"}, reasonsOf(out.Events))
		require.Equal(t, why, s.in.Record.Stale)
		require.False(t, s.step(2*time.Second).Changed, why)
		require.Equal(t, simulatetest.Now.Add(time.Second), s.in.Record.StaleSince.Time)
		s.f.Change, s.in.Hold, s.in.Lock = nil, "", orchestration.MemberLock{}
		s.step(3 * time.Second)
		require.True(t, s.in.Record.Stale == "" && s.in.Record.StaleSince.IsZero(), why)
	}
	s := replaceable()
	s.launching(t)
	s.in.Hold = "the member is not Ready"
	s.say(api.PhaseLaunching, func(r *api.DisruptionResult) {
		r.Replacements = []api.NodeReplacement{{Name: s.one().Replacements[0].Name, Node: "fresh", Initialized: true}}
	})
	s.step(20 * time.Second)
	require.Equal(t, api.PhaseDraining, s.one().Phase)
}

// A disruption whose nodes somebody else deleted is done, unless the view is too old to tell; a node of
// the same name made anew is another one.
func TestStepNodesVanish(t *testing.T) {
	s := newStepper([]*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a"), simulatetest.Node("n2", "d4", "z-a", "a", simulatetest.Pod("p", 100))}, simulatetest.Pool("a"))
	s.step(0)
	s.step(15 * time.Second)
	s.remove("n1")
	s.f.Change = func(st *simulate.State) { st.Stale = "old" }
	s.step(16 * time.Second)
	require.Equal(t, api.PhaseDraining, s.one().Phase)
	again := simulatetest.Node("n1", "d4", "z-a", "a")
	again.UID = "another"
	s.f.Nodes = append(s.f.Nodes, again)
	s.f.Change = nil
	out := s.step(17 * time.Second)
	require.Equal(t, api.PhaseDone, s.one().Phase)
	require.Equal(t, []string{"n1"}, out.Waiting[0].Command.Nodes, "the new n1 is empty as well")

	s = replaceable()
	s.launching(t)
	s.remove("n1")
	s.step(16 * time.Second)
	require.Equal(t, api.PhaseAborted, s.one().Phase)
	require.Empty(t, s.in.Record.Backoffs)
}

// A person deletes a node past budgets; asking again asks once; what cannot be done is refused.
func TestStepDeletions(t *testing.T) {
	none := simulatetest.Pool("a", func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("0")}} })
	s := newStepper([]*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("p", 100)), simulatetest.Node("pet", "d4", "z-a", "")}, none)
	s.in.Deletions = []orchestration.Deletion{{Node: "n1", Request: "r1"}, {Node: "pet"}, {Node: "n9"}}
	out := s.step(0)
	d := s.one()
	require.Equal(t, "n1 "+d.ID, accepted(out))
	require.Contains(t, out.Deletions["pet"].Refused, "neither Flotilla nor Karpenter made node pet")
	require.Equal(t, "member berlin has no node n9", out.Deletions["n9"].Refused)
	require.Equal(t, []any{api.MethodManual, api.ReasonDeleted, true, api.PhaseDraining, "r1"}, []any{d.Method, d.Reason, d.Forceful, d.Phase, d.Request})
	require.True(t, out.TakeLock)
	for _, request := range []string{"r1", "r2"} {
		s.in.Deletions = []orchestration.Deletion{{Node: "n1", Request: request}}
		require.Equal(t, "n1 "+d.ID, accepted(s.step(time.Second)))
	}
	require.Len(t, s.in.Record.Disruptions, 1)
	s.remove("n1")
	s.step(2 * time.Second)
	s.in.Deletions = []orchestration.Deletion{{Node: "n1", Request: "r1"}}
	require.Equal(t, "n1 "+d.ID, accepted(s.step(3*time.Second)), "a repeated request answers the first result")

	s = replaceable()
	s.launching(t)
	s.in.Deletions = []orchestration.Deletion{{Node: "n1"}}
	require.Contains(t, s.step(16 * time.Second).Deletions["n1"].Refused, "is being replaced by disruption "+s.one().ID)

	s = replaceable()
	s.in.Lock.Owner, s.in.Deletions = "update run web-1", []orchestration.Deletion{{Node: "n1"}}
	require.Equal(t, "update run web-1 holds member berlin", s.step(0).Deletions["n1"].Refused)
}

// A pool that is deleted takes all its nodes along, also those that come later; others stay.
func TestStepPoolDeleted(t *testing.T) {
	s := newStepper([]*api.NodeState{
		simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("p", 100)), simulatetest.Node("n2", "d4", "z-a", "a"), simulatetest.Node("n3", "d4", "z-a", "b", simulatetest.Pod("q", 3800)),
	}, simulatetest.Pool("a"), simulatetest.Pool("b"))
	s.f.Options = map[string]capacity.PoolOptions{"a": {Deleting: true}}
	s.in.Hold = "the member is not Ready"
	s.step(0)
	require.Len(t, s.in.Record.Disruptions, 1)
	require.Equal(t, []string{"n1", "n2"}, s.one().Nodes)
	require.False(t, s.step(time.Second).Changed)
	s.f.Nodes = append(s.f.Nodes, simulatetest.Node("n4", "d4", "z-a", "a"))
	s.step(2 * time.Second)
	require.Equal(t, []string{"n4"}, s.in.Record.Disruptions[1].Nodes)
}

// A member that left leaves nothing behind.
func TestStepLeft(t *testing.T) {
	s := replaceable()
	s.launching(t)
	s.in.Left = true
	id := s.one().ID
	out := s.step(16 * time.Second)
	require.True(t, out.Remove && out.Changed && out.ReleaseLock)
	require.Equal(t, []string{id}, out.Dropped)
	require.Equal(t, []string{"DisruptionFailed"}, reasonsOf(out.Events))
	require.Empty(t, out.Waiting)
}

// Disruptions that have ended are kept, but not for ever.
func TestStepForgetsTheOldest(t *testing.T) {
	s := newStepper([]*api.NodeState{simulatetest.Node("n0", "d4", "z-a", "b")}, simulatetest.Pool("b", func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.Never }))
	var dropped []string
	for i := range orchestration.KeptEnded + 3 {
		s.f.Nodes[0] = simulatetest.Node("n0", "d4", "z-a", "b")
		s.f.Nodes[0].UID = string(rune('a' + i))
		s.in.Deletions = []orchestration.Deletion{{Node: "n0"}}
		dropped = append(dropped, s.step(time.Duration(i)*time.Minute).Dropped...)
	}
	require.Len(t, s.in.Record.Disruptions, orchestration.KeptEnded+1, "ten, and the one that runs")
	require.Len(t, dropped, 2)
	require.NotContains(t, s.in.Record.Disruptions, dropped[0])
}

// Drift is dated by the first pass that saw it, and forgotten with it.
func TestStepDatesDrift(t *testing.T) {
	n := simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("p", 500))
	n.ProviderDrift = "ImageDrifted"
	s := newStepper([]*api.NodeState{n}, simulatetest.Pool("a", func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("0")}} }))
	s.step(0)
	s.step(time.Minute)
	require.Equal(t, simulatetest.Now, s.in.Record.DriftedSince["n1"].Time)
	n.ProviderDrift = ""
	s.step(2 * time.Minute)
	require.Empty(t, s.in.Record.DriftedSince)
}

// What a step is given it does not change, and the same gives the same.
func TestStepIsPure(t *testing.T) {
	s := replaceable()
	s.launching(t)
	s.say(api.PhaseLaunching, func(r *api.DisruptionResult) {
		r.Replacements = []api.NodeReplacement{{Name: s.one().Replacements[0].Name, Failed: "no"}}
	})
	in := s.in
	in.State, in.Results = *s.f.State(), s.results
	before, first := orchestration.CloneRecord(&in.Record, "berlin"), orchestration.Step(in)
	require.Equal(t, before, in.Record)
	require.Equal(t, first, orchestration.Step(in))
}

// While a replacement waits to be validated nothing is decided beside it; while one is on its way, what
// waits is neither begun nor given up.
func TestStepReplacementsGoAlone(t *testing.T) {
	s := replaceable()
	require.Len(t, s.step(0).Waiting, 1)
	s.f.Nodes = append(s.f.Nodes, simulatetest.Node("empty", "d4", "z-a", "a"))
	require.Nil(t, s.step(time.Second).Decision)

	s = replaceable()
	s.f.Nodes = append(s.f.Nodes, simulatetest.Node("empty", "d2", "z-a", "a"))
	s.f.Nodes[1].NominatedUntil = metav1.NewTime(simulatetest.Now.Add(5 * time.Second))
	s.f.Nodes[1].Labels[corev1.LabelTopologyZone] = "z-b"
	s.f.Nodes[0].Pods[0].NodeSelector = map[string]string{corev1.LabelTopologyZone: "z-a"}
	require.Len(t, s.step(0).Waiting[0].Command.Replacements, 1)
	s.in.Waiting = append(s.in.Waiting, orchestration.Waiting{disruption.Command{Method: disruption.MethodEmpty, Reason: api.ReasonEmpty, Nodes: []string{"empty"}}, simulatetest.Now.Add(5 * time.Second)})
	s.step(15 * time.Second)
	require.Equal(t, api.PhaseLaunching, s.one().Phase)
	require.Len(t, s.step(20*time.Second).Waiting, 1, "its wait is over, and the launch is not")
	d := s.one()
	s.say(api.PhaseLaunching, func(r *api.DisruptionResult) {
		r.Replacements = []api.NodeReplacement{{Name: d.Replacements[0].Name, Node: "fresh", Initialized: true}}
	})
	s.f.Nodes = append(s.f.Nodes, simulatetest.Node("fresh", "d2", "z-a", "a"))
	require.Len(t, s.step(30*time.Second).Began, 1)
	require.Equal(t, []string{"empty"}, s.in.Record.Disruptions[1].Nodes)
}

// A disruption that the agent gave up is given up here, and needs no confirmation more.
func TestStepAgentGivesUp(t *testing.T) {
	s := newStepper([]*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a")}, simulatetest.Pool("a"))
	s.step(0)
	s.step(15 * time.Second)
	s.say(api.PhaseAborted, func(r *api.DisruptionResult) { r.Message = "it was not in the command" })
	out := s.step(20 * time.Second)
	require.Equal(t, api.PhaseAborted, s.one().Phase)
	require.Equal(t, "the agent gave it up: it was not in the command", s.one().Message)
	require.Equal(t, simulatetest.Now.Add(20*time.Second), s.one().Ended.Time)
	require.True(t, out.ReleaseLock)
	require.Len(t, s.in.Record.Backoffs, 1)
}

// The moves of a disruption are those of its own pods, and of pods that had no node.
func TestStepKeepsItsOwnMoves(t *testing.T) {
	s := newStepper([]*api.NodeState{
		simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("p", 100)), simulatetest.Node("n2", "d4", "z-a", "a", simulatetest.Pod("q", 100)), simulatetest.Node("n3", "d16", "z-a", "b", simulatetest.Pod("r", 100)),
	}, simulatetest.Pool("a"), simulatetest.Pool("b", func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.Never }))
	s.f.Nodes[0].Deleting = true
	s.step(0)
	s.step(15 * time.Second)
	require.Equal(t, []string{"n2"}, s.one().Nodes)
	require.Equal(t, []api.PodMove{{Pod: "default/q", From: "n2", To: "n3"}}, s.one().Moves)
}

// A disruption that is done is kept as long as its node is in the view, so that nothing takes it again.
func TestStepRemembersWhatIsStillSeen(t *testing.T) {
	s := newStepper(nil, simulatetest.Pool("b", func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.Never }))
	for i := range orchestration.KeptEnded + 3 {
		n := simulatetest.Node(fmt.Sprintf("n%02d", i), "d4", "z-a", "b")
		n.UID = "uid-" + n.Name
		s.f.Nodes = append(s.f.Nodes, n)
		s.in.Deletions = []orchestration.Deletion{{Node: n.Name}}
		began := s.step(time.Duration(i) * time.Minute).Began[0]
		s.results[began] = &api.DisruptionResult{ID: began, Phase: api.PhaseDone, Gone: []string{n.Name}}
	}
	require.Empty(t, s.step(time.Hour).Dropped)
	require.Len(t, s.in.Record.Disruptions, orchestration.KeptEnded+3)
	require.Equal(t, []disruption.Code{disruption.CodeQueued}, disruptiontest.Codes(*s.last.Decision, "n00"))
	s.f.Nodes = nil
	require.Len(t, s.step(2*time.Hour).Dropped, 3)
}

// accepted are the nodes that a pass deletes, each with its disruption.
func accepted(out orchestration.StepResult) string {
	var texts []string
	for _, node := range slices.Sorted(maps.Keys(out.Deletions)) {
		if id := out.Deletions[node].Disruption; id != "" {
			texts = append(texts, node+" "+id)
		}
	}
	return strings.Join(texts, "; ")
}
