package door_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
)

var webPlacement = api.ObjectRef{APIVersion: "placement.kubernetes-fleet.io/v1", Kind: api.KindClusterResourcePlacement, Name: "web"}

func (h *house) steer(verb string, revision int64) *api.RolloutResponse {
	h.t.Helper()
	answer := must[api.RolloutResponse](h, verb, api.RolloutRequest{Request: h.id(), Object: webPlacement, Revision: revision, Reason: "why"})
	return &answer
}

func (h *house) history() (lines []string) {
	h.t.Helper()
	for _, r := range must[api.HistoryResponse](h, api.VerbRolloutHistory, api.HistoryRequest{Object: webPlacement}).Revisions {
		text, err := json.Marshal([]any{r.Revision, r.By, r.UndoneTo, r.Pinned, r.Members, len(r.Added), len(r.Changed), len(r.Removed)})
		require.NoError(h.t, err)
		lines = append(lines, string(text))
	}
	return lines
}

// An undo is a new snapshot of the same work; it stays until what is selected changes, and everybody is told.
func TestAnUndoHoldsUntilTheContentChanges(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(shopNamespace, config("a", "1"), web)[2].UID
	h.apply(config("a", "2"))
	h.release("web", uid, 2, "berlin")
	first := h.snapshots("web")[0]

	answer := h.steer(api.VerbRolloutUndo, 0)
	require.Equal(t, api.ActionUndone, answer.Action)
	require.Equal(t, int64(3), answer.Revision)
	require.Equal(t, "back to revision 1, as revision 3", answer.Notes[0])
	require.Regexp(t, `^pinned to revision 1 by \S+ since \S+Z: members stay with it until what is selected changes, or: flotilla rollout resume placement/web$`, answer.Notes[1])
	newest := h.snapshots("web")[2]
	require.Equal(t, first.Work, newest.Work)
	require.Equal(t, first.Manifests, newest.Manifests)

	notes := h.apply(web)[0].Notes
	require.Contains(t, strings.Join(notes, "\n"), "pinned to revision 1")
	require.Equal(t, []int64{1, 2, 3}, h.indexes("web"), "what is selected is the same")
	require.Empty(t, must[struct{ Content []any }](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, web)}).Content, "and a plan says so")

	unchanged := h.steer(api.VerbRolloutUndo, 1)
	require.Equal(t, api.ActionUnchanged, unchanged.Action)
	require.Equal(t, []int64{1, 2, 3}, h.indexes("web"))

	result := h.apply(config("a", "3"))[0]
	require.Contains(t, strings.Join(result.Notes, "\n"), "ClusterResourcePlacement/web: was pinned to revision 1 by")
	require.Equal(t, []int64{1, 2, 3, 4}, h.indexes("web"))
	require.Nil(t, h.snapshots("web")[3].Undo)
	by := h.snapshots("web")[0].By
	require.Equal(t, []string{
		`[1,"` + by + `",0,false,0,0,0,0]`, `[2,"` + by + `",0,false,1,0,1,0]`, `[3,"` + by + `",1,false,0,0,1,0]`, `[4,"` + by + `",0,false,0,0,1,0]`,
	}, h.history())
}

func TestUndoTwiceAndResume(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, config("a", "1"), web)
	h.apply(config("a", "2"))
	works := func() (all []string) {
		for _, s := range h.snapshots("web") {
			all = append(all, s.Work)
		}
		return all
	}
	h.steer(api.VerbRolloutUndo, 0)
	require.Equal(t, "that is what the placement selects", h.steer(api.VerbRolloutUndo, 0).Notes[1])
	all := works()
	require.Equal(t, []string{all[0], all[1], all[0], all[1]}, all)
	require.Equal(t, api.ActionUnchanged, h.steer(api.VerbRolloutResume, 0).Action, "back where it began")

	h.steer(api.VerbRolloutUndo, 1)
	require.Equal(t, api.ActionFollowing, h.steer(api.VerbRolloutResume, 0).Action)
	all = works()
	require.Equal(t, all[1], all[5])
	require.False(t, h.snapshots("web")[5].Pinned())
}

func TestUndosThatAreRefused(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, config("a", "1"), web)
	for revision, want := range map[int64]string{
		0: "undoing ClusterResourcePlacement/web: there is no earlier revision of other content to go back to",
		9: "undoing ClusterResourcePlacement/web: revision 9 is not kept, expected one of 1",
	} {
		_, failure := ask[api.RolloutResponse](h, api.VerbRolloutUndo, api.RolloutRequest{Request: h.id(), Object: webPlacement, Revision: revision})
		require.NotNil(t, failure)
		require.Equal(t, api.CodeInvalid, failure.Code)
		require.Equal(t, want, failure.Message)
		require.Equal(t, "flotilla rollout history placement/web", failure.Next)
	}
	none := api.RolloutRequest{Request: h.id(), Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "none"}}
	_, failure := ask[api.RolloutResponse](h, api.VerbRolloutPause, none)
	require.Equal(t, api.CodeNotFound, failure.Code)
}

// A pause is the hub's own mark: an apply keeps it, and nobody else can set or take it.
func TestAPauseIsKeptAndTold(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, config("a", "1"), web)
	require.Equal(t, api.ActionPaused, h.steer(api.VerbRolloutPause, 0).Action)
	require.Equal(t, api.ActionUnchanged, h.steer(api.VerbRolloutPause, 0).Action)
	paused := func() *api.Pause {
		return must[api.Placement](h, api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: "web"}).Status.Paused
	}
	require.Equal(t, "why", paused().Reason)
	require.Contains(t, strings.Join(h.apply(strings.Replace(web, "numberOfClusters: 2", "numberOfClusters: 3", 1))[0].Notes, "\n"), "no member moves until: flotilla rollout resume placement/web")
	require.Contains(t, strings.Join(h.apply(config("a", "2"))[0].Notes, "\n"), "ClusterResourcePlacement/web: paused by")
	forged := strings.Replace(web, "{name: web}", `{name: web, annotations: {flotilla.io/paused: '{"by":"bob"}'}}`, 1)
	require.Contains(t, strings.Join(h.apply(forged)[0].Notes, "\n"), "ignored, because the hub sets it: metadata.annotations[flotilla.io/paused]")
	require.NotEqual(t, "bob", paused().By)
	plan := must[struct{ Notes []string }](h, api.VerbPlan, api.PlanRequest{})
	require.Contains(t, strings.Join(plan.Notes, "\n"), "ClusterResourcePlacement/web: paused by")

	h.steer(api.VerbRolloutUndo, 0)
	resumed := h.steer(api.VerbRolloutResume, 0)
	require.Equal(t, api.ActionResumed, resumed.Action)
	require.Contains(t, resumed.Notes[0], "pinned to revision 1", "one thing at a time")
	require.Nil(t, paused())
	require.Contains(t, strings.Join(h.apply(forged)[0].Notes, "\n"), "ignored")
	require.Nil(t, paused())
	require.Equal(t, api.ActionFollowing, h.steer(api.VerbRolloutResume, 0).Action)
}

// A client that got no answer asks again, maybe another hub: nothing is done twice.
func TestSteeringIsDoneOnceForEachRequest(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	h.apply(shopNamespace, config("a", "1"), web)
	h.apply(config("a", "2"))
	requests := map[string]api.RolloutRequest{}
	for _, verb := range []string{api.VerbRolloutUndo, api.VerbRolloutPause, api.VerbRolloutResume} {
		request := api.RolloutRequest{Request: h.id(), Object: webPlacement}
		first := must[api.RolloutResponse](h, verb, request)
		require.Equal(t, first, must[api.RolloutResponse](h, verb, request), verb)
		requests[verb] = request
	}
	stop()
	h.run(door.Options{})
	for verb, request := range requests {
		must[api.RolloutResponse](h, verb, request)
		require.Equal(t, []int64{1, 2, 3}, h.indexes("web"), verb)
	}
	require.True(t, h.snapshots("web")[2].Pinned(), "a new leader goes on from the records")
	require.Nil(t, must[api.Placement](h, api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: "web"}).Status.Paused)
}

// Snapshots that cannot be read do not end an undo.
func TestAnUndoOutlivesDamage(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	h.apply(shopNamespace, config("a", "1"), web)
	h.apply(config("a", "2"))
	h.steer(api.VerbRolloutUndo, 0)
	stop()
	write(h, subjects.Snapshots, subjects.SnapshotName("web", 2), json.RawMessage(`{"kind":"Snapshot","level":1,"uid":{}}`))
	h.run(door.Options{})
	bustest.Eventually(t, func() error {
		if last := h.snapshots("web"); last[len(last)-1].Index == 4 {
			return nil
		}
		return bus.ErrNotSynced
	})
	last := h.snapshots("web")
	require.True(t, last[len(last)-1].Pinned())
	require.Equal(t, last[0].Work, last[len(last)-1].Work)
}

const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {template: {metadata: {labels: {app: web}}}}}`

// A restart changes the templates of workloads, also of those in an envelope, and nothing else; an apply keeps that.
func TestARestartChangesTemplates(t *testing.T) {
	h := open(t, door.Options{})
	wrapped := `{apiVersion: placement.kubernetes-fleet.io/v1beta1, kind: ResourceEnvelope, metadata: {name: e, namespace: shop}, data: {d: ` + strings.Replace(deployment, "name: web,", "name: wrapped,", 1) + `}}`
	text := `{apiVersion: v1, kind: ConfigMap, metadata: {name: t, namespace: shop, annotations: {kubernetes-fleet.io/envelope-configmap: "true"}}, data: {d: '` + strings.Replace(deployment, "name: web,", "name: text,", 1) + `'}}`
	beside := strings.Replace(web, "{name: web}", "{name: beside}", 1)
	h.apply(shopNamespace, settings, deployment, wrapped, text, web, beside)
	answer := h.steer(api.VerbRolloutRestart, 0)
	require.Equal(t, api.ActionRestarted, answer.Action)
	require.Equal(t, int64(2), answer.Revision)
	require.Equal(t, []string{"not restarted, because they lie in envelopes as texts: Deployment/shop/text", "other placements select some of it, and restart it too: beside"}, answer.Notes)
	before, after := h.snapshots("web")[0].Manifests, h.snapshots("web")[1].Manifests
	for i := range before {
		changes := before[i].Name == "web" || before[i].Name == "wrapped"
		require.Equal(t, changes, before[i].Digest != after[i].Digest, before[i].String())
	}
	require.Contains(t, h.apply(deployment)[0].Notes[0], "restartedAt")
	require.Equal(t, []int64{1, 2}, h.indexes("web"))

	h.steer(api.VerbRolloutPause, 0)
	_, failure := ask[api.RolloutResponse](h, api.VerbRolloutRestart, api.RolloutRequest{Request: h.id(), Object: webPlacement})
	require.Equal(t, api.CodeConflict, failure.Code)
	require.Contains(t, failure.Message, "restarting ClusterResourcePlacement/web: it is paused by")
}

// Who may only read steers nothing.
func TestViewersDoNotSteer(t *testing.T) {
	h := peopled(t)
	h.apply(shopNamespace, config("a", "1"), web)
	viewer := h.add("vera", api.RoleViewer)
	for _, verb := range []string{api.VerbRolloutUndo, api.VerbRolloutPause, api.VerbRolloutResume, api.VerbRolloutRestart} {
		var failure *api.Failure
		require.ErrorAs(t, bus.Request(bustest.Context(t), viewer, verb, api.RolloutRequest{Object: webPlacement}, nil, bus.RequestOptions{}), &failure)
		require.Equal(t, api.CodeRefused, failure.Code)
	}
	require.NoError(t, bus.Request(bustest.Context(t), viewer, api.VerbRolloutHistory, api.HistoryRequest{Object: webPlacement}, nil, bus.RequestOptions{}))
}

// What was looked at is what is steered: whoever comes second is told what changed.
func TestAPlacementIsSteeredAsItWasSeen(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, config("a", "1"), web)
	h.apply(config("a", "2"))
	look := func(verb string) *api.Basis {
		return must[api.RolloutResponse](h, verb, api.RolloutRequest{Object: webPlacement, DryRun: true}).Basis
	}
	does := func(verb string, basis *api.Basis) *api.Failure {
		return must1(ask[api.RolloutResponse](h, verb, api.RolloutRequest{Request: h.id(), Object: webPlacement, Basis: basis}))
	}
	undo, pause, restart := look(api.VerbRolloutUndo), look(api.VerbRolloutPause), look(api.VerbRolloutUndo)
	require.Nil(t, does(api.VerbRolloutUndo, undo))
	second := does(api.VerbRolloutUndo, undo)
	require.NotNil(t, second)
	require.Equal(t, api.CodePrecondition, second.Code)
	require.Regexp(t, "changed since you looked: its newest revision is 3, made by [^ ]+ at [^ ]+Z; it was 2$", second.Message)
	require.Equal(t, []int64{1, 2, 3}, h.indexes("web"))
	require.Equal(t, api.CodePrecondition, does(api.VerbRolloutRestart, restart).Code)

	require.NotNil(t, does(api.VerbRolloutPause, pause))
	pause = look(api.VerbRolloutPause)
	require.Nil(t, does(api.VerbRolloutPause, pause))
	again := does(api.VerbRolloutPause, pause)
	require.Regexp(t, "it is at generation 1, paused by .*; it was at "+pause.ResourceVersion+"$", again.Message)
	require.Nil(t, does(api.VerbRolloutResume, look(api.VerbRolloutResume)))
}
