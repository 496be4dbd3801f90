package eviction_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/eviction"
	"flotilla/core/plan"
	"flotilla/core/rollout"
	"flotilla/core/schedule"
	"flotilla/core/sim"
)

// fleet is a placement on a fleet on which everything happens at any time: rollouts, evictions, drains, update runs and node
// disruptions, members that fail or fall silent, and hubs that die between two writes.
type fleet struct {
	s       *sim.Source
	p       api.Placement
	members []api.Member
	fleet   *schedule.Fleet
	budget  *api.PlacementDisruptionBudgetSpec

	schedule *api.Schedule
	release  *api.Release
	latest   *api.Snapshot
	results  map[string]*api.PlacementResult
	silent   map[string]bool
	holders  map[string]string
	outcomes map[string]eviction.Verdict // of evictions, by name
	evicted  map[string]int              // how often a binding went for one
}

func newFleet(seed uint64) *fleet {
	s := sim.NewSource(seed)
	f := &fleet{
		s: s, results: map[string]*api.PlacementResult{}, silent: map[string]bool{}, holders: map[string]string{},
		outcomes: map[string]eviction.Verdict{}, evicted: map[string]int{}, latest: &api.Snapshot{UID: "u1", Index: 1, Work: "w1"},
	}
	n := 3 + s.Below(6)
	for i := range n {
		f.members = append(f.members, api.Member{
			Name: fmt.Sprintf("m%d", i), HasAgent: true, Joined: "True", Healthy: "True", HealthChanged: sim.Now, LastHeartbeat: sim.Now,
		})
	}
	f.fleet = schedule.NewFleet(f.members...)
	f.p.Name, f.p.UID = "web", "u1"
	unavailable := intstr.Parse(sim.Pick(s, "1", "2", "25%", "50%", "100%"))
	f.p.Spec.Strategy.RollingUpdate = &api.RollingUpdate{MaxUnavailable: &unavailable}
	share := intstr.Parse(sim.Pick(s, "0", "1", "2", "3", "20%", "34%", "50%", "80%"))
	f.budget = &api.PlacementDisruptionBudgetSpec{MaxUnavailable: &share}
	f.p.Spec.Policy = pickN(int32(1 + s.Below(n+1)))
	if s.Chance(3) {
		f.p.Spec.Policy, share = nil, intstr.FromInt(s.Below(n+1))
	}
	if f.p.Spec.Policy == nil || s.Chance(2) {
		f.budget = &api.PlacementDisruptionBudgetSpec{MinAvailable: &share}
	}
	return f
}

func (f *fleet) input() eviction.Input {
	return eviction.Input{Placement: &f.p, Schedule: f.schedule, Release: f.release, Budget: f.budget, Known: func(member string) eviction.Known {
		return eviction.Known{Result: f.results[member], Silent: f.silent[member], Holder: f.holders[member]}
	}}
}

// decision is one of a scheduler on its way to the store, where it is written if what it depends on is still so.
type decision struct {
	asked    string // an eviction
	verdict  eviction.Verdict
	taken    []string // members that lose the placement
	schedule *api.Schedule
	of       *api.Schedule
	under    *api.Release
	results  map[string]*api.PlacementResult
	away     map[string]bool // whoever was silent, or in other hands
}

// decide is what the scheduler does, on an eviction or on those that are drained.
func (f *fleet) decide(asked, member string) *decision {
	d := &decision{asked: asked, of: f.schedule, under: f.release, results: maps.Clone(f.results), away: map[string]bool{}}
	for _, m := range f.members {
		d.away[m.Name] = f.silent[m.Name] || f.holders[m.Name] != ""
	}
	subject := plan.Subject{Placement: f.p}
	if f.schedule != nil {
		subject.Existing = plan.Existing(f.schedule, f.release, "u1")
		subject.Evicted, subject.Drained = f.schedule.Evicted, slices.DeleteFunc(slices.Clone(f.schedule.Drained), func(m string) bool { return !f.drained(m) })
	}
	in, book := subject.Input(f.fleet, sim.Now, schedule.Thresholds{}), eviction.Open(f.input())
	if asked != "" {
		d.verdict = book.Judge(member)
		if !d.verdict.Evicts {
			return d
		}
		d.taken = []string{member}
		in.Evicted = sorted(append(slices.Clone(in.Evicted), member))
	} else {
		d.taken, _ = book.Drain(f.drains())
		in.Drained = sorted(append(slices.Clone(in.Drained), d.taken...))
	}
	decided := schedule.Schedule(in)
	next := decided.Schedule(in)
	d.schedule = &next
	return d
}

// write stores a decision, or drops it, as the store does.
func (f *fleet) write(d *decision) (written bool) {
	if _, decided := f.outcomes[d.asked]; decided && d.asked != "" || d.of != f.schedule || len(d.taken) > 0 && d.under != f.release {
		return false
	}
	if d.asked != "" {
		f.outcomes[d.asked] = d.verdict
		f.evicted[d.asked] += len(d.taken)
	}
	if d.schedule != nil {
		f.schedule = d.schedule
	}
	return true
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func (f *fleet) drained(member string) bool {
	i := slices.IndexFunc(f.members, func(m api.Member) bool { return m.Name == member })
	return api.Draining(f.members[i].Taints)
}

func (f *fleet) drains() (all []string) {
	for i := range f.members {
		if api.Draining(f.members[i].Taints) {
			all = append(all, f.members[i].Name)
		}
	}
	return all
}

// available are the members that hold the placement and work, as a person would count them when a decision is written.
func (f *fleet) available(d *decision) (all []string) {
	if f.release == nil {
		return nil
	}
	for i := range f.release.Entries {
		e := &f.release.Entries[i]
		r := d.results[e.Member]
		gone := slices.Contains(d.of.Evicted, e.Member) || slices.Contains(d.of.Drained, e.Member)
		if !gone && !e.Withdrawn && r != nil && r.Generation == e.Generation && r.Available == "True" && !d.away[e.Member] {
			all = append(all, e.Member)
		}
	}
	return all
}

// found is how many members the placement was found, at most those that it wants: those that were evicted or drained count.
func (f *fleet) found() int {
	names := slices.Concat(f.schedule.Evicted, f.schedule.Drained)
	for i := range f.schedule.Bindings {
		names = append(names, f.schedule.Bindings[i].Member)
	}
	return min(len(sorted(names)), int(*f.p.Spec.Policy.NumberOfClusters))
}

// requireBudget holds what was taken to the budget: it counts only members that were available.
func (f *fleet) requireBudget(t *testing.T, d *decision, found int) (granted bool) {
	t.Helper()
	available := f.available(d)
	left := slices.DeleteFunc(slices.Clone(available), func(m string) bool { return slices.Contains(d.taken, m) })
	if len(left) == len(available) {
		return false
	}
	n := 0
	if f.p.Spec.Policy != nil {
		n = int(*f.p.Spec.Policy.NumberOfClusters)
	}
	if least := f.budget.MinAvailable; least != nil {
		share, err := intstr.GetScaledValueFromIntOrPercent(least, n, true)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(left), share, "minAvailable %s: %s taken of %s", least, d.taken, available)
		return true
	}
	share, err := intstr.GetScaledValueFromIntOrPercent(f.budget.MaxUnavailable, n, true)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(left), found-share, "maxUnavailable %s: %s taken of %s, %d found", f.budget.MaxUnavailable, d.taken, available, found)
	return true
}

// step lets one thing happen, and returns a decision that a scheduler came to.
func (f *fleet) step(i int) *decision {
	m := sim.Pick(f.s, f.members...).Name
	switch f.s.Below(12) {
	case 0, 1:
		return f.decide("", "")
	case 2, 3: // a leader that died before it wrote down what it decided is followed by one that decides anew
		return f.decide(fmt.Sprintf("e%d", i/4), m)
	case 4, 5:
		f.roll()
	case 6, 7, 8:
		f.report(m)
	case 9:
		f.silent[m] = f.s.Chance(3)
	case 10:
		f.holders[m] = sim.Pick(f.s, "", "", "run spring", "node disruption")
	default:
		f.change()
	}
	return nil
}

// change makes another snapshot, or drains or uncordons a member.
func (f *fleet) change() {
	if f.s.Chance(2) {
		f.latest = &api.Snapshot{UID: "u1", Index: f.latest.Index + 1, Work: fmt.Sprintf("w%d", f.latest.Index+1)}
		return
	}
	at := f.s.Below(len(f.members))
	if m := &f.members[at]; m.Taints == nil {
		m.Taints = []api.Taint{{Key: api.TaintCordoned, Value: api.TaintDrain, Effect: api.EffectNoSchedule}}
	} else {
		m.Taints = nil
	}
	f.fleet.Set(f.members[at])
}

// roll is what the roller does.
func (f *fleet) roll() {
	in := rollout.Input{Placement: f.p, Schedule: f.schedule, Release: f.release, Latest: f.latest, Results: f.results, Members: map[string]rollout.MemberView{}, Now: sim.Now}
	for _, m := range f.members {
		in.Members[m.Name] = rollout.MemberView{State: api.MemberReady}
		if f.silent[m.Name] {
			in.Members[m.Name] = rollout.MemberView{State: api.MemberUnknown}
		}
	}
	if next := rollout.Next(in); next.Changed {
		f.release = &next.Release
	}
}

// report lets a member do what is released to it, mostly well.
func (f *fleet) report(member string) {
	if f.release == nil || f.silent[member] {
		return
	}
	for _, e := range f.release.Entries {
		if e.Member != member {
			continue
		}
		r := &api.PlacementResult{UID: "u1", Generation: e.Generation, Withdrawn: e.Withdrawn, Applied: "True", Available: "True", Changed: metav1.NewTime(sim.Now)}
		switch {
		case e.Withdrawn:
			r.Available = ""
		case f.s.Chance(10):
			r.Applied, r.Available = "False", ""
		case f.s.Chance(8):
			r.Available = "False"
		}
		f.results[member] = r
	}
}

// The budget holds at every instant, whatever else happens between a decision and its write: what evictions and drains take
// is never more than the budget has left, each eviction is carried out at most once, and an evicted member has nothing until
// the policy changes.
func TestBudgetsHoldAtEveryInstant(t *testing.T) {
	granted, blocked := 0, 0
	for seed := range uint64(400) {
		f := newFleet(seed)
		require.True(t, f.write(f.decide("", "")))
		var flying []*decision
		for i := range 150 {
			if d := f.step(i); d != nil {
				flying = append(flying, d)
			}
			if len(flying) == 0 || f.s.Chance(2) {
				continue
			}
			at := f.s.Below(len(flying))
			d := flying[at]
			flying = slices.Delete(flying, at, at+1)
			found := 0
			if f.budget.MaxUnavailable != nil {
				found = f.found()
			}
			if f.write(d) && f.requireBudget(t, d, found) {
				granted++
			}
		}
		for name, times := range f.evicted {
			require.LessOrEqual(t, times, 1, "seed %d: %s", seed, name)
			if v := f.outcomes[name]; v.Valid && !v.Executed {
				blocked++
			}
		}
		for _, member := range f.schedule.Evicted {
			require.False(t, slices.ContainsFunc(f.schedule.Bindings, func(b api.Binding) bool { return b.Member == member }), "seed %d: %s is back", seed, member)
		}
	}
	require.Greater(t, granted, 200)
	require.Greater(t, blocked, 200)
}
