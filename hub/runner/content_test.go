package runner_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/runner"
	"flotilla/subjects"
)

// object writes the spec of an object of KubeFleet's as the door does.
func (h *harness) object(family subjects.Family, kind, name, spec string) {
	h.t.Helper()
	h.put(family.Key(name), api.Spec{
		Header: api.NewHeader(api.KindSpec), Object: api.ObjectRef{APIVersion: api.GroupPlacement + "/v1", Kind: kind, Name: name},
		UID: "uid-" + name, Generation: 1, Body: json.RawMessage(`{"kind":"` + kind + `","metadata":{"name":"` + name + `","uid":"uid-` + name + `","generation":1},"spec":` + spec + `}`),
	})
}

// bookshop is a placement of strategy External whose snapshot berlin has, and says it has.
func (h *harness) bookshop() {
	h.t.Helper()
	h.object(subjects.PlacementSpecs, api.KindClusterResourcePlacement, "bookshop", `{"strategy":{"type":"External"}}`)
	h.object(subjects.StagedStrategySpecs, api.KindClusterStagedUpdateStrategy, "all", `{"stages":[{"name":"all","labelSelector":{}}]}`)
	uid := "uid-bookshop"
	h.put(subjects.Snapshots.Key(subjects.SnapshotName("bookshop", 1)), api.Snapshot{Header: api.NewHeader(api.KindSnapshot), Placement: "bookshop", UID: uid, Index: 1, Work: "work1"})
	h.put(subjects.Schedules.Key("bookshop"), api.Schedule{
		Header: api.NewHeader(api.KindSchedule), Placement: "bookshop", UID: uid, Generation: 1, Policy: "p", Fulfilled: true, Bindings: []api.Binding{{Member: "berlin"}},
	})
	h.put(subjects.Releases.Key("bookshop"), api.Release{
		Header: api.NewHeader(api.KindRelease), Placement: "bookshop", Step: 1,
		Entries: []api.ReleaseEntry{{Member: "berlin", UID: uid, Snapshot: 1, Work: "work1", Generation: 1}},
	})
	require.NoError(h.t, h.agent("berlin").PutResult(bustest.Context(h.t), subjects.CommandPlacement, "bookshop", api.PlacementResult{
		Header: api.NewHeader(api.KindPlacementResult), Member: "berlin", UID: uid, Generation: 1, Snapshot: 1,
		Applied: string(metav1.ConditionTrue), Available: string(metav1.ConditionTrue),
	}))
}

// Members that have already what a run brings say nothing anew: the run ends without being waited for.
func TestARunOfWhatMembersHaveAlreadyEnds(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.bookshop()
	h.object(subjects.RunSpecs, api.KindClusterStagedUpdateRun, "again", `{"placementName":"bookshop","stagedRolloutStrategyName":"all"}`)
	h.eventually("again", "NotStarted: berlin NotStarted")
	h.start("again")
	h.eventually("again", "Completed: berlin Completed ContentAvailable")
}
