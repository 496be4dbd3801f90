package door_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/hub/door"
	"flotilla/tests/elsewhen"
)

// spotNodes are nodes of a pool as an agent tells them, that the catalog of these tests has when their zone is
// z-1.
func spotNodes(pool, zone string, names ...string) []*api.NodeState {
	var out []*api.NodeState
	for _, name := range names {
		out = append(out, &api.NodeState{
			Name: name, Managed: true, Ready: true, Initialized: true, Created: metav1.NewTime(elsewhen.Now()), Annotations: map[string]string{},
			Labels: map[string]string{
				api.LabelNodePool: pool, corev1.LabelInstanceTypeStable: "d2", corev1.LabelTopologyZone: zone, api.LabelCapacityType: api.CapacitySpot,
			},
		})
	}
	return out
}

// told are those notes of a result that are about numbers of nodes.
func told(result *api.ApplyResult) []string {
	var out []string
	for _, note := range result.Notes {
		if strings.HasPrefix(note, "by this ") || strings.HasPrefix(note, "NotInCatalog") {
			out = append(out, note)
		}
	}
	return out
}

// What a catalog does not list is told when it is applied, and when a pool is; one edit by which more than a
// fifth of a pool's nodes, and more than two, would drift is told with their number, whatever it edits (N20).
func TestWhatAnEditDoesToNodesIsTold(t *testing.T) {
	nodes := map[string][]*api.NodeState{"berlin": spotNodes("general", "z-1", "n1", "n2", "n3", "n4"), "gone": spotNodes("general", "z-9", "n5")}
	h := open(t, door.Options{OfNodes: door.OfNodes{Nodes: func(context.Context) map[string][]*api.NodeState { return nodes }}})
	first := func(texts ...string) []string { results := h.apply(texts...); return told(&results[0]) }
	h.apply(berlin, class)
	results := h.apply(general, prices)
	require.Empty(t, told(&results[0]))
	require.Empty(t, told(&results[1]))

	misspelt := strings.Replace(prices, "zone: z-1", "zone: z-i", 1)
	const unpriced = "NotInCatalog: InstanceCatalog azure does not list 4 of the 4 nodes of NodePool general, such as d2 in zone z-1 as spot: " +
		"without a price they are not consolidated; list them, or set spec.complete to true, if all that can be bought is listed: then they drift"
	require.Equal(t, []string{unpriced}, first(misspelt))
	require.Equal(t, []string{unpriced}, first(strings.Replace(general, "30s", "1m", 1)), "and when a pool is applied")

	complete := strings.Replace(misspelt, "spec: {", "spec: {complete: true, ", 1)
	require.Equal(t, []string{"by this 4 of the 4 nodes of NodePool general on 1 member drift (InstanceTypeNotFound) and are replaced, within its budgets"}, first(complete),
		"within an hour, of nodes that are young too")
	require.Empty(t, first(general), "they have drifted already")

	deleted := h.delete(api.KindInstanceCatalog, "", "azure")
	require.Empty(t, told(&deleted))
	h.apply(strings.Replace(complete, "azure", "zeta", 1))
	h.apply(prices)
	deleted = h.delete(api.KindInstanceCatalog, "", "azure")
	require.Equal(t, []string{"by this 4 of the 4 nodes of NodePool general on 1 member drift (InstanceTypeNotFound) and are replaced, within its budgets"}, told(&deleted),
		"the member buys from another one then")
	h.apply(prices)

	narrow := strings.Replace(general, "[spot, on-demand]", "[on-demand]", 1)
	const narrowed = "by this 4 of the 4 nodes of NodePool general on 1 member drift (RequirementsDrifted) and are replaced, within its budgets"
	plan := must[planAnswer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, narrow)})
	require.Contains(t, strings.Join(plan.Notes, "\n"), "NodePool/general: "+narrowed)
	for _, n := range nodes["berlin"][1:] {
		delete(n.Labels, api.LabelCapacityType)
	}
	require.Empty(t, first(narrow), "one node: it is not many")
	h.apply(general)
}

// The same by hashes: of the template, and of the node class.
func TestChangedHashesAreTold(t *testing.T) {
	all := spotNodes("general", "z-1", "n01", "n02", "n03", "n04", "n05", "n06", "n07", "n08", "n09", "n10", "n11", "n12", "n13", "n14", "n15")
	nodes := map[string][]*api.NodeState{}
	h := open(t, door.Options{OfNodes: door.OfNodes{Nodes: func(context.Context) map[string][]*api.NodeState { return nodes }}})
	h.apply(berlin, class, prices, general)
	pool := must[api.NodePool](h, api.VerbGet, api.GetRequest{Kind: api.KindNodePool, Name: "general"})
	hash, err := capacity.ClassHash([]byte(`{"spec": {"imageFamily": "Ubuntu2204", "vnetSubnetID": "/a"}}`))
	require.NoError(t, err)
	for i, n := range all {
		if i < 4 {
			capacity.Stamp(n.Annotations, &api.PoolStamp{Pool: "general", Hash: capacity.PoolHash(&pool), ClassHash: hash})
		}
	}
	nodes["berlin"] = all
	labelled := strings.Replace(general, "template:", "template:\n    metadata: {labels: {tier: web}}", 1)
	require.Equal(t, []string{"by this 4 of the 15 nodes of NodePool general on 1 member drift (NodePoolDrifted) and are replaced, within its budgets"}, told(&h.apply(labelled)[0]))
	h.apply(general)
	moved := strings.Replace(class, "Ubuntu2204", "AzureLinux", 1)
	require.Equal(t, []string{"by this 4 of the 15 nodes of NodePool general on 1 member drift (NodeClassDrifted) and are replaced, within its budgets"}, told(&h.apply(moved)[0]))
	h.apply(class)
	ref := api.ObjectRef{APIVersion: "karpenter.azure.com/v1beta1", Kind: "AKSNodeClass", Name: "default"}
	must[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Object: ref})
	require.Len(t, told(&h.apply(moved)[0]), 1, "deleted and applied again as another")
	h.apply(class)
	nodes["berlin"] = append(all[:3:3], all[4:]...)
	require.Len(t, all, 15)
	require.Len(t, nodes["berlin"], 14)
	require.Len(t, told(&h.apply(labelled)[0]), 1, "3 of 14")
	h.apply(general)
	nodes["berlin"] = all[1:3:3]
	require.Empty(t, told(&h.apply(labelled)[0]), "two are not many")
}

// A member whose labels change may buy from another catalog.
func TestAMemberThatBuysElsewhereIsTold(t *testing.T) {
	nodes := map[string][]*api.NodeState{"berlin": spotNodes("general", "z-1", "n1", "n2", "n3")}
	h := open(t, door.Options{OfNodes: door.OfNodes{Nodes: func(context.Context) map[string][]*api.NodeState { return nodes }}})
	named := func(name, env, zone string, complete bool) string {
		return strings.NewReplacer("{name: azure}", fmt.Sprintf("{name: %s, annotations: {flotilla.io/members: env=%s}}", name, env), "z-1", zone,
			"spec: {", fmt.Sprintf("spec: {complete: %t, ", complete)).Replace(prices)
	}
	h.apply(berlin, class, general, named("one", "prod", "z-1", false), named("two", "test", "z-2", true))
	result := h.apply(strings.Replace(berlin, "prod", "test", 1))[0]
	require.Equal(t, []string{"by this 3 of the 3 nodes of NodePool general on 1 member drift (InstanceTypeNotFound) and are replaced, within its budgets"}, told(&result))
}

// Nodes without a price are a problem of their pool.
func TestNodesWithoutAPriceAreAProblem(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(general, class, prices)[0].UID
	h.poolRecord("general", uid, false,
		api.PoolMember{Member: "berlin", Nodes: 3, NotInCatalog: 2, Example: "d2 in zone z-9 as spot", Catalog: "azure"}, api.PoolMember{Member: "oslo", Nodes: 2},
		api.PoolMember{Member: "rome", Nodes: 2, NotInCatalog: 2, Example: "d3", Catalog: "azure"})
	problem := h.problems()["nodepool/general NotInCatalog"]
	require.Equal(t, []string{"nodepool/general", "flotilla describe nodepool general"}, []string{problem.Object, problem.Next})
	require.Equal(t, "4 nodes on berlin, rome without a price, so that they are not consolidated: InstanceCatalog azure does not list d2 in zone z-9 as spot", problem.Message)
	require.Equal(t, 2, h.pool("general").Status.Members[0].NotInCatalog)
}
