package karpenter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
)

const pool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: workers
  uid: p1
  annotations: {karpenter.sh/nodepool-hash: "17", karpenter.sh/nodepool-hash-version: v3}
spec:
  disruption: {consolidateAfter: 0s, budgets: [{nodes: 10%}, {nodes: "0", reasons: [Drifted]}]}
  template:
    metadata: {labels: {team: web}, annotations: {note: x}}
    spec:
      expireAfter: 720h
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      taints: [{key: dedicated, effect: NoSchedule}]
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
`

var launch = api.NodeLaunch{
	Name: "drift-7-0", Pool: "workers", InstanceTypes: []string{"c-4", "c-8"}, Requests: api.Amounts{"cpu": 1500, "memory": 1 << 30},
	Requirements: []api.NodeRequirement{{Key: "karpenter.sh/capacity-type", Operator: "In", Values: []string{"on-demand"}}, {Key: "node.kubernetes.io/instance-type", Operator: "In", Values: []string{"c-4"}}},
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &o.Object))
	return o
}

// cluster is one with some objects of Karpenter.
func cluster(t *testing.T, texts ...string) *Provider {
	t.Helper()
	var given []runtime.Object
	for _, text := range texts {
		given = append(given, object(t, text))
	}
	kinds := map[schema.GroupVersionResource]string{nodeClaims: "NodeClaimList", nodePools: "NodePoolList"}
	return New(Options{Objects: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, given...), Patience: time.Millisecond})
}

func (p *Provider) read(t *testing.T, kind schema.GroupVersionResource, name string) *unstructured.Unstructured {
	t.Helper()
	found, err := p.o.Objects.Resource(kind).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return found
}

func (p *Provider) set(t *testing.T, claim *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	require.NoError(t, unstructured.SetNestedField(claim.Object, value, path...))
	_, err := p.o.Objects.Resource(nodeClaims).Update(t.Context(), claim, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// A launch is a NodeClaim of its pool, narrowed to what the hub chose, and is answered once Karpenter has a machine.
func TestALaunchIsANodeClaim(t *testing.T) {
	p := cluster(t, pool)
	_, err := p.Launch(t.Context(), launch)
	require.EqualError(t, err, "NodeClaim drift-7-0 is not launched yet")
	claim := p.read(t, nodeClaims, "drift-7-0")
	require.Equal(t, object(t, `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: drift-7-0
  labels: {team: web, karpenter.sh/nodepool: workers, karpenter.kwok.sh/kwoknodeclass: default}
  annotations: {note: x, flotilla.io/launch: drift-7-0, karpenter.sh/nodepool-hash: "17", karpenter.sh/nodepool-hash-version: v3}
  ownerReferences: [{apiVersion: karpenter.sh/v1, kind: NodePool, name: workers, uid: p1, blockOwnerDeletion: true}]
spec:
  expireAfter: 720h
  nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
  taints: [{key: dedicated, effect: NoSchedule}]
  resources: {requests: {cpu: 1500m, memory: 1Gi}}
  requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: [c-4, c-8]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
`).Object, claim.Object)
	p.set(t, claim, "kwok://n7", "status", "providerID")
	answer, err := p.Launch(t.Context(), launch)
	require.NoError(t, err)
	require.Equal(t, api.LaunchedNode{ProviderID: "kwok://n7", Labels: claim.GetLabels(), KeptBy: "Karpenter"}, answer)
	again, err := New(p.o).Launch(t.Context(), launch)
	require.NoError(t, err)
	require.Equal(t, answer, again, "of an agent that was started anew")
}

// Karpenter deletes what it cannot launch: that is the end of the launch, with what it said last.
func TestALaunchThatKarpenterGivesUp(t *testing.T) {
	p := cluster(t, pool)
	_, err := p.Launch(t.Context(), launch)
	require.Error(t, err)
	conditions := []any{map[string]any{"type": "Launched", "status": "False", "reason": "InsufficientCapacity", "message": "no c-4 is left"}}
	p.set(t, p.read(t, nodeClaims, launch.Name), conditions, "status", "conditions")
	_, err = p.Launch(t.Context(), launch)
	require.EqualError(t, err, "NodeClaim drift-7-0 is not launched yet: no c-4 is left")
	require.NoError(t, p.o.Objects.Resource(nodeClaims).Delete(t.Context(), launch.Name, metav1.DeleteOptions{}))
	answer, err := p.Launch(t.Context(), launch)
	require.NoError(t, err)
	require.Equal(t, api.LaunchedNode{Failed: "Karpenter gave NodeClaim drift-7-0 up: no c-4 is left"}, answer)
}

func TestALaunchNeedsItsPool(t *testing.T) {
	answer, err := cluster(t).Launch(t.Context(), launch)
	require.NoError(t, err)
	require.Equal(t, "the cluster has no NodePool workers, by which Karpenter makes nodes", answer.Failed)
}

const claim = `{apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: {name: c1, uid: u1}, status: {nodeName: n1, providerID: "kwok://n1"}}`

func TestAMachineGoesWithItsClaim(t *testing.T) {
	for name, one := range map[string]struct {
		machine api.NodeMachine
		known   bool
	}{
		"by its launch":             {api.NodeMachine{Launch: "c1"}, true},
		"by its machine":            {api.NodeMachine{Node: "other", ProviderID: "kwok://n1"}, true},
		"by its node":               {api.NodeMachine{Node: "n1"}, true},
		"another of the same name":  {api.NodeMachine{Node: "n1", ProviderID: "kwok://n2"}, false},
		"a launch that never began": {api.NodeMachine{Launch: "c2"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := cluster(t, claim)
			gone, err := p.Delete(t.Context(), one.machine)
			require.NoError(t, err)
			require.Equal(t, !one.known, gone)
			all, err := p.o.Objects.Resource(nodeClaims).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			require.Equal(t, one.known, len(all.Items) == 0)
			gone, err = p.Delete(t.Context(), one.machine)
			require.NoError(t, err)
			require.True(t, gone)
		})
	}
}
