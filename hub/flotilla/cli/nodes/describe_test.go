package nodes

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/clitest"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func TestDescribeDisruption(t *testing.T) {
	var out bytes.Buffer
	a := Commands{Client: resource.New(session.New(session.Environment{Out: &out}))}
	moves := []api.PodMove{{Pod: "shop/a", From: "n1", To: "n2"}, {Pod: "shop/b", From: "n1", To: "new-0"}, {Pod: "shop/c", From: "n1", Lost: true}}
	killed := []api.KilledPod{
		{PodMove: api.PodMove{Pod: "shop/b", From: "n1", To: "new-0"}, At: metav1.NewTime(clitest.Now), Message: "PodDisruptionBudget shop/b allows no eviction"},
		{PodMove: api.PodMove{Pod: "shop/d", From: "n1", Nowhere: "there is no other node"}, At: metav1.NewTime(clitest.Now), WithNode: true, Message: "it has the annotation karpenter.sh/do-not-disrupt"},
	}
	replacements := []api.NodeReplacement{
		{Name: "single-1-0", Pool: "general", Node: "n7", InstanceTypes: []string{"A", "B"}, Types: []api.LaunchType{{Name: "A"}}},
		{Name: "single-1-1", Pool: "general", InstanceTypes: []string{"A"}, Failed: "no quota"},
	}
	obj := clitest.ObjectOf(t, map[string]any{
		"spec":   map[string]any{"member": "berlin"},
		"status": map[string]any{"phase": api.PhaseLaunching, "nodes": []string{"n1"}, "uids": map[string]string{"n1": "u"}, "replacements": replacements, "moves": moves, "killed": killed},
	}, api.KindNodeDisruption, "single-1")
	require.NoError(t, a.DescribeDisruption(obj))
	require.Equal(t, `Name:         single-1
Namespace:
Labels:       <none>
Annotations:  <none>
API Version:  flotilla.io/v1alpha1
Kind:         NodeDisruption
Metadata:
Spec:
  Member:  berlin
Status:
  Nodes:
    n1
  Phase:  Launching
Replacements:
  Name        Pool     Node  State      Instance-Types
  single-1-0  general  n7    not ready  A,B
  single-1-1  general  -     failed     A
Moves:
  Pod     From  To
  shop/a  n1    n2
  shop/b  n1    n7
  shop/c  n1    lost: it has no controller, and nothing makes it again
Killed:
  Pod     From  When                           To                               Protected-By
  shop/b  n1    2026-03-01T12:00:00Z or later  n7                               PodDisruptionBudget shop/b allows no eviction
  shop/d  n1    with its node                  nowhere: there is no other node  it has the annotation karpenter.sh/do-not-disrupt
`, out.String())
}

// A node that goes already says whom its disruption kills, and when.
func TestWhyOfANodeThatGoesNamesWhomItKills(t *testing.T) {
	var out bytes.Buffer
	a := Commands{Client: resource.New(session.New(session.Environment{Out: &out}))}
	d := &api.Disruption{Phase: api.PhaseDraining, Nodes: []string{"n1", "n2"}, Replacements: []api.NodeReplacement{{Name: "drift-1-0", Node: "n7"}}, Killed: []api.KilledPod{
		{PodMove: api.PodMove{Pod: "shop/a", From: "n1", To: "new-0"}, At: metav1.NewTime(clitest.Now), Message: "it has the annotation karpenter.sh/do-not-disrupt"},
		{PodMove: api.PodMove{Pod: "shop/b", From: "n2"}},
		{PodMove: api.PodMove{Pod: "shop/c", From: "n1", Lost: true}, At: metav1.NewTime(clitest.Now), WithNode: true, Message: "it has the annotation karpenter.sh/do-not-disrupt"},
	}}
	a.printKilled(d, "n1")
	require.Equal(t, `    shop/a: killed 2026-03-01T12:00:00Z -> n7
      it has the annotation karpenter.sh/do-not-disrupt
    shop/c: killed with its node, 2026-03-01T12:00:00Z or before -> lost: it has no controller, and nothing makes it again
      it has the annotation karpenter.sh/do-not-disrupt
`, out.String())
}
