package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/sim"
	"flotilla/core/verdict"
)

func bound(member string) schedule.Existing {
	return schedule.Existing{Member: member, State: api.BindingBound}
}

func scored(e schedule.Existing, affinity, spread int32) schedule.Existing {
	e.AffinityScore, e.SpreadScore = &affinity, &spread
	return e
}

func under(policy string, e schedule.Existing) schedule.Existing {
	e.Policy = policy
	return e
}

func in(state api.BindingState, e schedule.Existing) schedule.Existing {
	e.State = state
	return e
}

// Scheduled bindings go before Bound ones, then by the scores of their pick, spread first, then by
// name; those without scores go first.
func TestScaleInOrder(t *testing.T) {
	input := input(pickN(0), member("a"), member("b"), member("c"), member("d"), member("e"), member("f"))
	input.Existing = []schedule.Existing{
		scored(bound("a"), 5, 1), scored(bound("b"), 9, 0), scored(bound("c"), 9, 0), bound("d"),
		scored(in(api.BindingScheduled, bound("e")), 99, 9), scored(bound("f"), -3, 1),
	}
	order := []string{"e", "d", "b", "c", "f", "a"}
	for n := range order {
		keep := int32(len(order) - n)
		input.Policy = pickN(keep)
		plan := schedule.Schedule(input)
		var gone []string
		for _, r := range plan.Removed {
			gone = append(gone, r.Member)
		}
		require.ElementsMatch(t, order[:n], gone, "scaled in to %d", keep)
		require.True(t, plan.Fulfilled)
	}
}

func TestScaleInSaysWhy(t *testing.T) {
	input := input(pickN(1), member("a"), member("b"))
	input.Existing = []schedule.Existing{bound("a"), bound("b")}
	plan := schedule.Schedule(input)
	require.Equal(t, []schedule.Removal{{Member: "a", Reason: "scaled in to 1: it scored lowest of the 2 members in use"}}, plan.Removed)
	v, _ := plan.Verdicts.Of("a")
	require.Equal(t, verdict.FilterRank, v.Filter)
}

// A binding keeps its place and its scores whatever becomes of its member, and its verdict says what a
// new pick would meet.
func TestKeptBindingsAreNotJudgedAnew(t *testing.T) {
	for _, p := range []*api.Policy{pickAll(labelTerm("env", "prod")), pickN(1, required(labelTerm("env", "prod")))} {
		input := input(p, member("a", label("env", "dev")), member("b", label("env", "prod")))
		input.Existing = []schedule.Existing{scored(bound("a"), 4, 1)}
		plan := schedule.Schedule(input)
		require.Contains(t, scores(plan.Bindings), "a")
		require.Equal(t, [2]int32{4, 1}, scores(plan.Bindings)["a"])
		v, _ := plan.Verdicts.Of("a")
		require.True(t, v.Picked)
		require.Empty(t, v.Filter)
		require.Equal(t, `Successfully scheduled resources for placement in "a" (affinity score: 4, topology spread score: 1): picked by scheduling policy; `+
			`it keeps its place, a new pick would be refused: cluster does not match with any of the required cluster affinity terms: env is "dev", wanted "prod"`, v.Reason)
		require.Equal(t, api.PickedReason("a", plan.Bindings[0].AffinityScore, plan.Bindings[0].SpreadScore), plan.Schedule(input).Bindings[0].Reason,
			"the record does not change with the member")
	}
}

// A changed policy judges everybody anew: PickAll drops who does not fit any more, PickN prefers those
// in use on equal scores.
func TestPolicyChange(t *testing.T) {
	input := input(pickAll(labelTerm("env", "prod")), member("a", label("env", "prod")), member("b", label("env", "dev")))
	input.Existing = []schedule.Existing{under("older", bound("a")), under("older", bound("b"))}
	plan := schedule.Schedule(input)
	require.Equal(t, []string{"a"}, names(plan.Bindings))
	require.Empty(t, input.PolicyDigest)
	require.Equal(t, schedule.PolicyDigest(input.Policy), plan.Bindings[0].Policy)
	require.Equal(t, []schedule.Removal{{Member: "b", Reason: `no longer picked: ClusterUnschedulable, cluster does not match with any of the ` +
		`required cluster affinity terms: env is "dev", wanted "prod"`}}, plan.Removed)

	input.Policy = pickN(1)
	require.Equal(t, []string{"b"}, names(schedule.Schedule(input).Bindings), "both were in use, the later name goes first")
	input.Existing = input.Existing[:1]
	require.Equal(t, []string{"a"}, names(schedule.Schedule(input).Bindings), "in use goes before the name")
	input.Policy = pickN(1, prefer(1, labelTerm("env", "dev")))
	require.Equal(t, []string{"b"}, names(schedule.Schedule(input).Bindings), "a score goes before use")
}

func TestGoneMembersLoseTheirBindings(t *testing.T) {
	for _, p := range []*api.Policy{nil, pickN(2), {PlacementType: api.PickFixed, ClusterNames: []string{"a", "gone", "left"}}} {
		input := input(p, member("a"), member("left", func(m *api.Member) { m.Leaving = true }))
		input.Existing = []schedule.Existing{bound("left"), bound("gone"), bound("a")}
		plan := schedule.Schedule(input)
		require.Equal(t, []string{"a"}, names(plan.Bindings))
		require.Equal(t, []schedule.Removal{
			{Member: "gone", Reason: "is no longer a member of the fleet"}, {Member: "left", Reason: "has left the fleet"},
		}, plan.Removed)
	}
}

func TestDeletingRemovesEverything(t *testing.T) {
	input := input(pickN(2), member("a"), member("b"))
	input.Existing, input.Deleting = []schedule.Existing{bound("a"), in(api.BindingUnscheduled, bound("b"))}, true
	plan := schedule.Schedule(input)
	require.Empty(t, plan.Bindings)
	require.Equal(t, []schedule.Removal{{Member: "a", Reason: "the placement is being deleted"}}, plan.Removed)
	require.Zero(t, plan.Verdicts.Len())
}

// An evicted member is not picked again under the policy, unless nothing else fits and that is allowed
// (D8).
func TestEviction(t *testing.T) {
	tainted := member("c")
	tainted.Taints = []api.Taint{{Key: "gpu", Effect: "NoSchedule"}}
	members := []api.Member{member("a"), member("b"), tainted}
	for _, p := range []*api.Policy{pickN(1), nil} {
		input := input(p, members...)
		input.Existing, input.Evicted = []schedule.Existing{bound("b")}, []string{"b"}
		plan := schedule.Schedule(input)
		require.Equal(t, []string{"a"}, names(plan.Bindings))
		require.Equal(t, []schedule.Removal{{Member: "b", Reason: "was evicted"}}, plan.Removed)
		require.Equal(t, map[string]string{"b": "placed: ClusterUnschedulable, cluster was evicted from this placement under this policy, " +
			`wanted another policy, or annotation flotilla.io/allow-evicted: "true"`, "c": "taint: ClusterUnschedulable, taint gpu:NoSchedule cannot be tolerated"}, reasons(&plan))
		require.Equal(t, []string{"b"}, plan.Schedule(input).Evicted)

		input.AllowEvicted = true
		require.Equal(t, []string{"a"}, names(schedule.Schedule(input).Bindings), "something else fits")
		input.Fleet.Remove("a")
		require.Empty(t, schedule.Schedule(input).Bindings, "it is to give the placement up first")
		input.Existing = []schedule.Existing{{Member: "b", State: api.BindingUnscheduled}}
		require.Empty(t, schedule.Schedule(input).Bindings)
		input.Existing = nil
		plan = schedule.Schedule(input)
		require.Equal(t, []string{"b"}, names(plan.Bindings))
		require.Empty(t, plan.Schedule(input).Evicted, "it is picked as any other")
		input.AllowEvicted = false
		require.Empty(t, schedule.Schedule(input).Bindings)
	}
}

// A drained member loses its binding, and no toleration lets anything onto a member while it is drained.
func TestDrain(t *testing.T) {
	drained := member("b")
	drained.Taints = []api.Taint{{Key: api.TaintCordoned, Value: api.TaintDrain, Effect: api.EffectNoSchedule}}
	for _, kind := range []api.PlacementType{api.PickAll, api.PickN} {
		policy := &api.Policy{PlacementType: kind, Tolerations: []api.Toleration{{Operator: api.TolerationExists}}}
		if kind == api.PickN {
			policy.NumberOfClusters = new(int32(2))
		}
		input := input(policy, member("a"), drained)
		input.Existing = []schedule.Existing{bound("b")}
		require.Equal(t, []string{"a", "b"}, names(schedule.Schedule(input).Bindings), "a taint evicts nobody")
		input.Drained = []string{"b"}
		plan := schedule.Schedule(input)
		require.Equal(t, []string{"a"}, names(plan.Bindings))
		require.Equal(t, []schedule.Removal{{Member: "b", Reason: "was drained"}}, plan.Removed)
		require.Equal(t, map[string]string{"b": "taint: ClusterUnschedulable, taint flotilla.io/cordoned=drain:NoSchedule cannot be tolerated"}, reasons(&plan))
		require.Equal(t, []string{"b"}, plan.Schedule(input).Drained)
	}
}

// A silent member is replaced after failover-after, where somebody else fits, and the plan says when
// to look again.
func TestFailover(t *testing.T) {
	silentFor := func(d time.Duration) func(*api.Member) {
		return func(m *api.Member) { m.LastHeartbeat = sim.Now.Add(-d) }
	}
	decide := func(silent time.Duration, others ...api.Member) schedule.Plan {
		input := input(pickN(1), append(others, member("silent", silentFor(silent)))...)
		input.Existing, input.FailoverAfter = []schedule.Existing{bound("silent")}, 10*time.Minute
		return schedule.Schedule(input)
	}
	plan := decide(15*time.Minute, member("a"))
	require.Equal(t, []string{"silent"}, names(plan.Bindings))
	require.Equal(t, sim.Now.Add(time.Nanosecond), plan.Recheck)

	plan = decide(15*time.Minute+1, member("a"))
	require.Equal(t, []string{"a"}, names(plan.Bindings))
	require.Equal(t, []schedule.Removal{{Member: "silent", Reason: "sent no heartbeat for 15.00 minutes, failover is after 15.00"}}, plan.Removed)

	plan = decide(time.Hour, member("tainted", taint(api.Taint{Key: "gpu", Effect: api.EffectNoSchedule})))
	require.Equal(t, []string{"silent"}, names(plan.Bindings), "nothing else fits")
	require.Empty(t, plan.Removed)
	require.True(t, plan.Fulfilled)
}

// Failover replaces, so it is of PickN alone: the other types have nobody to put in the place of a
// silent member (D24).
func TestFailoverIsOfPickNAlone(t *testing.T) {
	silent := member("silent", func(m *api.Member) { m.LastHeartbeat = sim.Now.Add(-time.Hour) })
	for name, policy := range map[string]*api.Policy{
		"no policy": nil, "PickAll": pickAll(), "PickFixed": {PlacementType: api.PickFixed, ClusterNames: []string{"silent", "a"}},
	} {
		in := input(policy, silent, member("a"))
		in.Existing, in.FailoverAfter = []schedule.Existing{bound("silent")}, 10*time.Minute
		plan := schedule.Schedule(in)
		require.Equal(t, []string{"a", "silent"}, names(plan.Bindings), name)
		require.Empty(t, plan.Removed, name)
	}
}

// A silent member that a smaller number has no room for is scaled in, whoever is silent besides.
func TestScaleInOfASilentMember(t *testing.T) {
	silent := func(m *api.Member) { m.LastHeartbeat = sim.Now.Add(-time.Hour) }
	in := input(pickN(2), member("a"), member("b"), member("c", silent), member("d", silent))
	in.Existing = []schedule.Existing{bound("a"), bound("c"), bound("d")}
	in.FailoverAfter = 10 * time.Minute
	plan := schedule.Schedule(in)
	require.Equal(t, []string{"a", "b"}, names(plan.Bindings))
	require.Equal(t, []schedule.Removal{
		{Member: "c", Reason: "scaled in to 2: it sent no heartbeat for 60.00 minutes"},
		{Member: "d", Reason: "sent no heartbeat for 60.00 minutes, failover is after 15.00"},
	}, plan.Removed)
}

// Time alone replaces members that were picked just now as well, and takes the members of a list out of
// contact: the plan asks to be made again at that moment.
func TestPlanAsksAgainWhenAMemberFallsSilent(t *testing.T) {
	beat := func(ago time.Duration) func(*api.Member) {
		return func(m *api.Member) { m.LastHeartbeat = sim.Now.Add(-ago) }
	}
	in := input(pickN(1), member("a", beat(time.Minute)))
	in.FailoverAfter = 10 * time.Minute
	require.Equal(t, sim.Now.Add(14*time.Minute+1), schedule.Schedule(in).Recheck)

	in = input(&api.Policy{PlacementType: api.PickFixed, ClusterNames: []string{"a", "b"}}, member("a", beat(time.Minute)), member("b", beat(2*time.Minute)))
	plan := schedule.Schedule(in)
	require.Equal(t, sim.Now.Add(3*time.Minute+1), plan.Recheck)
	in.Existing, in.Now = existingOf(&plan), plan.Recheck
	plan = schedule.Schedule(in)
	require.False(t, plan.Bindings[0].Waiting)
	require.True(t, plan.Bindings[1].Waiting)
}

func TestPickFixed(t *testing.T) {
	p := &api.Policy{PlacementType: api.PickFixed, ClusterNames: []string{"c", "nobody", "offline", "kept", "a", "a"}}
	offline := func(m *api.Member) { m.HasAgent = false }
	input := input(p, member("a", taint(api.Taint{Key: "gpu", Effect: api.EffectNoSchedule})), member("b"), member("c"),
		member("offline", offline), member("kept", offline), member("dropped", offline))
	input.Existing = []schedule.Existing{under("older", bound("kept")), under("older", bound("dropped")), in(api.BindingUnscheduled, bound("offline"))}
	plan := schedule.Schedule(input)
	require.Equal(t, []string{"a", "c", "kept"}, names(plan.Bindings))
	require.Nil(t, plan.Bindings[0].AffinityScore)
	require.True(t, plan.Bindings[2].Waiting, "kept is listed, offline, and still holds the workload (D3)")
	require.False(t, plan.Fulfilled)
	require.Equal(t, int32(5), *plan.Verdicts.Want)
	require.Equal(t, "could not find all clusters needed as specified by the scheduling policy, found 2 cluster(s) instead of 5", plan.Message)
	const notOnline = "is not eligible for resource placement yet: cluster is not connected to the fleet: member agent not online yet"
	require.Equal(t, map[string]string{
		"b":       "affinity: ClusterUnschedulable, cluster is not named in clusterNames",
		"dropped": "affinity: ClusterUnschedulable, cluster is not named in clusterNames",
		"kept":    `eligibility: Cluster "kept" ` + notOnline + "; it keeps the workload it has until it is eligible again or no longer named",
		"nobody":  `notFound: Specified cluster "nobody" is not found`,
		"offline": `eligibility: Cluster "offline" ` + notOnline,
	}, reasons(&plan))
	kept, _ := plan.Verdicts.Of("kept")
	require.True(t, kept.Keeps)
	require.False(t, kept.Picked, "D22")
	require.Equal(t, []schedule.Removal{{Member: "dropped", Reason: "no longer picked: ClusterUnschedulable, cluster is not named in clusterNames"}}, plan.Removed)
	require.Equal(t, []string{"kept", "nobody", "offline"}, []string{plan.Unpicked[0].Member, plan.Unpicked[1].Member, plan.Unpicked[2].Member})
	require.Equal(t, `Successfully scheduled resources for placement in "a": picked by scheduling policy`, plan.Schedule(input).Bindings[0].Reason)
	require.Equal(t, kept.Reason, plan.Schedule(input).Bindings[2].Reason)
}

// numberOfClusters alone scales, everything else makes bindings obsolete; what means the same is the same.
func TestPolicyDigest(t *testing.T) {
	base := pickN(3, spread("zone", 1, api.DoNotSchedule), required(propertyTerm(api.PropertyNodeCount, api.OpGe, "5")))
	digest := schedule.PolicyDigest(base)
	require.Len(t, digest, 32)
	same := map[string]*api.Policy{
		"number":            pickN(7, spread("zone", 1, api.DoNotSchedule), required(propertyTerm(api.PropertyNodeCount, api.OpGe, "5"))),
		"default of spread": pickN(3, spread("zone", 1, ""), required(propertyTerm(api.PropertyNodeCount, api.OpGe, "5"))),
		"spelling":          pickN(3, spread("zone", 1, ""), required(propertyTerm(api.PropertyNodeCountAKS, api.OpGe, "5"))),
	}
	same["default of skew"] = pickN(3, spread("zone", 1, ""), required(propertyTerm(api.PropertyNodeCount, api.OpGe, "5")))
	same["default of skew"].TopologySpreadConstraints[0].MaxSkew = nil
	for name, p := range same {
		require.Equal(t, digest, schedule.PolicyDigest(p), name)
	}
	for name, p := range map[string]*api.Policy{
		"skew":       pickN(3, spread("zone", 2, ""), required(propertyTerm(api.PropertyNodeCount, api.OpGe, "5"))),
		"value":      pickN(3, spread("zone", 1, ""), required(propertyTerm(api.PropertyNodeCount, api.OpGe, "6"))),
		"type":       pickAll(propertyTerm(api.PropertyNodeCount, api.OpGe, "5")),
		"toleration": pickN(3, spread("zone", 1, ""), required(propertyTerm(api.PropertyNodeCount, api.OpGe, "5")), func(p *api.Policy) { p.Tolerations = []api.Toleration{{Key: "gpu"}} }),
	} {
		require.NotEqual(t, digest, schedule.PolicyDigest(p), name)
	}
	require.Equal(t, schedule.PolicyDigest(nil), schedule.PolicyDigest(&api.Policy{PlacementType: api.PickAll}))
	require.Equal(t, schedule.PolicyDigest(nil), schedule.PolicyDigest(&api.Policy{}))
}
