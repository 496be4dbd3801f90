package orchestration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/disruption"
	"flotilla/core/explain"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// Why Karpenter takes a node away is read off its NodeClaim, as Karpenter's own controllers leave it.
func TestWhyKarpenterTakesANodeAway(t *testing.T) {
	created := simulatetest.Now.Add(-24 * time.Hour)
	deleted := func(at time.Time) func(*api.NodeClaim) {
		return func(c *api.NodeClaim) {
			c.CreationTimestamp, c.DeletionTimestamp = metav1.NewTime(created), &metav1.Time{Time: at}
		}
	}
	made := func(expireAfter, grace string) func(*api.NodeClaim) {
		return func(c *api.NodeClaim) { c.Spec.ExpireAfter, c.Spec.TerminationGracePeriod = expireAfter, grace }
	}
	until := func(text string) func(*api.NodeClaim) {
		return func(c *api.NodeClaim) { c.Annotations = map[string]string{api.AnnotationTerminationTime: text} }
	}
	now, stamp := simulatetest.Now, simulatetest.Now.Format(time.RFC3339)
	for name, row := range map[string]struct {
		claim *api.NodeClaim
		node  *metav1.Time
		want  string
	}{
		"it stays":                          {claim: simulatetest.Claim("c", "n1", "m1", made("24h", ""))},
		"expired":                           {claim: simulatetest.Claim("c", "n1", "m1", made("24h", ""), deleted(now)), want: api.TakenExpired},
		"expired, with a grace":             {claim: simulatetest.Claim("c", "n1", "m1", made("1h", "30m"), deleted(now), until(now.Add(30*time.Minute).Format(time.RFC3339))), want: api.TakenExpired},
		"expired, with none":                {claim: simulatetest.Claim("c", "n1", "m1", made("1h", "0s"), deleted(now), until(stamp)), want: api.TakenExpired},
		"deleted before it expires":         {claim: simulatetest.Claim("c", "n1", "m1", made("25h", ""), deleted(now)), want: api.TakenInterrupted},
		"one that never expires":            {claim: simulatetest.Claim("c", "n1", "m1", made(api.Never, ""), deleted(now)), want: api.TakenInterrupted},
		"one of an older Karpenter":         {claim: simulatetest.Claim("c", "n1", "m1", deleted(now)), want: api.TakenInterrupted},
		"repaired":                          {claim: simulatetest.Claim("c", "n1", "m1", made("720h", ""), deleted(now), until(stamp)), want: api.TakenUnhealthy},
		"repaired, with a grace":            {claim: simulatetest.Claim("c", "n1", "m1", made("720h", "30m"), deleted(now), until(stamp)), want: api.TakenUnhealthy},
		"interrupted, with a grace":         {claim: simulatetest.Claim("c", "n1", "m1", made("720h", "30m"), deleted(now), until(now.Add(30*time.Minute).Format(time.RFC3339))), want: api.TakenInterrupted},
		"a time that cannot be read":        {claim: simulatetest.Claim("c", "n1", "m1", made("720h", ""), deleted(now), until("soon")), want: api.TakenInterrupted},
		"somebody deleted the node":         {claim: simulatetest.Claim("c", "n1", "m1", made("1h", ""), deleted(now)), node: &metav1.Time{Time: now.Add(-time.Second)}},
		"the node goes with its claim":      {claim: simulatetest.Claim("c", "n1", "m1", made("1h", ""), deleted(now)), node: &metav1.Time{Time: now.Add(time.Second)}, want: api.TakenExpired},
		"consolidated by Karpenter":         {claim: simulatetest.Claim("c", "n1", "m1", simulatetest.Condition(api.ClaimDisrupted, metav1.ConditionTrue, "Underutilized")), want: "Underutilized"},
		"not any more":                      {claim: simulatetest.Claim("c", "n1", "m1", simulatetest.Condition(api.ClaimDisrupted, metav1.ConditionFalse, "Underutilized"))},
		"for a reason that cannot be shown": {claim: simulatetest.Claim("c", "n1", "m1", simulatetest.Condition(api.ClaimDisrupted, metav1.ConditionTrue, "a\x1b[2J")), want: api.ClaimDisrupted},
	} {
		t.Run(name, func(t *testing.T) {
			n := simulatetest.KubeNode("n1", "m1", nil)
			n.DeletionTimestamp = row.node
			seen := cluster.Observe(&cluster.Listing{Nodes: []*corev1.Node{n}, NodeClaims: []*api.NodeClaim{row.claim}})
			require.Equal(t, row.want, seen.Nodes[0].Taken)
		})
	}
}

// The verdict of such a node names Karpenter and why; that of one that somebody deletes does not.
func TestVerdictsNameKarpenter(t *testing.T) {
	for taken, want := range map[string]string{
		"":                   "the node is being deleted",
		api.TakenExpired:     "Karpenter takes the node away by itself: it expired",
		api.TakenUnhealthy:   "Karpenter takes the node away by itself: it was unhealthy, which Karpenter repairs",
		api.TakenInterrupted: "Karpenter takes the node away by itself: its machine was interrupted or is gone, or somebody deleted its NodeClaim",
		"Drifted":            "Karpenter takes the node away by itself: it found the node Drifted",
	} {
		n := simulatetest.Node("n1", "d4", "z-a", "a")
		n.Deleting, n.Taken = true, taken
		f := simulatetest.Member{Nodes: []*api.NodeState{n}, Pools: []*api.NodePool{simulatetest.Pool("a")}}
		e, found := explain.Explain(f.State(), "n1")
		require.True(t, found)
		require.Equal(t, disruption.CodeDeleting, e.Refusals[0].Code)
		require.Equal(t, want, e.Refusals[0].Message)
		require.Contains(t, e.String(), "node n1 goes already\n")
		d := disruption.Decide(f.State())
		rows := orchestration.MemberNodes(f.State(), "berlin", &d, nil)
		require.Equal(t, api.NodeDeleting, rows[0].Status.State)
		require.Equal(t, want, rows[0].Status.Verdict.Message)
	}
}

// takes has Karpenter take a node away.
func (s *stepper) takes(name, why string) {
	for _, n := range s.f.Nodes {
		if n.Name == name {
			n.Deleting, n.Taken = true, why
		}
	}
}

// What Karpenter takes away is told once of each node, whatever else is decided, and again of another node of that name.
func TestStepTellsWhatKarpenterTakes(t *testing.T) {
	quiet := simulatetest.Pool("a", func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.Never })
	s := newStepper([]*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a"), simulatetest.Node("n2", "d4", "z-a", "a"), simulatetest.Node("n3", "d4", "z-a", "a")}, quiet)
	require.Empty(t, s.step(0).Events)
	s.takes("n1", api.TakenExpired)
	s.takes("n2", api.TakenUnhealthy)
	require.Equal(t, []api.Audit{
		{Object: "node/berlin/n1", Type: "Normal", Reason: "KarpenterDisrupts", Message: disruption.TakenText(api.TakenExpired), Member: "berlin"},
		{Object: "node/berlin/n2", Type: "Warning", Reason: "KarpenterDisrupts", Message: disruption.TakenText(api.TakenUnhealthy), Member: "berlin"},
	}, s.step(time.Second).Events)
	require.True(t, s.last.Changed, "it is remembered")
	require.Empty(t, s.step(2*time.Second).Events)
	require.False(t, s.last.Changed)

	s.f.Change = func(state *simulate.State) { state.Stale = "no inventory" }
	s.takes("n3", api.TakenInterrupted)
	require.Empty(t, s.step(3*time.Second).Events, "what is seen may not be all")
	s.f.Change = nil
	require.Equal(t, []string{"KarpenterDisrupts"}, reasonsOf(s.step(4*time.Second).Events))

	s.f.Nodes[0].UID = "another"
	require.Equal(t, []string{"KarpenterDisrupts"}, reasonsOf(s.step(5*time.Second).Events))
	for _, name := range []string{"n1", "n2", "n3"} {
		s.remove(name)
	}
	require.Empty(t, s.step(6*time.Second).Events)
	require.Nil(t, s.in.Record.Taken, "nothing is kept of nodes that are gone")
}

// A NodeClaim that the agent deletes, because the hub decided so, is not Karpenter's doing: neither that of a node that is
// disrupted, nor that of a replacement that nobody wants any more.
func TestStepTellsNothingOfItsOwnDoing(t *testing.T) {
	s := newStepper([]*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a"), simulatetest.Node("fresh", "d4", "z-a", "a")}, simulatetest.Pool("a"))
	s.in.Record = api.DisruptionRecord{Header: api.NewHeader(api.KindDisruptionRecord), Disruptions: []api.Disruption{{
		ID: "d1", Nodes: []string{"n1"}, UIDs: map[string]string{"n1": "uid-n1"}, Phase: api.PhaseDraining, Reason: api.ReasonDrifted, Method: disruption.MethodDrift,
		Deadline: metav1.NewTime(simulatetest.Now.Add(time.Hour)), Replacements: []api.NodeReplacement{{Name: "x", Node: "fresh"}},
	}}}
	s.takes("n1", api.TakenInterrupted)
	s.takes("fresh", api.TakenInterrupted)
	require.NotContains(t, reasonsOf(s.step(0).Events), "KarpenterDisrupts")
}
