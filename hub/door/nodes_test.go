package door_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
)

const (
	general = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}]
  disruption: {budgets: [], consolidateAfter: 30s}
`
	class  = `{apiVersion: karpenter.azure.com/v1beta1, kind: AKSNodeClass, metadata: {name: default}, spec: {imageFamily: Ubuntu2204, vnetSubnetID: /a}}`
	prices = `
apiVersion: flotilla.io/v1alpha1
kind: InstanceCatalog
metadata: {name: azure}
spec: {types: [{name: d2, cpu: 2, memory: 8Gi, offerings: [{zone: z-1, capacityType: spot, price: 0.031}]}]}
`
	weekend = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: weekend}
spec: {disruption: {budgets: [{nodes: "50%", schedule: "0 0 * * 6", duration: 48h}, {nodes: "0"}]}}
`
)

// poolRecord plays the disruptor: what it says of a pool.
func (h *house) poolRecord(name, uid string, deleting bool, members ...api.PoolMember) {
	h.t.Helper()
	write(h, subjects.Pools, name, api.PoolRecord{
		Header: api.NewHeader(api.KindPoolRecord), Pool: name, UID: uid, Deleting: deleting, Members: members,
	})
}

type shownPool struct {
	APIVersion string             `json:"apiVersion"`
	Spec       api.NodePoolSpec   `json:"spec"`
	Status     api.NodePoolStatus `json:"status"`
}

func (h *house) pool(name string) shownPool {
	h.t.Helper()
	return must[shownPool](h, api.VerbGet, api.GetRequest{Kind: api.KindNodePool, Name: name})
}

func TestNodePoolsEnterByTheDoor(t *testing.T) {
	h := open(t, door.Options{})
	results := h.apply(general, class, prices)
	require.Equal(t, []string{"NodePool/general created", "AKSNodeClass/default created", "InstanceCatalog/azure created"}, actions(results))
	require.Empty(t, results[0].Notes)
	for family, name := range map[subjects.Family]string{subjects.PoolSpecs: "general", subjects.InstanceCatalogSpecs: "azure"} {
		_, _, found := store.TableOf[api.Spec](h.store.State, family).Get(name)
		require.True(t, found, name)
	}
	require.Equal(t, []string{"NodePool/general unchanged", "AKSNodeClass/default unchanged", "InstanceCatalog/azure unchanged"}, actions(h.apply(general, class, prices)))

	shown := h.pool("general")
	require.Equal(t, "karpenter.sh/v1", shown.APIVersion)
	require.NotNil(t, shown.Spec.Disruption.Budgets, "an empty list, no limit, is not the same as none, 10%")
	require.Empty(t, shown.Spec.Budgets())
	require.Equal(t, api.NodePoolStatus{}, shown.Status)

	h.poolRecord("general", results[0].UID, false, api.PoolMember{Member: "berlin", Nodes: 3, Disrupting: 1, Allowed: map[string]int{"Empty": 2}}, api.PoolMember{Member: "oslo", Nodes: 2})
	shown = h.pool("general")
	require.Equal(t, []int{5, 1, 2}, []int{shown.Status.Nodes, shown.Status.Disrupting, shown.Status.Members[0].Allowed["Empty"]})
	h.poolRecord("general", "another", false, api.PoolMember{Member: "berlin", Nodes: 3})
	require.Zero(t, h.pool("general").Status.Nodes, "a record of an earlier pool of that name says nothing of this one")

	items := must[api.ListResponse](h, api.VerbList, api.ListRequest{Kind: api.KindNodePool, LabelSelector: "team!=web"}).Items
	require.Len(t, items, 1)
	require.Len(t, must[api.ListResponse](h, api.VerbList, api.ListRequest{Kind: api.KindInstanceCatalog}).Items, 1)
	require.NotEmpty(t, h.events("nodepool/general"))
	require.NotEmpty(t, h.events("instances/azure"))

	ref := api.ObjectRef{APIVersion: "karpenter.sh/v1", Kind: api.KindNodePool, Name: "general"}
	patched := must[api.ApplyResult](h, api.VerbPatch, api.PatchRequest{Request: h.id(), Object: ref, Patch: docs(t, "metadata: {labels: {team: web}}")[0]})
	require.Equal(t, int64(1), patched.Generation, "a label is not spec")
	patched = must[api.ApplyResult](h, api.VerbPatch, api.PatchRequest{Request: h.id(), Object: ref, Patch: docs(t, "spec: {weight: 10}")[0]})
	require.Equal(t, int64(2), patched.Generation)
	require.Empty(t, patched.Notes, "weight is no drift")
	_, failure := ask[api.ApplyResult](h, api.VerbPatch, api.PatchRequest{Request: h.id(), Object: ref, Patch: docs(t, "spec: {weight: 101}")[0]})
	require.Equal(t, []string{"NodePool/general: spec.weight: found number 101, expected a number from 1 to 100"}, lines(failure.Faults))
}

// All that is wrong with a pool comes back at once, zones that nobody knows among it.
func TestFaultsOfNodePools(t *testing.T) {
	h := open(t, door.Options{})
	failure := h.refuse(shopNamespace, `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  weight: 0
  disruption:
    budgets:
    - {nodes: 5, schedule: "@daily", duration: 1h, timeZone: Europe/Bonn}
    - {nodes: "5", schedule: "@daily", duration: 1h, timeZone: "Mars!"}
`)
	require.Equal(t, api.CodeInvalid, failure.Code)
	require.ElementsMatch(t, []string{
		`NodePool/general: spec.disruption.budgets[0].nodes: found number 5, expected a string, "5"`,
		`NodePool/general: spec.weight: found number 0, expected a number from 1 to 100`,
		`NodePool/general: spec.disruption.budgets[1].timeZone: found "Mars!", expected an IANA time zone, like "Europe/Berlin"`,
		`NodePool/general: spec.disruption.budgets[0].timeZone: found "Europe/Bonn", expected an IANA time zone, like "Europe/Berlin"`,
	}, lines(failure.Faults))
	h.missing("Namespace", "", "shop")
	h.apply(strings.Replace(weekend, "duration: 48h", "duration: 48h, timeZone: Europe/Berlin", 1))
}

// A budget list that blocks for ever is accepted as written, and told wherever the pool is shown.
func TestBudgetLint(t *testing.T) {
	h := open(t, door.Options{})
	result := h.apply(weekend, prices)[0]
	require.Len(t, result.Notes, 1)
	require.Contains(t, result.Notes[0], "BudgetLint: spec.disruption.budgets[1]")
	require.Contains(t, result.Notes[0], "write:\nbudgets:\n- nodes: \"50%\"\n- nodes: \"0\"\n  schedule: \"0 0 * * 1\"\n  duration: \"120h\"")
	require.Equal(t, result.Notes, h.apply(weekend)[0].Notes, "an unchanged pool is told of too")
	require.Equal(t, result.Notes, h.pool("weekend").Status.Lint)
	problem := h.problems()["nodepool/weekend BudgetLint"]
	require.Equal(t, []string{"nodepool/weekend", "flotilla describe nodepool weekend"}, []string{problem.Object, problem.Next})
	require.Equal(t, `spec.disruption.budgets[1]: nodes "0" without a schedule blocks every disruption, always: the smallest of the active budgets wins`, problem.Message)
	plan := must[planAnswer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, strings.Replace(weekend, "name: weekend", "name: other", 1))})
	require.Contains(t, strings.Join(plan.Notes, "\n"), "NodePool/other: BudgetLint")
	h.missing(api.KindNodePool, "", "other")
}

type planAnswer struct {
	Notes   []string          `json:"notes"`
	Objects []api.ApplyResult `json:"objects"`
}

func TestWhatAPoolLacksIsNoted(t *testing.T) {
	h := open(t, door.Options{})
	notes := func(i int, texts ...string) []string { return h.apply(texts...)[i].Notes }
	const noPrices = ": without types and prices none of its nodes is disrupted"
	require.Equal(t, []string{
		"there is no InstanceCatalog yet" + noPrices,
		"the hub does not hold AKSNodeClass default: apply it too, or changes of it are not seen as drift",
	}, notes(0, general))
	h.apply(berlin, strings.NewReplacer("berlin", "oslo", "prod", "dev").Replace(berlin))
	prod := func(text string) string {
		return strings.Replace(text, "{name: ", `{annotations: {flotilla.io/members: env=prod}, name: `, 1)
	}
	h.apply(prod(prices), class)
	require.Equal(t, []string{"no InstanceCatalog is for oslo" + noPrices}, notes(0, strings.Replace(general, "30s", "1m", 1)))
	require.Empty(t, notes(0, prod(general)))
	none := strings.Replace(prod(general), "env=prod", "env=test", 1)
	require.Equal(t, []string{`no member matches flotilla.io/members "env=test" yet`}, notes(0, none))
	require.Equal(t, []string{`no member matches flotilla.io/members "env=test" yet`}, notes(0, strings.NewReplacer("env=prod", "env=test", "azure", "test").Replace(prod(prices))))
	require.Equal(t, []string{"no member buys from it: of the catalogs that match a member the first by name counts"},
		notes(0, strings.Replace(prod(prices), "azure", "zeta", 1)))

	shared := strings.Replace(weekend, "{name: weekend}", "{name: a, annotations: {flotilla.io/fleet-budget: web=5}}", 1)
	h.apply(shared)
	other := strings.NewReplacer("name: a,", "name: b,", "web=5", "web=10%").Replace(shared)
	require.Contains(t, notes(0, other), "flotilla.io/fleet-budget: this pool says web=10%, a says 5; what allows least counts")
}

// Members that have no node of a pool are not said to lack prices for it; those that may have some are.
func TestMembersWithoutNodesNeedNoPrices(t *testing.T) {
	h := open(t, door.Options{})
	named := func(name string) string { return strings.NewReplacer("berlin", name, "prod", "dev").Replace(berlin) }
	h.apply(berlin, named("oslo"), named("rome"), named("tampa"), class, strings.Replace(prices, "{name: ", `{annotations: {flotilla.io/members: env=prod}, name: `, 1))
	const noPrices = ": without types and prices none of its nodes is disrupted"
	first := h.apply(general)[0]
	require.Equal(t, []string{"no InstanceCatalog is for oslo, rome, tampa" + noPrices}, first.Notes)
	h.poolRecord("general", first.UID, false, api.PoolMember{Member: "berlin", Nodes: 3}, api.PoolMember{Member: "oslo"}, api.PoolMember{Member: "rome", Unknown: "no inventory yet"})
	require.Equal(t, []string{"no InstanceCatalog is for rome, tampa" + noPrices}, h.apply(strings.Replace(general, "30s", "1m", 1))[0].Notes)
	h.poolRecord("general", first.UID, false, api.PoolMember{Member: "oslo"}, api.PoolMember{Member: "rome"}, api.PoolMember{Member: "tampa"})
	require.Empty(t, h.apply(general)[0].Notes)
}

// A change that replaces nodes says so, and how many.
func TestChangesThatReplaceNodesAreNoted(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(general, class, prices)[0].UID
	h.poolRecord("general", uid, false, api.PoolMember{Member: "berlin", Nodes: 3}, api.PoolMember{Member: "oslo"}, api.PoolMember{Member: "rome", Nodes: 1})
	changed := h.apply(strings.Replace(general, "template:", "template:\n    metadata: {labels: {tier: web}}", 1))[0]
	require.Equal(t, []string{"its template changes: of its 4 nodes on 2 members those that carry karpenter.sh/nodepool-hash drift (NodePoolDrifted) and are replaced, within its budgets"}, changed.Notes)
	back := h.apply(strings.Replace(general, "[spot, on-demand]", "[on-demand]", 1))[0]
	require.Len(t, back.Notes, 2)
	require.Equal(t, "its requirements change: of its 4 nodes on 2 members those that do not satisfy them drift (RequirementsDrifted) and are replaced, within its budgets", back.Notes[1])

	h.poolRecord("general", uid, false, api.PoolMember{Member: "berlin", Nodes: 3}, api.PoolMember{Member: "oslo", Unknown: "no inventory yet"})
	require.Contains(t, h.apply(strings.Replace(general, "[spot, on-demand]", "[spot]", 1))[0].Notes[0], "of its nodes those")
	h.poolRecord("general", uid, false, api.PoolMember{Member: "berlin"})
	require.Empty(t, h.apply(general)[0].Notes, "there is no node to replace")

	moved := h.apply(strings.Replace(class, "/a", "/b", 1))[0]
	require.Len(t, moved.Notes, 2)
	require.Equal(t, "its spec changes: the nodes of NodePool/general drift (NodeClassDrifted) and are replaced, within their budgets", moved.Notes[0])
	require.Contains(t, moved.Notes[1], "moving between valid subnets is unsupported")
	require.Empty(t, h.apply(strings.NewReplacer("/a", "/b", "{name: default}", "{name: default, labels: {a: b}}").Replace(class))[0].Notes, "a label is not spec")
	ref := api.ObjectRef{APIVersion: "karpenter.azure.com/v1beta1", Kind: "AKSNodeClass", Name: "default"}
	patched := must[api.ApplyResult](h, api.VerbPatch, api.PatchRequest{Request: h.id(), Object: ref, DryRun: true, Patch: docs(t, "spec: {imageFamily: AzureLinux}")[0]})
	require.Equal(t, moved.Notes[:1], patched.Notes)
	plan := must[planAnswer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, class)})
	require.Equal(t, []string{"configured"}, []string{plan.Objects[0].Action})
	require.Len(t, plan.Notes, 2)
	unnamed := strings.Replace(class, "{name: default}", "{name: other}", 1)
	h.apply(unnamed)
	require.Empty(t, h.apply(strings.Replace(unnamed, "/a", "/c", 1))[0].Notes, "no pool names it")
}

// A deleted pool stays until none of its nodes is left, however long that takes.
func TestADeletedNodePoolWaitsForItsNodes(t *testing.T) {
	h := open(t, door.Options{DeleteTimeout: time.Nanosecond})
	uid := h.apply(general, class, prices)[0].UID
	h.poolRecord("general", uid, false)
	request := api.DeleteRequest{Request: h.id(), Object: api.ObjectRef{Kind: api.KindNodePool, Name: "general"}}
	first := must[api.ApplyResult](h, api.VerbDelete, request)
	require.Equal(t, api.ActionDeleting, first.Action)
	require.Equal(t, first, must[api.ApplyResult](h, api.VerbDelete, request), "a repeat answers the first result")
	spec, _, _ := store.TableOf[api.Spec](h.store.State, subjects.PoolSpecs).Get("general")
	require.NotNil(t, spec.Deleted)
	pool, err := api.SpecOf[api.NodePool](&spec)
	require.NoError(t, err)
	require.NotNil(t, pool.DeletionTimestamp)
	require.Equal(t, []string{"the hub to count its nodes"}, h.pool("general").Status.Unconfirmed)
	require.Equal(t, api.CodeConflict, h.refuse(general).Code)

	h.poolRecord("general", uid, true, api.PoolMember{Member: "berlin", Nodes: 3}, api.PoolMember{Member: "oslo", Unknown: "no inventory yet"}, api.PoolMember{Member: "rome"})
	h.waits("berlin: 3 nodes", "oslo: no inventory yet")
	problem := h.problems()["nodepool/general Deleting"]
	require.Equal(t, []string{"nodepool/general", "waits for berlin: 3 nodes, oslo: no inventory yet"}, []string{problem.Object, problem.Message})
	h.poolRecord("general", uid, true, api.PoolMember{Member: "berlin"}, api.PoolMember{Member: "oslo", Nodes: 1})
	h.waits("oslo: 1 node")
	h.poolRecord("general", uid, true, api.PoolMember{Member: "berlin"}, api.PoolMember{Member: "oslo"})
	h.gone(api.KindNodePool, "", "general")
	again := h.apply(general)[0]
	require.Equal(t, api.ActionCreated, again.Action)
	require.NotEqual(t, uid, again.UID)
}

// waits is what the deletion of general waits for.
func (h *house) waits(what ...string) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		if got := h.pool("general").Status.Unconfirmed; strings.Join(got, ";") != strings.Join(what, ";") {
			return errors.New("waits for " + strings.Join(got, "; "))
		}
		return nil
	})
}

// A deletion that was asked of one leader is ended by the next.
func TestANewLeaderEndsTheDeletionOfAPool(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	uid := h.apply(general)[0].UID
	h.delete(api.KindNodePool, "", "general")
	stop()
	h.poolRecord("general", uid, true)
	h.run(door.Options{})
	h.gone(api.KindNodePool, "", "general")
}

func TestACatalogGoesAtOnceAndSaysWhoLosesItsPrices(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(berlin, general, class, prices, strings.Replace(prices, "azure", "zeta", 1))
	deleted := h.delete(api.KindInstanceCatalog, "", "azure")
	require.Equal(t, api.ActionDeleted, deleted.Action)
	require.Empty(t, deleted.Notes, "the other one is for berlin too")
	deleted = h.delete(api.KindInstanceCatalog, "", "zeta")
	require.Equal(t, []string{"NodePool general loses its prices on berlin: without types and prices none of its nodes is disrupted"}, deleted.Notes)
	h.missing(api.KindInstanceCatalog, "", "zeta")
	h.apply(prices)
	all := must[api.DeleteResponse](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Objects: []api.ObjectRef{
		{Kind: api.KindInstanceCatalog, Name: "azure"}, {Kind: api.KindNodePool, Name: "general"},
	}})
	require.Empty(t, all.Results[0].Notes, "the pool goes too")
}

func TestANodeClassGoesAtOnceAndSaysWhoNamesIt(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(general, class, prices)
	ref := api.ObjectRef{APIVersion: "karpenter.azure.com/v1beta1", Kind: "AKSNodeClass", Name: "default"}
	deleted := must[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Object: ref})
	require.Equal(t, api.ActionDeleted, deleted.Action)
	require.Equal(t, []string{"changes of it are no drift for NodePool/general until it is applied again"}, deleted.Notes)
	h.apply(class)
	all := must[api.DeleteResponse](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Objects: []api.ObjectRef{
		ref, {Kind: api.KindNodePool, Name: "general"},
	}})
	require.Empty(t, all.Results[0].Notes, "the pool goes too")
}

func TestANodePoolThatCannotBeReadCanBeDeleted(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(general)[0].UID
	h.poolRecord("general", uid, false, api.PoolMember{Member: "berlin", Nodes: 1})
	h.spoil(subjects.PoolSpecs.Key("general"))
	h.problem("nodepool/general")
	h.apply(weekend) // others are not held up
	deleted := h.delete(api.KindNodePool, "", "general")
	require.Equal(t, []string{"it could not be read: its nodes are drained and deleted all the same"}, deleted.Notes)
	require.Equal(t, uid, deleted.UID)
	h.poolRecord("general", uid, true)
	h.gone(api.KindNodePool, "", "general")
}
