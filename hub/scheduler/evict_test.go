package scheduler_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/verdict"
	"flotilla/hub/scheduler"
	"flotilla/subjects"
)

// spec writes a document of a kind as the door would.
func (h *house) spec(t *testing.T, family subjects.Family, kind, name, uid string, value any) {
	t.Helper()
	body, err := json.Marshal(value)
	require.NoError(t, err)
	put(t, h, store.TableOf[api.Spec](h.store.State, family), name, &api.Spec{
		Header: api.NewHeader(api.KindSpec), UID: uid, Generation: 1, Body: body,
		Object: api.ObjectRef{APIVersion: api.GroupPlacement + "/v1beta1", Kind: kind, Name: name},
	})
}

func (h *house) evict(t *testing.T, name, uid, placement, member string) {
	t.Helper()
	h.spec(t, subjects.EvictionSpecs, api.KindEviction, name, uid, &api.ClusterResourcePlacementEviction{
		Spec: api.PlacementEvictionSpec{PlacementName: placement, ClusterName: member},
	})
}

func (h *house) budget(t *testing.T, placement string, minAvailable int) {
	t.Helper()
	h.spec(t, subjects.BudgetSpecs, api.KindDisruptionBudget, placement, "b1", &api.ClusterResourcePlacementDisruptionBudget{
		Spec: api.PlacementDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt(minAvailable))},
	})
}

// outcome waits until it is written what became of the eviction of a uid: a line a condition.
func (h *house) outcome(t *testing.T, name, uid string) (lines []string) {
	t.Helper()
	outcomes := store.TableOf[api.EvictionRecord](h.store.State, subjects.Evictions)
	bustest.Eventually(t, func() error {
		outcome, _, found := outcomes.Get(name)
		if !found || outcome.UID != uid {
			return fmt.Errorf("nothing became of eviction %s yet", name)
		}
		lines = nil
		for _, c := range outcome.Conditions {
			lines = append(lines, fmt.Sprintf("%s %s: %s", c.Type, c.Status, c.Message))
		}
		return nil
	})
	return lines
}

// release writes what the roller would: the placement runs on members, and works there.
func (h *house) release(t *testing.T, placement, uid string, members ...string) {
	t.Helper()
	release := &api.Release{Header: api.NewHeader(api.KindRelease), Placement: placement, Step: 1}
	for _, member := range members {
		release.Entries = append(release.Entries, api.ReleaseEntry{Member: member, UID: uid, Generation: 1, Snapshot: 1, Work: "w"})
	}
	put(t, h, h.releases, placement, release)
	for _, member := range members {
		h.report(t, placement, uid, member, "True")
	}
}

// report has the agent of a member say how a placement does there, and waits until the hub heard of it.
func (h *house) report(t *testing.T, placement, uid, name, available string) {
	t.Helper()
	agent := h.server.Agent(t, name)
	defer agent.Close()
	require.NoError(t, agent.PutResult(bustest.Context(t), subjects.CommandPlacement, placement, api.PlacementResult{
		Header: api.NewHeader(api.KindPlacementResult), Member: name, Placement: placement, UID: uid, Generation: 1, Applied: "True", Available: available,
	}))
	bustest.Eventually(t, func() error {
		entry, _ := h.store.Results.Get(subjects.ResultKey(name, subjects.CommandPlacement, placement))
		if found, err := watch.Decode[api.PlacementResult](entry); err != nil || found.Available != available {
			return fmt.Errorf("heard of %q (%w), wanted %q", found.Available, err, available)
		}
		return nil
	})
}

// An eviction takes a binding away once, and the member is not picked again; a new one by the same name is a new request, and
// what became of one goes when it is deleted.
func TestAnEvictionIsCarriedOutOnce(t *testing.T) {
	h := start(t, scheduler.Options{})
	h.join(t, "a", nil, nil)
	h.join(t, "b", nil, nil)
	h.place(t, "web", "u1", 1, withPolicy(pickN(1)))
	h.eventually(t, "web", "b")
	h.release(t, "web", "u1", "b")
	h.evict(t, "off-b", "e1", "web", "b")
	require.Equal(t, []string{"b"}, h.eventually(t, "web", "a").Evicted)
	require.Equal(t, []string{"Valid True: Eviction is valid", "Executed True: Eviction is allowed, no ClusterResourcePlacementDisruptionBudget specified"}, h.outcome(t, "off-b", "e1"))
	h.judged(t, "web", "b", verdict.FilterPlaced, "evicted")

	h.stop()
	h.run(t, scheduler.Options{})
	h.release(t, "web", "u1", "a")
	before := h.settled(t, "web")
	h.evict(t, "off-b", "e1", "web", "b")
	require.Equal(t, before, h.settled(t, "web"), "it was carried out")
	h.evict(t, "off-b", "e2", "web", "b")
	require.Equal(t, []string{"Valid False: Failed to find scheduler decision for placement in cluster targeted by eviction"}, h.outcome(t, "off-b", "e2"))
	h.evict(t, "unknown", "e3", "nothing", "b")
	require.Equal(t, []string{"Valid False: Failed to find ClusterResourcePlacement targeted by eviction"}, h.outcome(t, "unknown", "e3"))

	put(t, h, store.TableOf[api.Spec](h.store.State, subjects.EvictionSpecs), "off-b", nil)
	bustest.Eventually(t, func() error {
		if h.store.State.Revision(subjects.Evictions.Key("off-b")) != 0 {
			return fmt.Errorf("what became of an eviction that is gone is still there")
		}
		return nil
	})
}

// A member that is drained loses what a budget lets go, when it does; nothing is placed there while it is, and PickAll comes
// back after. What names the member stays.
func TestADrainedMemberIsEmptiedWithinBudgets(t *testing.T) {
	h := start(t, scheduler.Options{})
	for _, name := range []string{"a", "b", "c"} {
		h.join(t, name, nil, nil)
	}
	h.place(t, "all", "u1", 1, withPolicy(&api.Policy{PlacementType: api.PickAll, Tolerations: []api.Toleration{{Operator: api.TolerationExists}}}))
	h.place(t, "fixed", "u2", 1, withPolicy(&api.Policy{PlacementType: api.PickFixed, ClusterNames: []string{"a"}}))
	h.place(t, "one", "u3", 1, withPolicy(pickN(1)))
	h.eventually(t, "all", "a", "b", "c")
	h.eventually(t, "fixed", "a")
	h.eventually(t, "one", "c")
	h.release(t, "all", "u1", "a", "b", "c")
	h.release(t, "fixed", "u2", "a")
	h.release(t, "one", "u3", "c")
	h.budget(t, "all", 2)
	h.report(t, "all", "u1", "b", "Unknown")

	drain := func(names ...string) {
		for _, name := range names {
			spec := memberSpec(name, nil)
			spec.Body = json.RawMessage(`{"spec":{"taints":[{"key":"flotilla.io/cordoned","value":"drain","effect":"NoSchedule"}]}}`)
			put(t, h, h.members, name, spec)
		}
	}
	drain("a")
	h.judged(t, "one", "a", verdict.FilterTaint, "flotilla.io/cordoned")
	h.settled(t, "all")
	h.eventually(t, "all", "a", "b", "c")
	h.report(t, "all", "u1", "b", "True")
	require.Equal(t, []string{"a"}, h.eventually(t, "all", "b", "c").Drained, "as soon as the budget lets it")
	h.eventually(t, "fixed", "a")

	drain("b", "c")
	h.eventually(t, "one")
	h.eventually(t, "all", "b", "c")
	h.budget(t, "all", 0)
	require.Equal(t, []string{"a", "b", "c"}, h.eventually(t, "all").Drained)
	put(t, h, h.members, "a", memberSpec("a", nil))
	require.Equal(t, []string{"b", "c"}, h.eventually(t, "all", "a").Drained)
	h.eventually(t, "one", "a")

	// A budget that cannot be read lets nothing go, and holds up nothing else.
	h.spec(t, subjects.BudgetSpecs, api.KindDisruptionBudget, "all", "b1", map[string]any{"spec": 7})
	drain("a")
	h.join(t, "d", nil, nil)
	require.Equal(t, []string{"b", "c"}, h.eventually(t, "all", "a", "d").Drained)
	h.budget(t, "all", 0)
	require.Equal(t, []string{"a", "b", "c"}, h.eventually(t, "all", "d").Drained)
}

// Where it is allowed, and nothing else fits, an evicted member is picked again once it gave the placement up.
func TestAnEvictedMemberThatMayComeBackGivesThePlacementUpFirst(t *testing.T) {
	h := start(t, scheduler.Options{})
	h.join(t, "a", nil, nil)
	p := withPolicy(pickN(1))
	p.Annotations = map[string]string{api.AnnotationAllowEvicted: "true"}
	h.place(t, "web", "u1", 1, p)
	h.eventually(t, "web", "a")
	h.release(t, "web", "u1", "a")
	h.evict(t, "off-a", "e1", "web", "a")
	require.Equal(t, []string{"a"}, h.eventually(t, "web").Evicted)
	put(t, h, h.releases, "web", &api.Release{Header: api.NewHeader(api.KindRelease), Placement: "web", Step: 2})
	require.Empty(t, h.eventually(t, "web", "a").Evicted)
}
