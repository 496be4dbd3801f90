package door_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/why"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

func (h *house) patch(ref api.ObjectRef, patch string) (api.ApplyResult, *api.Failure) {
	h.t.Helper()
	return ask[api.ApplyResult](h, api.VerbPatch, api.PatchRequest{Request: h.id(), Object: ref, Patch: json.RawMessage(patch)})
}

func TestPatchFollowsTheRulesOfApply(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, settings, web, berlin)
	placement := api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "web"}

	scaled, failure := h.patch(placement, `{"spec":{"policy":{"numberOfClusters":5}}}`)
	require.Nil(t, failure)
	require.Equal(t, api.ActionConfigured, scaled.Action)
	require.Equal(t, int64(2), scaled.Generation)

	_, failure = h.patch(placement, `{"spec":{"policy":{"numberOfClusters":-5}}}`)
	require.Equal(t, api.CodeInvalid, failure.Code)
	require.Equal(t, "spec.policy.numberOfClusters", failure.Faults[0].Path)

	_, failure = h.patch(placement, `{"metadata":{"name":"other"}}`)
	require.Equal(t, api.CodeInvalid, failure.Code)
	require.Contains(t, failure.Message, "to stay")

	labelled, failure := h.patch(api.ObjectRef{Kind: api.KindMemberCluster, Name: "berlin"}, `{"metadata":{"labels":{"env":null,"tier":"1"}}}`)
	require.Nil(t, failure)
	require.Equal(t, int64(1), labelled.Generation)
	metadata := h.get(api.KindMemberCluster, "", "berlin")["metadata"].(map[string]any)
	require.Equal(t, map[string]any{"tier": "1"}, metadata["labels"])

	_, failure = h.patch(api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}, `{"data":{"a":null,"b":"2"}}`)
	require.Nil(t, failure)
	require.Equal(t, map[string]any{"b": "2"}, h.get("ConfigMap", "shop", "settings")["data"])
	require.Equal(t, []int64{1, 2}, h.indexes("web"), "patched content is a new snapshot")

	_, failure = h.patch(api.ObjectRef{Kind: api.KindMemberCluster, Name: "paris"}, `{}`)
	require.Equal(t, api.CodeNotFound, failure.Code)
}

func TestAdmitMakesAMemberOfWhoHeartbeats(t *testing.T) {
	h := open(t, door.Options{})
	write(h, subjects.Members, "berlin", beat(elsewhen.Now(), "berlin", map[string]string{"region": "eu"}))
	_, failure := h.patch(api.ObjectRef{Kind: api.KindMemberCluster, Name: "berlin"}, `{}`)
	require.Equal(t, "flotilla member admit berlin", failure.Next)
	status := h.get(api.KindMemberCluster, "", "berlin")["status"].(map[string]any)
	require.Equal(t, "Joining", status["state"])

	agent := h.server.Agent(t, "berlin")
	require.NoError(t, agent.PutHeartbeat(bustest.Context(t), api.Heartbeat{
		Header: api.NewHeader(api.KindHeartbeat), Member: "berlin", Labels: map[string]string{"region": "eu", "zone": "a"},
	}))
	bustest.Eventually(t, func() error {
		if _, found := h.store.Heartbeats.Get("berlin"); !found {
			return fmt.Errorf("no heartbeat yet")
		}
		return nil
	})
	result := must[api.ApplyResult](h, api.VerbAdmit, api.AdmitRequest{Request: h.id(), Name: "berlin", Labels: map[string]string{"env": "prod"}})
	require.Equal(t, api.ActionCreated, result.Action)
	metadata := h.get(api.KindMemberCluster, "", "berlin")["metadata"].(map[string]any)
	require.Equal(t, map[string]any{api.AnnotationAgentLabels: "region,zone"}, metadata["annotations"])

	result = must[api.ApplyResult](h, api.VerbAdmit, api.AdmitRequest{Request: h.id(), Name: "berlin"})
	require.Equal(t, api.ActionUnchanged, result.Action)
	result = must[api.ApplyResult](h, api.VerbAdmit, api.AdmitRequest{Request: h.id(), Name: "berlin", AllowLabels: []string{"region"}})
	require.Equal(t, api.ActionConfigured, result.Action)

	_, failure = ask[api.ApplyResult](h, api.VerbAdmit, api.AdmitRequest{Request: h.id(), Name: "Not A Label"})
	require.Equal(t, api.CodeInvalid, failure.Code)
}

// Who is admitted is who was looked at, with the labels that were seen.
func TestAMemberIsAdmittedAsItWasSeen(t *testing.T) {
	h := open(t, door.Options{})
	const key = "UBERLIN"
	write(h, subjects.Identities, "berlin", api.Identity{Header: api.NewHeader(api.KindIdentity), Name: "berlin", Key: key})
	admit := func(expect *api.Joining) *api.Failure {
		return must1(ask[api.ApplyResult](h, api.VerbAdmit, api.AdmitRequest{Request: h.id(), Name: "berlin", Expect: expect}))
	}
	other := admit(&api.Joining{Key: "UOTHER", New: true})
	require.NotNil(t, other)
	require.Equal(t, api.CodePrecondition, other.Code)
	require.Equal(t, "nothing was done: berlin is not as you saw it: its agent holds key "+key+", expected key UOTHER", other.Message)
	require.Equal(t, "flotilla describe member berlin", other.Next)
	h.missing(api.KindMemberCluster, "", "berlin")

	seen := &api.Joining{Key: key, New: true, Offered: []string{"region"}}
	request := api.AdmitRequest{Request: h.id(), Name: "berlin", Expect: seen}
	must[api.ApplyResult](h, api.VerbAdmit, request)
	metadata := h.get(api.KindMemberCluster, "", "berlin")["metadata"].(map[string]any)
	require.Equal(t, map[string]any{api.AnnotationAgentLabels: "region"}, metadata["annotations"])
	must[api.ApplyResult](h, api.VerbAdmit, request) // the same request once more
	require.Regexp(t, "it is part of the fleet since .*Z$", admit(seen).Message)
	require.Nil(t, admit(&api.Joining{Key: key}))
}

// A member may be admitted before its agent runs; admitted once more, it is allowed what its agent offers
// by then, and keeps what it was allowed.
func TestAdmitBeforeTheAgentRuns(t *testing.T) {
	h := open(t, door.Options{})
	admit := func() *api.ApplyResult {
		result := must[api.ApplyResult](h, api.VerbAdmit, api.AdmitRequest{Request: h.id(), Name: "berlin"})
		return &result
	}
	allowed := func() any {
		metadata := h.get(api.KindMemberCluster, "", "berlin")["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		return annotations[api.AnnotationAgentLabels]
	}
	note := []string{"no heartbeat of berlin yet: start its agent; to allow the labels it offers, repeat: flotilla member admit berlin"}
	first := admit()
	require.Equal(t, api.ActionCreated, first.Action)
	require.Equal(t, note, first.Notes)
	again := admit()
	require.Equal(t, api.ActionUnchanged, again.Action)
	require.Equal(t, note, again.Notes)
	require.Nil(t, allowed())

	agent := h.server.Agent(t, "berlin")
	for _, c := range []struct {
		offered map[string]string
		action  string
		allowed string
	}{
		{map[string]string{"region": "eu", "zone": "a"}, api.ActionConfigured, "region,zone"},
		{map[string]string{"region": "eu", "zone": "a"}, api.ActionUnchanged, "region,zone"},
		{map[string]string{"fleet.example/ring": "1", "region": "eu"}, api.ActionConfigured, "fleet.example/ring,region,zone"},
	} {
		require.NoError(t, agent.PutHeartbeat(bustest.Context(t), api.Heartbeat{Header: api.NewHeader(api.KindHeartbeat), Member: "berlin", Labels: c.offered}))
		bustest.Eventually(t, func() error {
			entry, _ := h.store.Heartbeats.Get("berlin")
			var known api.Heartbeat
			if err := json.Unmarshal(entry.Value, &known); err != nil || !maps.Equal(known.Labels, c.offered) {
				return fmt.Errorf("the heartbeat is %s", entry.Value)
			}
			return nil
		})
		result := admit()
		require.Equal(t, c.action, result.Action)
		require.Empty(t, result.Notes)
		require.Equal(t, c.allowed, allowed())
	}
	must[api.ApplyResult](h, api.VerbAdmit, api.AdmitRequest{Request: h.id(), Name: "berlin", AllowLabels: []string{"*"}})
	require.Equal(t, api.ActionUnchanged, admit().Action, "any label is allowed already")
}

// What an agent offers is data: keys that would be patterns, or several keys, where a person allows labels are not
// written there, neither of a heartbeat nor of what somebody saw of it. A pattern that a person wrote stays.
func TestAdmitWritesNoPatternThatAnAgentOffers(t *testing.T) {
	h := open(t, door.Options{})
	offered := map[string]string{"*": "x", "a/*": "x", "a,b": "x", "a b": "x", "": "x", "zone": "a"}
	require.NoError(t, h.server.Agent(t, "berlin").PutHeartbeat(bustest.Context(t), api.Heartbeat{Header: api.NewHeader(api.KindHeartbeat), Member: "berlin", Labels: offered}))
	bustest.Eventually(t, func() error {
		if _, found := h.store.Heartbeats.Get("berlin"); !found {
			return fmt.Errorf("no heartbeat yet")
		}
		return nil
	})
	allowed := func(name string) any {
		annotations, _ := h.get(api.KindMemberCluster, "", name)["metadata"].(map[string]any)["annotations"].(map[string]any)
		return annotations[api.AnnotationAgentLabels]
	}
	left := `of what its agent offers this is not allowed, because it is no label key: "", "*", "a b", "a,b", "a/*"`
	result := must[api.ApplyResult](h, api.VerbAdmit, api.AdmitRequest{Request: h.id(), Name: "berlin"})
	require.Contains(t, result.Notes, left)
	require.Equal(t, "zone", allowed("berlin"))

	seen := &api.Joining{New: true, Offered: slices.Sorted(maps.Keys(offered))}
	result = must[api.ApplyResult](h, api.VerbAdmit, api.AdmitRequest{Request: h.id(), Name: "oslo", Expect: seen})
	require.Contains(t, result.Notes, left)
	require.Equal(t, "zone", allowed("oslo"))

	must[api.ApplyResult](h, api.VerbAdmit, api.AdmitRequest{Request: h.id(), Name: "berlin", AllowLabels: []string{"fleet.azure.com/*"}})
	must[api.ApplyResult](h, api.VerbAdmit, api.AdmitRequest{Request: h.id(), Name: "berlin"})
	require.Equal(t, "fleet.azure.com/*,zone", allowed("berlin"))
}

func TestMembersAreShownAsKubeFleetShowsThem(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(berlin)[0].UID
	record := beat(elsewhen.Now(), "berlin", nil)
	record.UID, record.State, record.Labels = uid, api.MemberReady, map[string]string{"env": "prod", "region": "eu"}
	write(h, subjects.Members, "berlin", record)
	h.release("web", "u", 1, "berlin")

	shown := must[api.MemberCluster](h, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: "berlin"})
	require.Equal(t, map[string]string{"available": "4"}, map[string]string{"available": shown.Status.ResourceUsage.Available["cpu"]})
	require.Equal(t, "3", shown.Status.Properties[api.PropertyNodeCount].Value)
	require.Equal(t, 1, shown.Status.Placed)
	member := api.MemberOf(&shown)
	require.True(t, member.HasAgent)
	require.Equal(t, "True", member.Joined)
	require.Equal(t, "eu", member.Labels["region"])
}

func (h *house) list(request api.ListRequest) (names []string, next string) {
	h.t.Helper()
	answer := must[api.ListResponse](h, api.VerbList, request)
	for _, item := range answer.Items {
		var object struct {
			Metadata struct{ Namespace, Name string }
		}
		require.NoError(h.t, json.Unmarshal(item, &object))
		names = append(names, object.Metadata.Namespace+"/"+object.Metadata.Name)
	}
	return names, answer.Continue
}

func TestListIsSortedFilteredAndPaged(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(config("c", "1"), config("a", "1"), config("b", "1"),
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: blog, labels: {x: z}}}`,
		`{apiVersion: example.com/v1, kind: ConfigMap, metadata: {name: foreign, namespace: zoo}}`, shopNamespace)

	names, _ := h.list(api.ListRequest{APIVersion: "v1", Kind: "ConfigMap"})
	require.Equal(t, []string{"blog/a", "shop/a", "shop/b", "shop/c"}, names)
	names, _ = h.list(api.ListRequest{Kind: "ConfigMap"})
	require.Contains(t, names, "zoo/foreign")
	names, _ = h.list(api.ListRequest{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop"})
	require.Equal(t, []string{"shop/a", "shop/b", "shop/c"}, names)
	names, _ = h.list(api.ListRequest{Kind: "ConfigMap", LabelSelector: "x in (z)"})
	require.Equal(t, []string{"blog/a"}, names)

	first, next := h.list(api.ListRequest{APIVersion: "v1", Kind: "ConfigMap", Limit: 3})
	require.Len(t, first, 3)
	second, end := h.list(api.ListRequest{APIVersion: "v1", Kind: "ConfigMap", Limit: 3, Continue: next})
	require.Equal(t, []string{"shop/c"}, second)
	require.Empty(t, end)

	_, failure := ask[api.ListResponse](h, api.VerbList, api.ListRequest{Kind: "ConfigMap", LabelSelector: "a in"})
	require.Equal(t, api.CodeInvalid, failure.Code)
}

func TestABriefListTellsCountsAlone(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(shopNamespace, web)[1].UID
	write(h, subjects.Schedules, "web", api.Schedule{
		Header: api.NewHeader(api.KindSchedule), Placement: "web", UID: uid, Generation: 1, Bindings: []api.Binding{{Member: "berlin"}},
	})
	for _, brief := range []bool{true, false} {
		items := must[api.ListResponse](h, api.VerbList, api.ListRequest{Kind: api.KindClusterResourcePlacement, Brief: brief}).Items
		var shown api.Placement
		require.NoError(t, json.Unmarshal(items[0], &shown))
		require.Equal(t, 1, shown.Status.Counts.Picked)
		require.Equal(t, brief, len(shown.Status.PlacementStatuses) == 0)
		require.Equal(t, brief, len(shown.Status.SelectedResources) == 0)
	}
}

func TestListOfMembersShowsThoseWhoWait(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(berlin)
	write(h, subjects.Members, "paris", beat(elsewhen.Now(), "paris", nil))
	names, _ := h.list(api.ListRequest{Kind: api.KindMemberCluster})
	require.Equal(t, []string{"/berlin", "/paris"}, names)
	names, _ = h.list(api.ListRequest{Kind: api.KindMemberCluster, LabelSelector: "env=prod"})
	require.Equal(t, []string{"/berlin"}, names)
}

func TestStatusPutsProblemsFirst(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, web, berlin)
	record := beat(elsewhen.Now(), "paris", nil)
	write(h, subjects.Members, "paris", record)
	uid := h.apply(strings.ReplaceAll(berlin, "berlin", "rome"))[0].UID
	record.Name, record.UID, record.State, record.Message = "rome", uid, api.MemberUnknown, "no heartbeat for 6m0s"
	write(h, subjects.Members, "rome", record)
	h.enrolled("rome")

	fleet := must[api.FleetStatus](h, api.VerbStatus, nil)
	require.Equal(t, map[string]int{"Joining": 2, "Unknown": 1}, fleet.Members)
	require.Equal(t, 1, fleet.Placements)
	require.Equal(t, "hub-test", fleet.Leader)
	require.Equal(t, "member/rome", fleet.Problems[0].Object)
	for _, problem := range fleet.Problems {
		require.NotEmpty(t, problem.Next)
	}
	require.Len(t, fleet.Problems, 3)
}

func TestVersionAndEvents(t *testing.T) {
	h := open(t, door.Options{})
	version := must[api.VersionResponse](h, api.VerbVersion, nil)
	require.Equal(t, "1.0.0", version.Version)
	require.Equal(t, bustest.Fleet, version.Fleet)
	require.NotEmpty(t, version.Server)

	h.apply(shopNamespace, settings, web)
	bustest.Eventually(t, func() error {
		var reasons []string
		for _, event := range must[api.EventsResponse](h, api.VerbEvents, api.EventsRequest{Object: "placement/web"}).Events {
			reasons = append(reasons, event.Reason)
		}
		if len(reasons) != 2 {
			return fmt.Errorf("events %v", reasons)
		}
		require.Equal(t, []string{"Created", "SnapshotCut"}, reasons)
		return nil
	})
}

// What a plan knows of a member is what its newest record and its newest MemberCluster say, whichever changed.
func TestPlanKnowsMembersAsTheyAreNow(t *testing.T) {
	h := open(t, door.Options{})
	record := beat(elsewhen.Now(), "berlin", nil)
	record.UID, record.Labels = h.apply(berlin)[0].UID, map[string]string{"env": "prod"}
	picked := func(state api.MemberState) int {
		record.State = state
		write(h, subjects.Members, "berlin", record)
		answer := must[plan.Answer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, shopNamespace, settings, web)})
		return len(answer.Placements[0].Picked)
	}
	require.Zero(t, picked(api.MemberJoining))
	require.Equal(t, 1, picked(api.MemberReady))
	require.Zero(t, picked(api.MemberJoining))
	require.Equal(t, 1, picked(api.MemberReady))
	h.apply(strings.Replace(berlin, "}}", "}}, spec: {taints: [{key: k, effect: NoSchedule}]}", 1))
	answer := must[plan.Answer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, shopNamespace, settings, web)})
	require.Empty(t, answer.Placements[0].Picked, "it is tainted now")
}

func TestPlanChangesNothingAndSaysWhatWould(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(berlin)[0].UID
	record := beat(elsewhen.Now(), "berlin", nil)
	record.UID, record.State, record.Labels = uid, api.MemberReady, map[string]string{"env": "prod"}
	write(h, subjects.Members, "berlin", record)

	answer := must[plan.Answer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, shopNamespace, settings, web)})
	require.Len(t, answer.Placements, 1)
	require.Equal(t, []plan.Pick{{Member: "berlin", AffinityScore: new(int32), TopologySpreadScore: new(int32), Change: plan.ChangeAdd, Course: plan.Course{Rollout: plan.RolloutChanges}}}, answer.Placements[0].Picked)
	require.False(t, answer.Placements[0].Fulfilled, "it wants two")
	require.Len(t, answer.Objects, 3)
	require.Len(t, answer.Content, 1)
	require.Len(t, answer.Content[0].Added, 2)
	h.missing("Namespace", "", "shop")

	tainted := `{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: berlin}, spec: {taints: [{key: k, effect: NoSchedule}]}}`
	answer = must[plan.Answer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, tainted, web)})
	require.Empty(t, answer.Placements[0].Picked, "the member is planned as it would be")

	placed := h.apply(web, shopNamespace)[0]
	write(h, subjects.Schedules, "web", api.Schedule{
		Header: api.NewHeader(api.KindSchedule), Placement: "web", UID: placed.UID, Bindings: []api.Binding{{Member: "berlin"}},
	})
	answer = must[plan.Answer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, settings)})
	require.Len(t, answer.Placements, 1)
	require.Equal(t, plan.ChangeKeep, answer.Placements[0].Picked[0].Change, "nobody would move")
	require.Equal(t, "web", answer.Content[0].Placement, "and its content would change")
	answer = must[plan.Answer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, `{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: paris}}`)})
	require.Empty(t, answer.Placements, "a silent member moves nothing")
	answer = must[plan.Answer](h, api.VerbPlan, api.PlanRequest{})
	require.Len(t, answer.Placements, 1, "without documents: all placements as they stand")

	_, failure := ask[plan.Answer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, `{apiVersion: v1, kind: ConfigMap, metadata: {}}`)})
	require.Equal(t, api.CodeInvalid, failure.Code)
}

func TestWhyExplainsTheVerdictAnApplyWouldGet(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(berlin, strings.Replace(web, "numberOfClusters: 2", "numberOfClusters: 1, tolerations: []", 1))[0].UID
	record := beat(elsewhen.Now(), "berlin", nil)
	record.UID, record.State = uid, api.MemberReady
	write(h, subjects.Members, "berlin", record)
	picked := must[[]why.Answer](h, api.VerbWhy, api.WhyRequest{Placement: "web"})
	require.Len(t, picked, 1)
	require.True(t, picked[0].Verdict.Picked)

	h.apply(`{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: berlin}, spec: {taints: [{key: k, effect: NoSchedule}]}}`)
	refused := must[[]why.Answer](h, api.VerbWhy, api.WhyRequest{Placement: "web", Member: "berlin"})[0]
	require.Equal(t, "taint", refused.Verdict.Filter)
	require.NotNil(t, refused.Flip)
	_, failure := ask[[]why.Answer](h, api.VerbWhy, api.WhyRequest{Placement: "web", Member: "berlinn"})
	require.Equal(t, "no member berlinn, did you mean berlin?", failure.Message)
	write(h, subjects.Members, "paris", beat(elsewhen.Now(), "paris", nil))
	_, failure = ask[[]why.Answer](h, api.VerbWhy, api.WhyRequest{Placement: "web", Member: "paris"})
	require.Equal(t, "flotilla member admit paris", failure.Next)

	_, failure = ask[[]why.Answer](h, api.VerbWhy, api.WhyRequest{Placement: "nothing"})
	require.Equal(t, api.CodeNotFound, failure.Code)
}
