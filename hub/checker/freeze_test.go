package checker

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"
)

// A freeze, and its end, reach the checks of every placement: while it lasts nobody is asked, and then it is gone on with.
func TestNobodyIsAskedOfWhatIsFrozen(t *testing.T) {
	s := bustest.Start(t).Lead(t)
	put := func(key string, value any) {
		t.Helper()
		bustest.Overwrite(t, s, key, value)
	}
	put(subjects.CheckSpecs.Key("slow"), api.Spec{
		Object: api.ObjectRef{Kind: api.KindRolloutCheck, Name: "slow"}, UID: "c", Generation: 1,
		Body: json.RawMessage(`{"metadata": {"name": "slow"}, "spec": {"checks": [{"name": "up", "webhook": {"webhook": "judge"}}]}}`),
	})
	put(subjects.PlacementSpecs.Key("web"), api.Spec{
		Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "web"}, UID: "u1", Generation: 1,
		Body: json.RawMessage(`{"metadata": {"annotations": {"flotilla.io/rollout-check": "slow"}}}`),
	})
	put(subjects.Snapshots.Key(subjects.SnapshotName("web", 1)), api.Snapshot{Placement: "web", UID: "u1", Index: 1})
	bustest.Room(t, New(s, Options{Endpoints: &Endpoints{}, Log: s.Conn.Log}))
	says := func(part string) {
		t.Helper()
		bustest.Eventually(t, func() error {
			record, _, _ := s.State.Raw(subjects.Checks.Key("web"))
			if !strings.Contains(string(record), part) {
				return fmt.Errorf("%s", record)
			}
			return nil
		})
	}
	says("waits for a member to be given snapshot 1")
	put(subjects.Freezes.Key(api.FreezePlacements), api.Freeze{Scope: api.FreezePlacements, By: "anna", Reason: "sale"})
	says("nothing is asked: placements frozen by anna: sale; flotilla unfreeze placements")
	put(subjects.Freezes.Key(api.FreezePlacements), nil)
	says("waits for a member to be given snapshot 1")
}
