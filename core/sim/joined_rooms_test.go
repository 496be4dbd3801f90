package sim_test

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/rollout"
	"flotilla/core/schedule"
	"flotilla/core/sim"
	"flotilla/core/stage"
	"flotilla/core/staged"
	"flotilla/core/upgrade"
)

func key(kind string, p *place) string { return kind + " of " + p.p.Name }

// scheduling is what the scheduler decides: on an eviction, or, without one, on a placement and whoever is drained.
func (j *joined) scheduling(p *place, asked, member string) {
	subject := plan.Subject{Placement: p.p}
	if p.schedule != nil {
		subject.Existing = plan.Existing(p.schedule, p.release, "u1")
		subject.Evicted, subject.Drained = p.schedule.Evicted, slices.DeleteFunc(slices.Clone(p.schedule.Drained), func(m string) bool { return !j.drained(m) })
	}
	in, book := subject.Input(j.fleet, sim.Now, schedule.Thresholds{}), j.book(p)
	depends := []string{key("schedule", p)}
	var taken []string
	if asked != "" {
		v := book.Judge(member)
		if !v.Evicts {
			j.seen["eviction refused"]++
			return
		}
		taken, in.Evicted = []string{member}, sorted(append(slices.Clone(in.Evicted), member))
		depends = append(depends, "eviction "+asked)
	} else {
		var drained []string
		for i := range j.members {
			if api.Draining(j.members[i].Taints) {
				drained = append(drained, j.members[i].Name)
			}
		}
		taken, _ = book.Drain(drained)
		in.Drained = sorted(append(slices.Clone(in.Drained), taken...))
	}
	if len(taken) > 0 && j.planted != "what is released is not looked at again" {
		depends = append(depends, key("release", p))
	}
	decided := schedule.Schedule(in)
	next, could := decided.Schedule(in), j.available(p)
	next.Generation, next.Policy = p.p.Generation, "p1"
	writes := []string{key("schedule", p)}
	if asked != "" {
		writes = append(writes, "eviction "+asked)
	}
	j.fly(&flight{
		room: "scheduler", writes: writes, write: func() {
			p.schedule = &next
			if asked != "" {
				j.evicted[asked]++
			}
		},
		judge: func() error { return j.judgeTaken(p, taken, could) },
	}, depends...)
}

// judgeTaken holds what evictions and drains take to the budget, by who was available as they were decided on, and by who is
// on the members that are given something else meanwhile.
func (j *joined) judgeTaken(p *place, taken []string, could map[string]bool) error {
	left := maps.Clone(could)
	for _, member := range taken {
		delete(left, member)
	}
	if e := p.release; e != nil {
		for i := range e.Entries { // what was released since is on its way
			if r := p.results[e.Entries[i].Member]; r == nil || r.Generation != e.Entries[i].Generation {
				delete(left, e.Entries[i].Member)
			}
		}
	}
	if len(taken) == 0 || len(left) == len(could) || !slices.ContainsFunc(taken, func(m string) bool { return could[m] }) {
		return nil
	}
	j.seen["taken"]++
	if least := p.budget.MinAvailable.IntValue(); len(left) < least {
		return fmt.Errorf("%s taken of %s, %s are left of %d that have to be", taken, p.p.Name, names(left), least)
	}
	return nil
}

// rolling is what the roller decides on a placement.
func (j *joined) rolling(p *place) {
	in := rollout.Input{Placement: p.p, Schedule: p.schedule, Release: p.release, Latest: p.latest(), Results: maps.Clone(p.results), Members: map[string]rollout.MemberView{}, Now: j.now}
	for _, m := range j.members {
		in.Members[m.Name] = rollout.MemberView{State: api.MemberReady}
		if j.silent[m.Name] {
			in.Members[m.Name] = rollout.MemberView{State: api.MemberUnknown}
		}
	}
	if j.wave.status.UnderWay() && p == j.shop() {
		in.Grants, in.Latest = staged.Grants(&j.wave.status), p.snapshots[j.wave.status.Content.Snapshot-1]
		if j.planted == "a run lets everybody have it" {
			in.Grants.Have = in.Grants.Have[:0]
			for _, m := range j.members {
				in.Grants.Have = append(in.Grants.Have, m.Name)
			}
		}
	}
	ready := j.ready(p)
	if j.planted == "nobody counts as unavailable" {
		for i := range j.members {
			if e := p.entry(j.members[i].Name); e != nil && !e.Withdrawn {
				in.Results[e.Member] = &api.PlacementResult{UID: "u1", Generation: e.Generation, Applied: "True", Available: "True"}
				in.Members[e.Member] = rollout.MemberView{State: api.MemberReady}
			}
		}
	}
	next := rollout.Next(in)
	if !next.Changed {
		return
	}
	target := 0
	if p.schedule != nil {
		target = len(p.schedule.Bindings)
	}
	forced := map[string]bool{} // evictions and drains go out beside maxUnavailable
	if p.schedule != nil {
		for _, member := range slices.Concat(p.schedule.Evicted, p.schedule.Drained) {
			forced[member] = true
		}
	}
	j.fly(&flight{
		room: "roller", writes: []string{key("release", p)}, write: func() { p.release = &next.Release },
		judge: func() error { return j.judgeMoves(p, &next, ready, forced, target) },
	}, key("release", p))
}

// ready are the members of a placement that hold what they were given, as far as anybody can know.
func (j *joined) ready(p *place) map[string]bool {
	all := map[string]bool{}
	for _, m := range j.members {
		e, r := p.entry(m.Name), p.results[m.Name]
		if e != nil && !e.Withdrawn && !j.silent[m.Name] && r != nil && r.Generation == e.Generation && r.Available == "True" {
			all[m.Name] = true
		}
	}
	return all
}

// judgeMoves holds a rollout to its maxUnavailable.
func (j *joined) judgeMoves(p *place, next *rollout.Plan, ready, forced map[string]bool, target int) error {
	if p.p.External() {
		return nil
	}
	touched := 0
	for _, member := range slices.Concat(next.Advance, next.Withdraw) {
		if ready[member] && !forced[member] {
			touched++
		}
	}
	for member := range forced {
		delete(ready, member)
	}
	if touched == 0 {
		return nil
	}
	j.seen["touched"]++
	most, err := intstr.GetScaledValueFromIntOrPercent(p.p.Spec.Strategy.RollingUpdate.MaxUnavailable, target, true)
	if err != nil || len(ready)-touched < target-most {
		return fmt.Errorf("%d of %d ready members of %s are touched, %d are wanted, maxUnavailable is %d", touched, len(ready), p.p.Name, target, most)
	}
	return nil
}

// staging is what the runner decides on the staged run of shop: it makes one where there is none.
func (j *joined) staging() {
	w, p := &j.wave, j.shop()
	view := j.stagedView(p)
	if w.run == nil || w.status.Status.State.Done() || w.status.Status.State == api.StateFailed {
		run := &api.StagedUpdateRun{Spec: api.StagedUpdateRunSpec{PlacementName: "shop", StrategyName: "waves", State: api.RunInitialize}}
		run.Name, run.UID, run.Kind = fmt.Sprintf("wave-%d", w.count), "w1", api.KindClusterStagedUpdateRun
		status, refusal := staged.Create(run, view, j.now)
		if refusal != nil {
			return
		}
		j.fly(&flight{room: "wave created", writes: []string{"wave"}, write: func() { w.run, w.status = run, stored(status); w.count++ }}, "wave")
		return
	}
	j.takeWave(staged.Step(w.run, &w.status, view, j.now))
}

func (j *joined) takeWave(d stage.Decision) {
	if d.Changed {
		j.fly(&flight{room: "wave", writes: []string{"wave"}, write: func() { j.wave.status = stored(d.Status) }}, "wave")
	}
}

func (j *joined) stagedView(p *place) staged.View {
	return staged.View{
		Placement: &p.p, Strategy: &j.wave.strategy, Schedule: p.schedule, Release: p.release, Snapshots: p.snapshots,
		Member: func(name string) (staged.Member, bool) {
			return staged.Member{Labels: map[string]string{"tier": j.tiers[name]}, Silent: j.silent[name]}, true
		},
		Result: func(member string) *api.PlacementResult { return p.results[member] },
	}
}

func (j *joined) newStrategy() {
	var stages []api.ContentStage
	for _, tier := range []string{"canary", "wide"} {
		most := intstr.Parse(sim.Pick(j.s, "1", "2", "50%"))
		s := api.ContentStage{Name: tier, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}}, MaxConcurrency: &most}
		if j.s.Chance(3) {
			s.BeforeStageTasks = []api.StageTask{{Type: api.TaskApproval}}
		}
		stages = append(stages, s)
	}
	j.wave.strategy = api.StagedUpdateStrategy{Spec: api.StagedUpdateStrategySpec{Stages: stages}}
}

// upgrade is what the runner decides on the update run: it makes one where there is none.
func (j *joined) upgrade() {
	u := &j.spring
	if u.run == nil || u.status.Status.State.Done() || u.status.Status.State == api.StateFailed {
		run := j.upgrading()
		if status, refusal := upgrade.Create(run, nil, j.upgradeView(), j.now); refusal == nil {
			j.fly(&flight{room: "spring created", writes: []string{"spring"}, write: func() { u.run, u.status = run, stored(status); u.count++ }}, "spring")
		}
		return
	}
	j.takeSpring(upgrade.Step(u.run, &u.status, j.upgradeView(), j.now))
}

// takeSpring writes a status together with the locks that it takes and gives back, or nothing of it.
func (j *joined) takeSpring(d stage.Decision) {
	if !d.Changed && len(d.Take)+len(d.Release) == 0 {
		return
	}
	owner := "run " + j.spring.run.Name
	f := &flight{room: "spring", writes: []string{"spring"}}
	depends := []string{"spring"}
	for _, lock := range slices.Concat(d.Take, d.Release) {
		depends, f.writes = append(depends, "lock "+lock.Member), append(f.writes, "lock "+lock.Member)
	}
	f.write = func() {
		for _, lock := range d.Release {
			if j.locks[lock.Member].Holder == lock.Operation {
				delete(j.locks, lock.Member)
			}
		}
		for _, lock := range d.Take {
			j.locks[lock.Member] = api.MemberLock{Member: lock.Member, Holder: lock.Operation, Owner: owner}
		}
		j.spring.status = stored(d.Status)
	}
	j.fly(f, depends...)
}

func (j *joined) upgradeView() upgrade.View {
	v := upgrade.View{Fleet: j.spring.fleet, Results: j.spring.results, Locks: map[string]string{}}
	for member, lock := range j.locks {
		if j.spring.run == nil || lock.Owner != "run "+j.spring.run.Name {
			v.Locks[member] = lock.Owner
		}
	}
	return v
}

// disrupting takes the lock of a member for a disruption of its nodes, where nobody has it, or gives it back.
func (j *joined) disrupting(member string) {
	const owner = "node disruption"
	lock, held := j.locks[member]
	f := &flight{room: "disruptor", writes: []string{"lock " + member}}
	switch {
	case lock.Owner == owner:
		f.write = func() { delete(j.locks, member) }
	case j.s.Chance(2):
		return
	case !held || j.planted == "a lock is overwritten":
		f.write = func() { j.locks[member] = api.MemberLock{Member: member, Holder: owner, Owner: owner} }
	default:
		return
	}
	j.fly(f, "lock "+member)
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
