package orchestration_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/disruption/disruptiontest"
	"flotilla/core/explain"
	"flotilla/core/simulate/simulatetest"
)

// killedLines are the killed pods of commands: pod, when, which protection, where to.
func killedLines(commands []disruption.Command) []string {
	var out []string
	for i := range commands {
		for j := range commands[i].Killed {
			k := &commands[i].Killed[j]
			line := fmt.Sprintf("%s +%s %s -> %s", k.Pod[len("default/"):], k.After.Duration, k.Code, k.Where())
			if k.WithNode {
				line += " (with its node)"
			}
			out = append(out, line)
		}
	}
	return out
}

// Pods that terminationGracePeriod kills past what protects them are named with the moment, the protection and
// where they go: by the plan, why and JSON (N25).
func TestPodsKilledPastTheirProtection(t *testing.T) {
	min1 := intstr.FromInt32(1)
	f := simulatetest.Member{
		Nodes: []*api.NodeState{
			simulatetest.Going("n1", "d4", simulatetest.Pod("db", 500), simulatetest.Pod("free", 100), simulatetest.Pod("job", 500, simulatetest.Guarded("true"), simulatetest.Ending(600)), simulatetest.Pod("bare", 100, simulatetest.Guarded("true"), func(p *api.PodState) { p.Owner = "" })),
			simulatetest.Node("x", "d4", "z-a", ""),
		},
		Pdbs:  []api.PodBudget{{Namespace: "default", Name: "db", Selector: simulatetest.Selecting("db"), MinAvailable: &min1}},
		Pools: []*api.NodePool{simulatetest.Pool("a")},
	}
	forecast := explain.ForeseeMember(f.State(), "", []string{"n1"}, 0)
	require.Len(t, forecast.Commands, 1)
	require.Equal(t, `delete n1: Drifted ImageDrifted (drift), saves 0.1840 an hour
  default/free: n1 -> x
  default/job: n1 -> killed at 2026-11-20T12:50:00Z -> x
    it has the annotation karpenter.sh/do-not-disrupt
  default/bare: n1 -> killed at 2026-11-20T12:59:30Z -> lost: it has no controller, and nothing makes it again
    it has the annotation karpenter.sh/do-not-disrupt
  default/db: n1 -> killed at 2026-11-20T12:59:30Z -> x
    PodDisruptionBudget default/db allows no eviction (minAvailable 1); once it does, the pod is evicted
`, forecast.Commands[0].String())
	require.Equal(t, []string{
		"pod default/bare is lost with n1: it has no controller, and nothing makes it again",
		"3 pods are killed with n1 past what protects them, in time for the end of terminationGracePeriod: default/job, default/bare, default/db",
	}, forecast.Notes)
	require.Contains(t, forecast.Explanations[0].String(), "default/job: n1 -> killed at 2026-11-20T12:50:00Z -> x")
	raw, err := json.Marshal(forecast.Commands[0].Killed)
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"pod": "default/job", "from": "n1", "to": "x", "at": "2026-11-20T12:50:00Z", "after": "50m0s", "code": "DoNotDisruptPod", "message": "it has the annotation karpenter.sh/do-not-disrupt"},
		{"pod": "default/bare", "from": "n1", "lost": true, "at": "2026-11-20T12:59:30Z", "after": "59m30s", "code": "DoNotDisruptPod", "message": "it has the annotation karpenter.sh/do-not-disrupt"},
		{"pod": "default/db", "from": "n1", "to": "x", "at": "2026-11-20T12:59:30Z", "after": "59m30s", "code": "PDBBlocks", "about": "default/db",
		 "message": "PodDisruptionBudget default/db allows no eviction (minAvailable 1); once it does, the pod is evicted"}
	]`, string(raw))

	f.Nodes[0].TerminationGracePeriod = ""
	require.Equal(t, "none", disruptiontest.Summary(disruption.Decide(f.State())), "without the period the same pods keep the node")
}

// What protects a pod, and until when, decides whether it is killed, and when; where it goes is told after
// the moves of the others.
func TestWhoIsKilled(t *testing.T) {
	web := simulatetest.Labelled("web")
	budget := func(name string, allowed int32, change ...func(*api.PodBudget)) api.PodBudget {
		b := api.PodBudget{Namespace: "default", Name: name, Selector: simulatetest.Selecting("web"), Allowed: allowed}
		for _, c := range change {
			c(&b)
		}
		return b
	}
	started := func(ago time.Duration) func(*api.PodState) {
		return func(p *api.PodState) { p.Started = metav1.NewTime(simulatetest.Now.Add(-ago)) }
	}
	owner := func(kind string) func(*api.PodState) { return func(p *api.PodState) { p.Owner = kind } }
	tolerant := func(p *api.PodState) { p.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }
	room := simulatetest.Node("x", "d4", "z-a", "")
	for _, tc := range []struct {
		name string
		pods []api.PodState
		pdbs []api.PodBudget
		rest []*api.NodeState
		want []string
	}{
		{"nobody protects it", []api.PodState{simulatetest.Pod("p", 100)}, nil, nil, nil},
		{"a protection that ends before", []api.PodState{simulatetest.Pod("p", 100, simulatetest.Guarded("90m"), started(time.Hour))}, nil, []*api.NodeState{room}, nil},
		{"a protection that ends too late", []api.PodState{simulatetest.Pod("p", 100, simulatetest.Guarded("2h"), started(time.Hour))}, nil, []*api.NodeState{room}, []string{"p +59m30s DoNotDisruptPod -> x"}},
		{"one that ends just then", []api.PodState{simulatetest.Pod("p", 100, simulatetest.Guarded("59m30s"), started(0))}, nil, []*api.NodeState{room}, nil},
		{"more grace than there is time", []api.PodState{simulatetest.Pod("p", 100, simulatetest.Guarded("true"), simulatetest.Ending(7200))}, nil, []*api.NodeState{room}, []string{"p +0s DoNotDisruptPod -> x"}},
		{"a budget that lets it go", []api.PodState{simulatetest.Pod("p", 100, web)}, []api.PodBudget{budget("b", 1)}, []*api.NodeState{room}, nil},
		{"a budget that lets too few go", []api.PodState{simulatetest.Pod("p", 100, web), simulatetest.Pod("q", 100, web)}, []api.PodBudget{budget("b", 1)}, []*api.NodeState{room}, []string{"q +59m30s PDBExceeded -> x"}},
		{"two budgets", []api.PodState{simulatetest.Pod("p", 100, web)}, []api.PodBudget{budget("b", 1), budget("c", 1)}, []*api.NodeState{room}, []string{"p +59m30s PDBsOverlap -> x"}},
		{
			"unready, and always allowed",
			[]api.PodState{simulatetest.Pod("p", 100, web, func(p *api.PodState) { p.NotReady = true })},
			[]api.PodBudget{budget("b", 0, func(b *api.PodBudget) { b.AlwaysAllow = true })},
			[]*api.NodeState{room},
			nil,
		},
		{"a daemon", []api.PodState{simulatetest.Pod("p", 100, simulatetest.Guarded("true"), owner("DaemonSet"))}, nil, nil, []string{"p +59m30s DoNotDisruptPod -> nowhere: it belongs to its node"}},
		{"no drain waits for it", []api.PodState{simulatetest.Pod("p", 100, simulatetest.Guarded("true"), tolerant)}, nil, []*api.NodeState{room}, []string{"p +1h0m0s DoNotDisruptPod -> x (with its node)"}},
		{"it has ended", []api.PodState{simulatetest.Pod("p", 100, simulatetest.Guarded("true"), func(p *api.PodState) { p.Phase = "Failed" })}, nil, []*api.NodeState{room}, nil},
		{"a replacement that is too small", []api.PodState{simulatetest.Pod("p", 1000), simulatetest.Pod("q", 1500, simulatetest.Guarded("true"))}, nil, nil, []string{"q +59m30s DoNotDisruptPod -> nowhere: 0/1 nodes are available: 1 insufficient cpu"}},
		{"a replacement with room", []api.PodState{simulatetest.Pod("p", 1000), simulatetest.Pod("q", 500, simulatetest.Guarded("true"))}, nil, nil, []string{"q +59m30s DoNotDisruptPod -> new-0"}},
		{"room for one of two", []api.PodState{simulatetest.Pod("p", 2000, simulatetest.Guarded("true")), simulatetest.Pod("q", 2000, simulatetest.Guarded("true"), simulatetest.Ending(60))}, nil, []*api.NodeState{room}, []string{"q +59m0s DoNotDisruptPod -> x", "p +59m30s DoNotDisruptPod -> nowhere: 0/1 nodes are available: 1 insufficient cpu"}},
		{"nothing else is there", []api.PodState{simulatetest.Pod("p", 2000, simulatetest.Guarded("true"))}, nil, nil, []string{"p +59m30s DoNotDisruptPod -> nowhere: there is no other node"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := simulatetest.Member{Nodes: append([]*api.NodeState{simulatetest.Going("n1", "d4", tc.pods...)}, tc.rest...), Pdbs: tc.pdbs, Pools: []*api.NodePool{simulatetest.Pool("a")}}
			d := disruption.Decide(f.State())
			require.Len(t, d.Commands, 1)
			require.Equal(t, tc.want, killedLines(d.Commands))
		})
	}
}

// Of a node that is replaced nobody knows when the drain begins: the moment is the earliest, and in the record
// it is dated anew once the drain begins.
func TestKilledOnceTheReplacementIsReady(t *testing.T) {
	s := newStepper([]*api.NodeState{simulatetest.Going("n1", "d4", simulatetest.Pod("p", 1000), simulatetest.Pod("q", 500, simulatetest.Guarded("true")))}, simulatetest.Pool("a"))
	text := explain.Foresee(s.f.State(), 0).Commands[0].String()
	require.Contains(t, text, "  default/q: n1 -> killed 59m30s into the drain, at 2026-11-20T12:59:30Z or later -> new-0\n")
	s.step(0)
	require.Equal(t, api.PhaseLaunching, s.one().Phase)
	require.Equal(t, simulatetest.Now.Add(59*time.Minute+30*time.Second), s.one().Killed[0].At.UTC())
	before := s.one().Killed
	s.results[s.one().ID] = &api.DisruptionResult{ID: s.one().ID, Replacements: []api.NodeReplacement{{Name: s.one().ID + "-0", Node: "x", Initialized: true}}}
	s.step(2 * time.Minute)
	require.Equal(t, api.PhaseDraining, s.one().Phase)
	require.Equal(t, simulatetest.Now.Add(61*time.Minute+30*time.Second), s.one().Killed[0].At.UTC())
	require.Equal(t, simulatetest.Now.Add(59*time.Minute+30*time.Second), before[0].At.UTC(), "the input is not changed")
	s.results[s.one().ID] = &api.DisruptionResult{ID: s.one().ID, Phase: api.PhaseAborted}
	s.step(time.Minute)
	require.Equal(t, api.PhaseAborted, s.one().Phase)
	require.NotEmpty(t, s.one().Killed, "its drain had begun")
}

// A disruption that was given up before its drain began names nobody as killed, for whatever reason it was.
func TestNobodyIsKilledBeforeTheDrain(t *testing.T) {
	for name, c := range map[string]struct {
		result api.DisruptionResult
		later  time.Duration
	}{
		"failed":    {result: api.DisruptionResult{Replacements: []api.NodeReplacement{{Failed: "no capacity"}}}},
		"late":      {later: time.Hour},
		"unheard":   {result: api.DisruptionResult{Replacements: []api.NodeReplacement{{Node: "x", Initialized: true}}}, later: time.Hour},
		"confirmed": {result: api.DisruptionResult{Phase: api.PhaseAborted}},
		"gone":      {result: api.DisruptionResult{Gone: []string{"n1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStepper([]*api.NodeState{simulatetest.Going("n1", "d4", simulatetest.Pod("p", 1000), simulatetest.Pod("q", 500, simulatetest.Guarded("true")))}, simulatetest.Pool("a"))
			s.step(0)
			require.NotEmpty(t, s.one().Killed)
			result := c.result
			result.ID = s.one().ID
			for i := range result.Replacements {
				result.Replacements[i].Name = s.one().Replacements[i].Name
			}
			s.results[result.ID] = &result
			s.step(c.later)
			require.Equal(t, api.PhaseAborted, s.one().Phase)
			require.Empty(t, s.one().Killed)
		})
	}
}
