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

// The tests of eligibility in their order; of several that fail the first is told.
func TestEligibility(t *testing.T) {
	const offline = "ClusterUnschedulable, cluster is not connected to the fleet: "
	for name, c := range map[string]struct {
		change func(*api.Member)
		reason string
	}{
		"healthy": {func(*api.Member) {}, ""},
		"leaving goes before all": {
			func(m *api.Member) { *m = api.Member{Name: "m", Leaving: true} },
			"ClusterUnschedulable, cluster has left the fleet",
		},
		"no agent goes before silence": {
			func(m *api.Member) { *m = api.Member{Name: "m"} },
			offline + "member agent not online yet",
		},
		"heartbeat of exactly five minutes": {func(m *api.Member) { m.LastHeartbeat = sim.Now.Add(-5 * time.Minute) }, ""},
		"heartbeat a nanosecond older": {func(m *api.Member) {
			m.LastHeartbeat, m.Joined = sim.Now.Add(-5*time.Minute-1), "False"
		}, offline + "no recent heartbeat signals (last received 5.00 minutes ago), wanted at most 5.00"},
		"heartbeat of the future": {func(m *api.Member) { m.LastHeartbeat = sim.Now.Add(time.Hour) }, ""},
		"never a heartbeat":       {func(m *api.Member) { m.LastHeartbeat = time.Time{} }, offline + "no recent heartbeat signals (last received 21474836.47 minutes ago), wanted at most 5.00"},
		"not joined":              {func(m *api.Member) { m.Joined, m.Healthy = "False", "" }, offline + "member agent not joined yet"},
		"joined absent":           {func(m *api.Member) { m.Joined = "" }, offline + "member agent not joined yet"},
		"health absent":           {func(m *api.Member) { m.Healthy = "" }, offline + "health condition from member agent is not available"},
		"unhealthy of exactly five minutes": {func(m *api.Member) {
			m.Healthy, m.HealthChanged = "False", sim.Now.Add(-5*time.Minute)
		}, ""},
		"unhealthy for longer": {
			func(m *api.Member) { m.Healthy, m.HealthChanged = "Unknown", sim.Now.Add(-450*time.Second) },
			offline + "unhealthy for a prolonged period of time (last transitioned 7.50 minutes ago), wanted at most 5.00",
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := schedule.Schedule(input(nil, member("m", c.change)))
			v, judged := plan.Verdicts.Of("m")
			require.True(t, judged)
			if c.reason == "" {
				require.True(t, v.Picked)
				require.Empty(t, v.Filter)
				return
			}
			require.False(t, v.Picked)
			require.Equal(t, verdict.FilterEligibility, v.Filter)
			require.Equal(t, c.reason, v.Reason)
			require.Nil(t, v.AffinityScore)
		})
	}
}

func TestThresholdsAreInputs(t *testing.T) {
	in := input(nil,
		member("silent", func(m *api.Member) { m.LastHeartbeat = sim.Now.Add(-2 * time.Minute) }),
		member("unwell", func(m *api.Member) { m.Healthy, m.HealthChanged = "False", sim.Now.Add(-2*time.Minute) }))
	in.Thresholds = schedule.Thresholds{Heartbeat: time.Minute, Unhealthy: 90 * time.Second}
	plan := schedule.Schedule(in)
	require.Equal(t, map[string]string{
		"silent": "eligibility: ClusterUnschedulable, cluster is not connected to the fleet: no recent heartbeat signals (last received 2.00 minutes ago), wanted at most 1.00",
		"unwell": "eligibility: ClusterUnschedulable, cluster is not connected to the fleet: unhealthy for a prolonged period of time (last transitioned 2.00 minutes ago), wanted at most 1.50",
	}, reasons(&plan))
	require.True(t, plan.Fulfilled, "PickAll is fulfilled by nobody")
	require.Equal(t, "found all cluster needed as specified by the scheduling policy, found 0 cluster(s)", plan.Message)
}

// Affinity is asked first: who does not match is told so, even when offline.
func TestFiltersStopAtTheFirst(t *testing.T) {
	broken := func(m *api.Member) {
		m.HasAgent, m.NamespaceCondition = false, true
		m.Taints = []api.Taint{{Key: "gpu", Effect: api.EffectNoSchedule}}
	}
	mend := []func(*api.Member){
		label("env", "prod"),
		func(m *api.Member) { m.HasAgent = true },
		func(m *api.Member) { m.NamespacesKnown, m.Namespaces = true, []string{"apps"} },
		func(m *api.Member) { m.Taints = nil },
	}
	changes := []func(*api.Member){broken}
	for i, filter := range []string{verdict.FilterAffinity, verdict.FilterEligibility, verdict.FilterNamespace, verdict.FilterTaint, verdict.FilterPlaced} {
		in := input(pickAll(labelTerm("env", "prod")), member("m", changes...))
		in.Namespace, in.Evicted = "apps", []string{"m"}
		plan := schedule.Schedule(in)
		v, _ := plan.Verdicts.Of("m")
		require.Equal(t, filter, v.Filter, v.Reason)
		if i < len(mend) {
			changes = append(changes, mend[i])
		}
	}
}

func TestNamespaces(t *testing.T) {
	collected := func(names ...string) func(*api.Member) {
		return func(m *api.Member) { m.NamespaceCondition, m.NamespacesKnown, m.Namespaces = true, true, names }
	}
	members := []api.Member{
		member("has", collected("apps", "other")), member("lacks", collected("other")), member("silent"),
		member("unknown", func(m *api.Member) { m.NamespaceCondition = true }),
	}
	in := input(nil, members...)
	in.Namespace = "apps"
	plan := schedule.Schedule(in)
	require.Equal(t, map[string]string{
		"lacks":   "namespace: ClusterUnschedulable, target namespace does not exist on cluster, wanted namespace apps",
		"unknown": "namespace: ClusterUnschedulable, cluster has no namespace information available",
	}, reasons(&plan))
	in.Namespace = ""
	require.Len(t, schedule.Schedule(in).Bindings, 4, "a ClusterResourcePlacement asks for no namespace")
}

func TestTolerations(t *testing.T) {
	gpu := api.Taint{Key: "gpu", Value: "true", Effect: api.EffectNoSchedule}
	for name, c := range map[string]struct {
		toleration api.Toleration
		tolerates  bool
	}{
		"equal":                {api.Toleration{Key: "gpu", Operator: api.TolerationEqual, Value: "true", Effect: api.EffectNoSchedule}, true},
		"equal is the default": {api.Toleration{Key: "gpu", Value: "true"}, true},
		"another value":        {api.Toleration{Key: "gpu", Value: "false"}, false},
		"another key":          {api.Toleration{Key: "cpu", Value: "true"}, false},
		"exists":               {api.Toleration{Key: "gpu", Operator: api.TolerationExists}, true},
		"exists of all":        {api.Toleration{Operator: api.TolerationExists}, true},
		"exists of another":    {api.Toleration{Key: "cpu", Operator: api.TolerationExists}, false},
		"another effect":       {api.Toleration{Key: "gpu", Operator: api.TolerationExists, Effect: "NoExecute"}, false},
		"unknown operator":     {api.Toleration{Key: "gpu", Operator: "Like", Value: "true"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := pickN(1, func(p *api.Policy) { p.Tolerations = []api.Toleration{c.toleration} })
			plan := schedule.Schedule(input(p, member("m", taint(gpu))))
			require.Equal(t, c.tolerates, plan.Fulfilled)
		})
	}
	maintenance := api.Taint{Key: "maintenance", Effect: api.EffectNoSchedule}
	p := pickN(1, func(p *api.Policy) { p.Tolerations = []api.Toleration{{Key: "gpu", Value: "true"}} })
	plan := schedule.Schedule(input(p, member("m", taint(gpu), taint(maintenance))))
	require.Equal(t, map[string]string{
		"m": "taint: ClusterUnschedulable, taint maintenance:NoSchedule cannot be tolerated",
	}, reasons(&plan), "the first that is not tolerated is told")
	require.Equal(t, []api.Unpicked{{
		Member: "m", Filter: verdict.FilterTaint,
		Reason: "ClusterUnschedulable, taint maintenance:NoSchedule cannot be tolerated",
	}}, plan.Unpicked)
}

// Age alone turns an unhealthy member ineligible, so the plan asks to be made again then, and at no
// other time.
func TestPlanAsksAgainWhenAMemberBecomesIneligible(t *testing.T) {
	unhealthySince := func(ago time.Duration) func(*api.Member) {
		return func(m *api.Member) { m.Healthy, m.HealthChanged = "False", sim.Now.Add(-ago) }
	}
	healthy := member("a", func(*api.Member) {})
	require.Zero(t, schedule.Schedule(input(nil, healthy)).Recheck)
	require.Zero(t, schedule.Schedule(input(nil, healthy, member("b", unhealthySince(5*time.Minute+1)))).Recheck)
	in := input(nil, healthy, member("b", unhealthySince(time.Minute)), member("c", unhealthySince(2*time.Minute)))
	plan := schedule.Schedule(in)
	require.Equal(t, sim.Now.Add(3*time.Minute+1), plan.Recheck)

	in.Now = plan.Recheck
	again := schedule.Schedule(in)
	v, _ := again.Verdicts.Of("c")
	require.Equal(t, verdict.FilterEligibility, v.Filter)
	require.Equal(t, sim.Now.Add(4*time.Minute+1), again.Recheck)
}
