package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/rollout"
	"flotilla/core/schedule"
)

// running is a placement on four members that run its snapshot 1, all of them available.
func running(strategy *api.RollingUpdate) plan.Input {
	p := placement("web", nil)
	p.Spec.Strategy.RollingUpdate = strategy
	in := plan.Input{Now: noon, Standings: map[string]plan.Standing{}}
	s := plan.Subject{Placement: p, Released: plan.Released{
		Release: &api.Release{Placement: "web", Step: 1}, Latest: &api.Snapshot{UID: "77aa", Index: 2, Work: "two"},
		Results: map[string]*api.PlacementResult{},
	}}
	for _, name := range []string{"berlin", "madrid", "oslo", "tampa"} {
		in.Members = append(in.Members, ready(name))
		in.Standings[name] = plan.Standing{MemberView: rollout.MemberView{State: api.MemberReady}, Since: noon.Add(-time.Hour)}
		s.Existing = append(s.Existing, schedule.Existing{Member: name, Policy: schedule.PolicyDigest(nil), State: api.BindingBound})
		s.Released.Release.Entries = append(s.Released.Release.Entries, api.ReleaseEntry{Member: name, UID: "77aa", Snapshot: 1, Work: "one", Generation: 1})
		s.Released.Results[name] = &api.PlacementResult{UID: "77aa", Generation: 1, Applied: "True", Available: "True"}
	}
	in.Subjects = []plan.Subject{s}
	return in
}

// TestPlanSaysWhatTheRolloutWouldDo plans new content for four members that hold the old one.
func TestPlanSaysWhatTheRolloutWouldDo(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(in *plan.Input)
		want   string
	}{
		{"one after the other", func(*plan.Input) {}, `
= berlin: changes
= madrid: waits: 1 of 4 members is unavailable, maxUnavailable 25% allows 1; berlin is not ready
= oslo: waits: 1 of 4 members is unavailable, maxUnavailable 25% allows 1; berlin is not ready
= tampa: waits: 1 of 4 members is unavailable, maxUnavailable 25% allows 1; berlin is not ready`},
		{"several at once", func(in *plan.Input) {
			in.Subjects[0].Placement.Spec.Strategy.RollingUpdate = &api.RollingUpdate{MaxUnavailable: new(intstr.FromString("100%"))}
		}, `
= berlin: changes
= madrid: changes
= oslo: changes
= tampa: changes`},
		{"what overrides made of it stays", func(in *plan.Input) {
			s := &in.Subjects[0]
			version := api.OverrideVersion{Name: "marked", UID: "o1", Generation: 1, AtOnce: true}
			s.Released.Latest.Index = 1
			s.Released.Rendered = &api.Rendered{UID: "77aa", Snapshot: 1, Base: "two", Overrides: []api.OverrideVersion{version}}
			for i := range s.Released.Release.Entries {
				e := &s.Released.Release.Entries[i]
				e.Overrides = []api.OverrideVersion{version}
				s.Released.Rendered.Members = append(s.Released.Rendered.Members, api.RenderedMember{Member: e.Member, Work: "one", Overrides: []int{0}})
			}
			in.Members = append(in.Members, ready("vienna"))
			in.Standings["vienna"] = in.Standings["tampa"]
		}, `
= berlin
= madrid
= oslo
= tampa
+ vienna
rollout: at any time at most 2 (25%) of 5 unavailable, and at most 2 (25%) beyond them`},
		{"the content stays", func(in *plan.Input) { in.Subjects[0].Released.Latest.Index = 1 }, `
= berlin
= madrid
= oslo
= tampa`},
		{"the content went back to what it was", func(in *plan.Input) { in.Subjects[0].Released.Latest.Work = "one" }, `
= berlin
= madrid
= oslo
= tampa`},
		{"one crashes and is repaired first", func(in *plan.Input) {
			in.Subjects[0].Released.Results["oslo"].Available = "False"
			in.Subjects[0].Released.Message = "held up by oslo: Deployment web/web 0 of 2 available"
		}, `
= berlin: waits: 1 of 4 members is unavailable, maxUnavailable 25% allows 1; oslo is not ready
= madrid: waits: 1 of 4 members is unavailable, maxUnavailable 25% allows 1; oslo is not ready
= oslo: changes
= tampa: waits: 1 of 4 members is unavailable, maxUnavailable 25% allows 1; oslo is not ready
rollout now: held up by oslo: Deployment web/web 0 of 2 available`},
		{"one cannot be tracked, and waits out its period", func(in *plan.Input) {
			r := in.Subjects[0].Released.Results["oslo"]
			r.AvailableReason, r.Changed = "NotAllWorkAreAvailabilityTrackable", metav1.NewTime(noon.Add(-time.Second))
			in.Subjects[0].Placement.Spec.Strategy.RollingUpdate = &api.RollingUpdate{MaxUnavailable: new(intstr.FromInt32(0))}
			in.Subjects[0].Released.Message = "waits out unavailablePeriodSeconds until 2026-03-01T12:00:59Z"
		}, `
= berlin: waits: maxUnavailable 0 allows no update in place; set spec.strategy.rollingUpdate.maxUnavailable to 1 or more
= madrid: waits: maxUnavailable 0 allows no update in place; set spec.strategy.rollingUpdate.maxUnavailable to 1 or more
= oslo: waits: maxUnavailable 0 allows no update in place; set spec.strategy.rollingUpdate.maxUnavailable to 1 or more
= tampa: waits: maxUnavailable 0 allows no update in place; set spec.strategy.rollingUpdate.maxUnavailable to 1 or more
rollout now: waits out unavailablePeriodSeconds until 2026-03-01T12:00:59Z`},
		{"one is away", func(in *plan.Input) { in.Standings["berlin"] = away() }, `
= berlin: changes when it is back; is away since 2026-03-01 11:53Z
= madrid: waits: 1 of 4 members is unavailable, maxUnavailable 25% allows 1; berlin (no heartbeat) is not ready
= oslo: waits: 1 of 4 members is unavailable, maxUnavailable 25% allows 1; berlin (no heartbeat) is not ready
= tampa: waits: 1 of 4 members is unavailable, maxUnavailable 25% allows 1; berlin (no heartbeat) is not ready`},
		{"two are away, more than may be", func(in *plan.Input) { in.Standings["berlin"], in.Standings["oslo"] = away(), away() }, `
= berlin: waits: 2 of 4 members are unavailable, maxUnavailable 25% allows 1; berlin (no heartbeat) and oslo (no heartbeat) are not ready; is away since 2026-03-01 11:53Z
= madrid: waits: 2 of 4 members are unavailable, maxUnavailable 25% allows 1; berlin (no heartbeat) and oslo (no heartbeat) are not ready
= oslo: waits: 2 of 4 members are unavailable, maxUnavailable 25% allows 1; berlin (no heartbeat) and oslo (no heartbeat) are not ready; is away since 2026-03-01 11:53Z
= tampa: waits: 2 of 4 members are unavailable, maxUnavailable 25% allows 1; berlin (no heartbeat) and oslo (no heartbeat) are not ready`},
		{"one is tainted and stays", func(in *plan.Input) {
			in.Members[2].Taints = []api.Taint{{Key: "a", Effect: "NoSchedule"}, {Key: "dedicated", Value: "gpu", Effect: "NoSchedule"}}
			in.Subjects[0].Placement.Spec.Policy = &api.Policy{Tolerations: []api.Toleration{{Key: "a", Operator: api.TolerationExists}}}
			in.Subjects[0].Released.Latest.Index = 1
			for i := range in.Subjects[0].Existing {
				in.Subjects[0].Existing[i].Policy = schedule.PolicyDigest(in.Subjects[0].Placement.Spec.Policy)
			}
		}, `
= berlin
= madrid
= oslo: is tainted dedicated=gpu:NoSchedule
= tampa`},
		{"one leaves", func(in *plan.Input) {
			in.Members[0].Leaving = true
			in.Standings["berlin"] = plan.Standing{MemberView: rollout.MemberView{State: api.MemberLeaving, Leaving: true}}
			in.Subjects[0].Released.Latest.Index = 1
		}, `
= madrid
= oslo
= tampa
- berlin: has left the fleet
not picked by eligibility: berlin
rollout: at any time at most 1 (25%) of 3 unavailable, and at most 1 (25%) beyond them`},
		{"nothing is known", func(in *plan.Input) { in.Subjects[0].Released = plan.Released{Unknown: "nobody said"} }, `
= berlin
= madrid
= oslo
= tampa
rollout of berlin, madrid, oslo, tampa: unknown, nobody said`},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := running(nil)
			c.change(&in)
			answer := plan.Build(in)
			require.Equal(t, c.want, "\n"+rows(t, answer.String()))
		})
	}
}

// rows are the lines below the heading of the only placement, without the scores.
func rows(t *testing.T, text string) string {
	t.Helper()
	_, text, found := strings.Cut(text, "\n")
	require.True(t, found)
	text, _, found = strings.Cut(text, "\n\n")
	require.True(t, found)
	text = strings.ReplaceAll(text, "  affinity score 0, topology spread score 0", "")
	return strings.ReplaceAll(strings.TrimPrefix(text, "  "), "\n  ", "\n")
}

func away() plan.Standing {
	return plan.Standing{MemberView: rollout.MemberView{State: api.MemberUnknown}, Since: noon.Add(-7 * time.Minute)}
}
