package plan_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/plan"
	"flotilla/core/schedule"
	"flotilla/core/seal"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ready(name string) api.Member {
	return api.Member{Name: name, HasAgent: true, LastHeartbeat: noon, Joined: "True", Healthy: "True", HealthChanged: noon}
}

func placement(name string, policy *api.Policy) api.Placement {
	p := api.Placement{Spec: api.PlacementSpec{Policy: policy}}
	p.Kind, p.Name, p.UID = api.KindClusterResourcePlacement, name, "77aa"
	return p
}

func TestReportHasExactlyTheDocumentedFields(t *testing.T) {
	n := int32(1)
	answer := plan.Build(plan.Input{
		Now:     noon,
		Members: []api.Member{ready("oslo"), ready("berlin")},
		Subjects: []plan.Subject{
			{Placement: placement("web", &api.Policy{PlacementType: api.PickN, NumberOfClusters: &n}), Released: plan.Released{Latest: &api.Snapshot{UID: "77aa", Index: 1}}},
			{Placement: placement("fixed", &api.Policy{PlacementType: api.PickFixed, ClusterNames: []string{"nowhere"}})},
		},
	})
	body, err := json.Marshal(answer.Report)
	require.NoError(t, err)
	require.JSONEq(t, `{"placements":[
	  {"name":"fixed","type":"PickFixed","fulfilled":false,"picked":[],"removed":[],"verdicts":[
	    {"member":"berlin","filter":"affinity","reason":"ClusterUnschedulable, cluster is not named in clusterNames","affinityScore":null,"topologySpreadScore":null,"rank":0,"keeps":false},
	    {"member":"nowhere","filter":"notFound","reason":"Specified cluster \"nowhere\" is not found","affinityScore":null,"topologySpreadScore":null,"rank":0,"keeps":false},
	    {"member":"oslo","filter":"affinity","reason":"ClusterUnschedulable, cluster is not named in clusterNames","affinityScore":null,"topologySpreadScore":null,"rank":0,"keeps":false}],"rolloutMessage":""},
	  {"name":"web","type":"PickN","fulfilled":true,
	   "picked":[{"member":"oslo","affinityScore":0,"topologySpreadScore":0,"change":"add","rollout":"changes","rolloutReason":"","awaySince":null,"taint":""}],
	   "removed":[],
	   "verdicts":[
	    {"member":"berlin","filter":"rank","reason":"Cluster \"berlin\" does not score high enough (affinity score: 0, topology spread score: 0): ranks 2, wanted 1","affinityScore":0,"topologySpreadScore":0,"rank":2,"keeps":false},
	    {"member":"oslo","filter":"","reason":"Successfully scheduled resources for placement in \"oslo\" (affinity score: 0, topology spread score: 0): picked by scheduling policy","affinityScore":0,"topologySpreadScore":0,"rank":1,"keeps":false}],"rolloutMessage":""}],"runs":[]}`, string(body))

	empty, err := json.Marshal(plan.Build(plan.Input{Now: noon}).Report)
	require.NoError(t, err)
	require.JSONEq(t, `{"placements":[],"runs":[]}`, string(empty))
}

func TestBuildDoesNotDependOnOrderAndChangesNoInput(t *testing.T) {
	n := int32(2)
	in := plan.Input{
		Now:     noon,
		Members: []api.Member{ready("a"), ready("b"), ready("c")},
		Subjects: []plan.Subject{
			{Placement: placement("web", &api.Policy{PlacementType: api.PickN, NumberOfClusters: &n}), Existing: []schedule.Existing{{Member: "a", State: api.BindingBound}}},
			{Placement: placement("all", nil)},
		},
	}
	first := plan.Build(in)
	slices.Reverse(in.Members)
	slices.Reverse(in.Subjects)
	second := plan.Build(in)
	require.Equal(t, first, second)
	require.Equal(t, "c", in.Members[0].Name)
	require.Equal(t, "all", in.Subjects[0].Placement.Name)
}

func TestQuietPlacementsAreReportedOnlyWhenMembersChange(t *testing.T) {
	settled := plan.Subject{Placement: placement("settled", nil), Quiet: true, Existing: []schedule.Existing{{Member: "oslo", State: api.BindingBound}}}
	grows := plan.Subject{Placement: placement("grows", nil), Quiet: true}
	answer := plan.Build(plan.Input{Now: noon, Members: []api.Member{ready("oslo")}, Subjects: []plan.Subject{settled, grows}})
	require.Len(t, answer.Placements, 1)
	require.Equal(t, "grows", answer.Placements[0].Name)
	require.True(t, answer.Changed())

	answer = plan.Build(plan.Input{Now: noon, Members: []api.Member{ready("oslo")}, Subjects: []plan.Subject{settled}})
	require.Empty(t, answer.Placements)
	require.False(t, answer.Changed())
}

func TestDeletedPlacementLosesEveryMember(t *testing.T) {
	p := placement("web", nil)
	p.DeletionTimestamp = &metav1.Time{Time: noon}
	answer := plan.Build(plan.Input{Now: noon, Members: []api.Member{ready("oslo")}, Subjects: []plan.Subject{
		{Placement: p, Existing: []schedule.Existing{{Member: "oslo", State: api.BindingBound}}},
	}})
	require.Empty(t, answer.Placements[0].Picked)
	require.Len(t, answer.Placements[0].Removed, 1)
	require.True(t, answer.Changed())
}

func TestExistingTellsBoundScheduledAndWithdrawn(t *testing.T) {
	one := int32(1)
	s := &api.Schedule{Bindings: []api.Binding{{Member: "a", Policy: "p", AffinityScore: &one, SpreadScore: &one}, {Member: "b", Policy: "q"}}}
	r := &api.Release{Entries: []api.ReleaseEntry{{Member: "a", UID: "77aa"}, {Member: "b", UID: "other"}, {Member: "z", UID: "77aa", Withdrawn: true}}}
	require.Equal(t, []schedule.Existing{
		{Member: "a", Policy: "p", State: api.BindingBound, AffinityScore: &one, SpreadScore: &one},
		{Member: "b", Policy: "q", State: api.BindingScheduled},
		{Member: "z", State: api.BindingUnscheduled},
	}, plan.Existing(s, r, "77aa"))
	require.Empty(t, plan.Existing(nil, r, "77aa"))
}

func TestCompareTellsAddedChangedAndRemovedContent(t *testing.T) {
	cm := func(name, value string) content.Object {
		o, err := content.New(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "web"}, "data": map[string]any{"k": value},
		}, &seal.Keyring{})
		require.NoError(t, err)
		return o
	}
	p := placement("settings", nil)
	p.Namespace = "web"
	p.Spec.ResourceSelectors = []api.ResourceSelector{{Version: "v1", Kind: "ConfigMap"}}
	kept, before, after, added, gone := cm("kept", "1"), cm("changed", "1"), cm("changed", "2"), cm("added", "1"), cm("gone", "1")
	snapshot := &api.Snapshot{Manifests: []api.Manifest{
		{ObjectRef: kept.Head.Object, Digest: kept.Head.ManifestDigest()},
		{ObjectRef: before.Head.Object, Digest: before.Head.ManifestDigest()},
		{ObjectRef: gone.Head.Object, Digest: gone.Head.ManifestDigest()},
	}}
	change := plan.Compare(&p, snapshot, content.NewIndex(kept.Head, after.Head, added.Head))
	require.Equal(t, &plan.ContentChange{
		Placement: "web/settings",
		Added:     []api.ObjectRef{added.Head.Object},
		Changed:   []api.ObjectRef{after.Head.Object},
		Removed:   []api.ObjectRef{gone.Head.Object},
	}, change)
	require.Nil(t, plan.Compare(&p, snapshot, content.NewIndex(kept.Head, before.Head, gone.Head)))

	p.Spec.ResourceSelectors[0].Kind = "Namespace"
	require.Contains(t, plan.Compare(&p, snapshot, content.NewIndex()).Error, "spec.resourceSelectors[0].kind")
}

// What applying would do to each document is told first; what stays as it is changes nothing.
func TestDocumentsThatWouldBeApplied(t *testing.T) {
	object := func(name, action string) api.ApplyResult {
		return api.ApplyResult{Object: api.ObjectRef{Kind: "ConfigMap", Namespace: "shop", Name: name}, Action: action}
	}
	same := plan.Answer{Objects: []api.ApplyResult{object("a", api.ActionUnchanged)}}
	require.False(t, same.Changed())
	require.Equal(t, "plan: 0 to add, 0 to keep, 0 to remove\n", same.String())
	answer := plan.Answer{Objects: []api.ApplyResult{
		object("a", api.ActionUnchanged), object("b", api.ActionCreated), object("c", api.ActionConfigured), object("d", api.ActionDeleted), object("e", api.ActionDeleting),
	}}
	require.True(t, answer.Changed())
	require.Equal(t, `+ ConfigMap/shop/b would be created
~ ConfigMap/shop/c would be configured
- ConfigMap/shop/d would be deleted
- ConfigMap/shop/e would be deleting

plan: 0 to add, 0 to keep, 0 to remove
`, answer.String())
}
