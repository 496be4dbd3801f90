package scheduler_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/verdict"
	"flotilla/hub/scheduler"
	"flotilla/tests/elsewhen"
)

func TestPickAllFollowsTheFleet(t *testing.T) {
	h := start(t, scheduler.Options{})
	h.join(t, "berlin", nil, nil)
	h.place(t, "web", "u1", 1, withPolicy(nil))
	first := h.eventually(t, "web", "berlin")
	require.Equal(t, "u1", first.UID)
	require.Equal(t, int64(1), first.Generation)
	require.Equal(t, schedule.PolicyDigest(nil), first.Policy)
	require.True(t, first.Fulfilled)
	require.Equal(t, api.PickedReason("berlin", new(int32), new(int32)), first.Bindings[0].Reason)

	h.join(t, "paris", nil, nil)
	h.eventually(t, "web", "berlin", "paris")

	put(t, h, h.members, "berlin", memberSpec("berlin", &metav1.Time{Time: elsewhen.Now()}))
	h.eventually(t, "web", "paris")
	h.judged(t, "web", "berlin", verdict.FilterEligibility, "cluster has left the fleet")

	put(t, h, h.members, "berlin", nil)
	bustest.Eventually(t, func() error {
		if verdicts, _, _ := h.verdicts.Get("web"); verdicts.Len() != 1 {
			return fmt.Errorf("%d verdicts, wanted one", verdicts.Len())
		}
		return nil
	})
	h.told(t, "web", "MemberPicked", "MemberPicked", "MemberRemoved")
}

// told waits until the audit stream holds exactly these reasons about a placement.
func (h *house) told(t *testing.T, placement string, want ...string) {
	t.Helper()
	client := h.server.Inspector(t)
	bustest.Eventually(t, func() error {
		events, err := streams.ReadAudit(bustest.Context(t), client, streams.AuditQuery{Object: "placement/" + placement})
		var reasons []string
		for _, e := range events {
			reasons = append(reasons, e.Reason)
		}
		if err != nil || !slices.Equal(reasons, want) {
			return fmt.Errorf("events %v (%w), wanted %v", reasons, err, want)
		}
		return nil
	})
}

// The event of a member that is picked no longer names it and says why.
func TestARemovalSaysWhy(t *testing.T) {
	h := start(t, scheduler.Options{})
	h.join(t, "berlin", nil, nil)
	h.place(t, "web", "u1", 1, withPolicy(nil))
	h.eventually(t, "web", "berlin")
	h.place(t, "web", "u1", 2, api.Placement{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: elsewhen.Now()}}})
	h.eventually(t, "web")
	h.told(t, "web", "MemberPicked", "MemberRemoved")
	events, err := streams.ReadAudit(bustest.Context(t), h.server.Inspector(t), streams.AuditQuery{Object: "placement/web"})
	require.NoError(t, err)
	require.Equal(t, "berlin: the placement is being deleted", events[1].Message)
	require.Equal(t, "berlin", events[1].Member)
}

func TestPickNScalesAndIsFilledUp(t *testing.T) {
	h := start(t, scheduler.Options{Pause: 50 * time.Millisecond})
	h.join(t, "a", nil, nil)
	h.place(t, "web", "u1", 1, withPolicy(pickN(2)))
	first := h.eventually(t, "web", "a")
	require.False(t, first.Fulfilled)
	require.Equal(t, int32(2), *first.Want)

	h.join(t, "b", nil, nil)
	second := h.eventually(t, "web", "a", "b")
	require.True(t, second.Fulfilled)
	require.Equal(t, first.Bindings[0], second.Bindings[0], "who was there has not changed")

	h.join(t, "c", nil, nil)
	h.judged(t, "web", "c", verdict.FilterRank, "does not score high enough")
	h.place(t, "web", "u1", 2, withPolicy(pickN(3)))
	h.eventually(t, "web", "a", "b", "c")
	h.place(t, "web", "u1", 3, withPolicy(pickN(1)))
	h.eventually(t, "web", "c")
	h.told(t, "web", "MemberPicked", "SchedulingPolicyUnfulfilled", "MemberPicked", "SchedulingPolicyFulfilled",
		"MemberPicked", "MembersChanged")
}

// A label that people take away, and that the agent still states, is the same label and counts otherwise (D32).
func TestALabelThatOnlyTheAgentStatesFromNowOnIsDecidedAnew(t *testing.T) {
	h := start(t, scheduler.Options{})
	sick := func(r *api.MemberRecord) { r.Healthy = "False" }
	h.join(t, "down", map[string]string{"zone": "b"}, sick)
	written := memberSpec("down", nil)
	written.Body = json.RawMessage(`{"metadata": {"labels": {"zone": "b"}}}`)
	put(t, h, h.members, "down", written)
	for _, name := range []string{"a1", "a2"} {
		h.join(t, name, map[string]string{"zone": "a"}, nil)
	}
	policy := pickN(2)
	policy.TopologySpreadConstraints = []api.TopologySpreadConstraint{{TopologyKey: "zone"}}
	h.place(t, "web", "u1", 1, withPolicy(policy))
	h.eventually(t, "web", "a2")
	put(t, h, h.members, "down", memberSpec("down", nil))
	h.eventually(t, "web", "a1", "a2")
}

func TestScaleInTakesUnreleasedFirst(t *testing.T) {
	h := start(t, scheduler.Options{})
	for _, name := range []string{"a", "b", "c"} {
		h.join(t, name, nil, nil)
	}
	h.place(t, "web", "u1", 1, withPolicy(pickN(3)))
	h.eventually(t, "web", "a", "b", "c")
	put(t, h, h.releases, "web", &api.Release{
		Header: api.NewHeader(api.KindRelease), Placement: "web",
		Entries: []api.ReleaseEntry{{Member: "a", UID: "u1"}, {Member: "b", UID: "u1"}},
	})
	h.place(t, "web", "u1", 2, withPolicy(pickN(2)))
	h.eventually(t, "web", "a", "b")
}

func TestNothingChangedNothingWritten(t *testing.T) {
	h := start(t, scheduler.Options{Pause: time.Millisecond})
	h.join(t, "a", nil, nil)
	h.join(t, "silent", nil, func(m *api.MemberRecord) {
		m.State, m.LastSeen = api.MemberUnknown, metav1.NewTime(elsewhen.Now().Add(-time.Hour))
	})
	h.place(t, "web", "u1", 1, withPolicy(pickN(2)))
	h.eventually(t, "web", "a")
	h.judged(t, "web", "silent", verdict.FilterEligibility, "no recent heartbeat")
	before := h.settled(t, "web")

	h.join(t, "a", nil, func(m *api.MemberRecord) { m.Nodes = 17 })
	put(t, h, h.releases, "web", &api.Release{Header: api.NewHeader(api.KindRelease), Placement: "web"})
	h.place(t, "web", "u1", 1, withPolicy(pickN(2)))
	require.Equal(t, before, h.settled(t, "web"))
}

func TestRestartDecidesTheSame(t *testing.T) {
	h := start(t, scheduler.Options{})
	for i := range 20 {
		h.join(t, fmt.Sprintf("m%02d", i), map[string]string{"region": fmt.Sprint(i % 3)}, nil)
	}
	p := pickN(5)
	p.TopologySpreadConstraints = []api.TopologySpreadConstraint{{TopologyKey: "region"}}
	h.place(t, "web", "u1", 1, withPolicy(p))
	bustest.Eventually(t, func() error {
		if current, _, _ := h.schedules.Get("web"); len(current.Bindings) != 5 {
			return fmt.Errorf("%d bindings", len(current.Bindings))
		}
		return nil
	})
	before := h.settled(t, "web")
	h.stop()
	h.run(t, scheduler.Options{})
	require.Equal(t, before[0], h.settled(t, "web")[0])
}

// Properties wake only placements whose policy names them, and those not at every change.
func TestPropertiesWakeThoseWhoNameThem(t *testing.T) {
	h := start(t, scheduler.Options{Pause: time.Hour})
	h.join(t, "a", nil, nil)
	naming := &api.Policy{PlacementType: api.PickAll, Affinity: &api.Affinity{ClusterAffinity: &api.ClusterAffinity{
		Required: &api.ClusterSelector{ClusterSelectorTerms: []api.ClusterSelectorTerm{{
			PropertySelector: &api.PropertySelector{MatchExpressions: []api.PropertyExpression{{
				Name: api.PropertyNodeCountAKS, Operator: api.OpGe, Values: []string{"5"},
			}}},
		}}},
	}}}
	h.place(t, "big", "u1", 1, withPolicy(naming))
	h.judged(t, "big", "a", verdict.FilterAffinity, "kubernetes-fleet.io/node-count is 3, wanted >= 5")

	nodes := func(n string) func(*api.MemberRecord) {
		return func(m *api.MemberRecord) { m.Properties = map[string]string{api.PropertyNodeCount: n} }
	}
	h.join(t, "a", nil, nodes("4"))
	h.judged(t, "big", "a", verdict.FilterAffinity, "is 4, wanted >= 5")
	h.settled(t, "big") // what the hub wrote itself has woken whom it wakes
	h.join(t, "a", nil, nodes("5"))
	h.settled(t, "big")
	h.judged(t, "big", "a", verdict.FilterAffinity, "is 4, wanted >= 5")

	h.place(t, "big", "u1", 2, withPolicy(naming))
	h.eventually(t, "big", "a")
}

// A decision for another cause takes away the timer that a change of properties started. The change
// after that starts another one.
func TestPropertyChangeAfterAnotherDecisionIsNotLost(t *testing.T) {
	h := start(t, scheduler.Options{Pause: 500 * time.Millisecond})
	nodes := func(n string) func(*api.MemberRecord) {
		return func(m *api.MemberRecord) { m.Properties = map[string]string{api.PropertyNodeCount: n} }
	}
	fiveNodes := &api.Policy{Affinity: &api.Affinity{ClusterAffinity: &api.ClusterAffinity{Required: &api.ClusterSelector{
		ClusterSelectorTerms: []api.ClusterSelectorTerm{{PropertySelector: &api.PropertySelector{
			MatchExpressions: []api.PropertyExpression{{Name: api.PropertyNodeCount, Operator: api.OpGe, Values: []string{"5"}}},
		}}},
	}}}}
	h.join(t, "a", nil, nodes("1"))
	h.place(t, "web", "u1", 1, withPolicy(fiveNodes))
	h.judged(t, "web", "a", verdict.FilterAffinity, "is 1, wanted >= 5")
	h.join(t, "a", nil, nodes("2"))
	h.judged(t, "web", "a", verdict.FilterAffinity, "is 2, wanted >= 5")
	h.join(t, "a", nil, nodes("3"))
	h.place(t, "web", "u1", 2, withPolicy(fiveNodes))
	h.judged(t, "web", "a", verdict.FilterAffinity, "is 3, wanted >= 5")
	h.join(t, "a", nil, nodes("7"))
	h.eventually(t, "web", "a")
}

// Nothing is written between the silence and the moment of failover: the decision itself asked to be made
// again then, by the hub's clock.
func TestFailoverReplacesASilentMember(t *testing.T) {
	now := func() time.Time { return elsewhen.Now().AddDate(-2, 0, 0) }
	h := startAt(t, scheduler.Options{}, now)
	h.join(t, "b", nil, nil)
	h.join(t, "a", nil, nil)
	p := withPolicy(pickN(1))
	p.Annotations = map[string]string{api.AnnotationFailoverAfter: "10m"}
	h.place(t, "web", "u1", 1, p)
	h.eventually(t, "web", "b")
	lastSeen := metav1.NewTime(now().Add(-15*time.Minute + 2*time.Second)).Rfc3339Copy()
	h.join(t, "b", nil, func(m *api.MemberRecord) { m.State, m.LastSeen = api.MemberUnknown, lastSeen })
	h.judged(t, "web", "b", "", "it keeps its place")
	h.eventually(t, "web", "a")
	moment := lastSeen.Add(15 * time.Minute)
	require.Greater(t, now(), moment)
	require.Less(t, now(), moment.Add(10*time.Second))
}

// Whoever may take part in a move is not kept waiting: neither the placement that loses a member, nor
// one that holds on to a silent member for want of another.
func TestMovesDoNotWait(t *testing.T) {
	h := start(t, scheduler.Options{Pause: time.Hour, Thresholds: schedule.Thresholds{Heartbeat: 10 * time.Millisecond}})
	gpu := []api.Taint{{Key: "gpu", Effect: api.EffectNoSchedule}}
	h.join(t, "b", nil, nil)
	h.place(t, "web", "u1", 1, withPolicy(pickN(1)))
	failing := withPolicy(pickN(1))
	failing.Annotations = map[string]string{api.AnnotationFailoverAfter: "1ms"}
	h.place(t, "failing", "u2", 1, failing)
	h.eventually(t, "web", "b")
	h.eventually(t, "failing", "b")
	h.taint(t, "tainted", gpu)
	h.join(t, "b", nil, func(m *api.MemberRecord) {
		m.State, m.LastSeen = api.MemberUnknown, metav1.NewTime(elsewhen.Now().Add(-time.Hour))
	})
	h.judged(t, "failing", "tainted", verdict.FilterTaint, "gpu")
	h.eventually(t, "failing", "b")

	h.join(t, "a", nil, nil)
	h.eventually(t, "failing", "a")
	put(t, h, h.members, "b", memberSpec("b", &metav1.Time{Time: elsewhen.Now()}))
	h.eventually(t, "web", "a")
}

// taint lets a member join that nothing tolerates.
func (h *house) taint(t *testing.T, name string, taints []api.Taint) {
	t.Helper()
	h.join(t, name, nil, nil)
	spec := memberSpec(name, nil)
	body, err := json.Marshal(api.MemberCluster{Spec: api.MemberClusterSpec{Taints: taints}})
	require.NoError(t, err)
	spec.Body = body
	put(t, h, h.members, name, spec)
}

// While there is no room nothing is decided of placements that are new; others go on, and so does the deletion of one that waits. With
// room they are decided.
func TestNewPlacementsWaitForRoom(t *testing.T) {
	var full atomic.Bool
	h := start(t, scheduler.Options{Full: full.Load})
	h.join(t, "a", nil, nil)
	h.place(t, "old", "1", 1, withPolicy(nil))
	h.eventually(t, "old", "a")
	full.Store(true)
	h.place(t, "new", "2", 1, withPolicy(nil))
	gone := metav1.NewTime(elsewhen.Now())
	deleted := withPolicy(nil)
	deleted.DeletionTimestamp = &gone
	h.place(t, "gone", "3", 1, deleted)
	h.join(t, "b", nil, nil)
	h.eventually(t, "old", "a", "b")
	h.eventually(t, "gone")
	_, _, found := h.schedules.Get("new")
	require.False(t, found)
	full.Store(false)
	h.eventually(t, "new", "a", "b")
}

func TestDeletionEmptiesAndForgets(t *testing.T) {
	h := start(t, scheduler.Options{})
	h.join(t, "a", nil, nil)
	h.place(t, "web", "u1", 1, withPolicy(nil))
	h.eventually(t, "web", "a")
	deleting := withPolicy(nil)
	deleting.DeletionTimestamp = &metav1.Time{Time: elsewhen.Now()}
	h.place(t, "web", "u1", 1, deleting)
	h.eventually(t, "web")

	put(t, h, h.placements, "web", nil)
	bustest.Eventually(t, func() error {
		_, _, scheduled := h.schedules.Get("web")
		_, _, judged := h.verdicts.Get("web")
		if scheduled || judged {
			return fmt.Errorf("schedule there: %v, verdicts there: %v", scheduled, judged)
		}
		return nil
	})
}

func TestMadeAgainIsAnotherPlacement(t *testing.T) {
	h := start(t, scheduler.Options{})
	h.join(t, "a", nil, nil)
	h.join(t, "b", nil, nil)
	h.place(t, "web", "u1", 1, withPolicy(pickN(1)))
	h.eventually(t, "web", "b")
	h.join(t, "b", nil, func(m *api.MemberRecord) { m.Healthy = "" })
	h.judged(t, "web", "b", "", "it keeps its place")
	h.place(t, "web", "u2", 1, withPolicy(pickN(1)))
	require.Equal(t, "u2", h.eventually(t, "web", "a").UID, "the bindings of the former one count for nothing")
}

func TestEvictedIsRememberedUntilThePolicyChanges(t *testing.T) {
	h := start(t, scheduler.Options{})
	h.join(t, "a", nil, nil)
	h.join(t, "b", nil, nil)
	h.place(t, "web", "u1", 1, withPolicy(pickN(1)))
	current := h.eventually(t, "web", "b")
	current.Evicted = []string{"b"}
	put(t, h, h.schedules, "web", &current)
	h.place(t, "web", "u1", 2, withPolicy(pickN(1)))
	require.Equal(t, []string{"b"}, h.eventually(t, "web", "a").Evicted)
	h.judged(t, "web", "b", verdict.FilterPlaced, "evicted")

	p := pickN(2)
	p.Tolerations = []api.Toleration{{Key: "gpu", Operator: api.TolerationExists}}
	h.place(t, "web", "u1", 3, withPolicy(p))
	require.Empty(t, h.eventually(t, "web", "a", "b").Evicted)
}

// A member or a placement that cannot be read concerns itself alone (D5), before and after a restart.
func TestBrokenRecordsConcernThemselvesAlone(t *testing.T) {
	h := start(t, scheduler.Options{})
	h.join(t, "a", nil, nil)
	broken := memberSpec("broken", nil)
	broken.Body = json.RawMessage(`{"spec":{"taints":"none"}}`)
	put(t, h, h.members, "broken", broken)
	put(t, h, h.placements, "odd", &api.Spec{Header: api.NewHeader(api.KindSpec), UID: "u9", Body: json.RawMessage(`{"spec":7}`)})
	h.place(t, "web", "u1", 1, withPolicy(nil))
	h.eventually(t, "web", "a")
	h.stop()
	h.run(t, scheduler.Options{})
	h.join(t, "b", nil, nil)
	h.eventually(t, "web", "a", "b")

	h.join(t, "broken", nil, nil)
	h.eventually(t, "web", "a", "b", "broken")
}
