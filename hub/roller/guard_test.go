package roller_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/subjects"
)

// Placements that each take a little off one member at the same time are let take no more together than the bounds allow, and
// an approval lets exactly the one go that it is of.
func TestNoTwoWorkersPassTheBoundsTogether(t *testing.T) {
	const placements, objects = 8, 11
	h := start(t, "berlin")
	name := func(i int) string { return fmt.Sprintf("p%02d", i) }
	bind := func(i int, members ...string) {
		s := api.Schedule{Placement: name(i), UID: name(i), Generation: 1}
		for _, m := range members {
			s.Bindings = append(s.Bindings, api.Binding{Member: m})
		}
		h.put(t, subjects.Schedules.Key(name(i)), s)
	}
	for i := range placements {
		s := api.Snapshot{Placement: name(i), UID: name(i), Index: 1, Work: "work-" + name(i)}
		for n := range objects {
			s.Manifests = append(s.Manifests, api.Manifest{ObjectRef: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: name(i), Name: fmt.Sprint(n)}})
		}
		h.put(t, subjects.Snapshots.Key(subjects.SnapshotName(name(i), 1)), s)
		body := fmt.Sprintf(`{"metadata":{"name":%q,"uid":%q,"generation":1},"spec":{}}`, name(i), name(i))
		h.put(t, subjects.PlacementSpecs.Key(name(i)), api.Spec{Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: name(i)}, UID: name(i), Generation: 1, Body: []byte(body)})
		bind(i, "berlin")
	}
	count := func() (released, withdrawn, held int) {
		for i := range placements {
			release, _, _ := h.releases.Get(name(i))
			for _, e := range release.Entries {
				released++
				if e.Withdrawn {
					withdrawn++
				}
			}
			for _, at := range release.Held {
				if at.Loss != (api.Loss{}) {
					held++
				}
			}
		}
		return released, withdrawn, held
	}
	bustest.Eventually(t, func() error {
		if released, _, _ := count(); released != placements {
			return fmt.Errorf("%d released", released)
		}
		return nil
	})
	h.stop()
	for i := range placements {
		bind(i)
	}
	h.run(t) // all are decided at once
	bustest.Eventually(t, func() error {
		if _, withdrawn, held := count(); withdrawn+held != placements {
			return fmt.Errorf("%d withdrawn and %d held", withdrawn, held)
		}
		return nil
	})
	_, withdrawn, _ := count()
	require.Equal(t, 2, withdrawn, "22 of 88 objects are 25 %, 33 would be 37 %")

	for i := range placements {
		release, _, _ := h.releases.Get(name(i))
		if len(release.Held) == 0 {
			continue
		}
		h.put(t, subjects.Approvals.Key(guard.ApprovalOfMember("berlin")), api.WithdrawalApproval{
			Losses: []api.HeldLoss{{Placement: name(i), UID: name(i), Member: "berlin", Loss: release.Held[0].Loss}},
		})
		break
	}
	bustest.Eventually(t, func() error {
		if _, withdrawn, held := count(); withdrawn != 3 || held != placements-3 {
			return fmt.Errorf("%d withdrawn and %d held", withdrawn, held)
		}
		return nil
	})
}

// What a placement takes by and by counts once with it, and once with others.
func TestWhatAPlacementTakesByAndBy(t *testing.T) {
	h := start(t, "berlin")
	cut := func(index int64, objects int) {
		s := api.Snapshot{Placement: "web", UID: "u1", Index: index, Work: fmt.Sprint("work-", index)}
		for n := range objects {
			s.Manifests = append(s.Manifests, api.Manifest{ObjectRef: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: fmt.Sprint(n)}})
		}
		h.put(t, subjects.Snapshots.Key(subjects.SnapshotName("web", index)), s)
	}
	h.placement(t, "u1", `{"spec":{}}`, false)
	cut(1, 12)
	h.schedule(t, "u1", "berlin")
	h.eventually(t, "berlin:1")
	for index, objects := range []int{6, 5} {
		h.answer(t, "berlin")
		cut(int64(index+2), objects)
		h.eventually(t, fmt.Sprint("berlin:", index+2))
	}
	h.answer(t, "berlin")
	cut(4, 0)
	release := h.eventually(t, "berlin:3")
	bustest.Eventually(t, func() error {
		if release, _, _ = h.releases.Get("web"); len(release.Held) == 0 {
			return fmt.Errorf("nothing is held of %+v", release)
		}
		return nil
	})
	require.Contains(t, release.Held[0].Reason, "berlin would lose 12 of 12 objects", "7 before, 5 now")
}
