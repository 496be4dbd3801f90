package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/sim"
	"flotilla/core/stage"
	"flotilla/core/staged"
	"flotilla/core/upgrade"
)

// step lets one thing happen: a room decides, what one decided is written or lost, a member says something, a person acts.
func (j *joined) step(i int) error {
	m, p := sim.Pick(j.s, j.members...).Name, sim.Pick(j.s, j.places...)
	switch j.s.Below(16) {
	case 0:
		j.scheduling(p, "", "")
	case 1:
		// Whoever takes over decides anew on an eviction of which nothing was written.
		if name := fmt.Sprintf("%s-%d", p.p.Name, i/30); j.evicted[name] == 0 || j.planted == "an eviction is decided on again" {
			j.scheduling(p, name, m)
		}
	case 2, 3:
		j.rolling(p)
	case 4:
		j.staging()
	case 5:
		j.upgrade()
	case 6:
		j.disrupting(m)
	case 7, 8, 9:
		for i := range j.members {
			if j.s.Chance(2) {
				j.report(p, j.members[i].Name)
			}
		}
	case 10:
		j.work()
	case 11:
		j.person(p, m)
	case 12:
		j.silent[m] = j.s.Chance(4)
		j.now = j.now.Add(time.Duration(j.s.Below(90)) * time.Second)
	default:
		return j.arrive()
	}
	return nil
}

// arrive lets a decision come to the store, not always the oldest; one in ten is lost, with whoever made it.
func (j *joined) arrive() error {
	if len(j.flying) == 0 {
		return nil
	}
	at := j.s.Below(len(j.flying))
	f := j.flying[at]
	j.flying = slices.Delete(j.flying, at, at+1)
	if j.s.Chance(10) {
		j.seen["lost"]++
		return nil
	}
	return j.land(f)
}

// report lets a member do what is released to it, mostly well.
func (j *joined) report(p *place, member string) {
	e := p.entry(member)
	if e == nil || j.silent[member] {
		return
	}
	r := &api.PlacementResult{Member: member, UID: "u1", Generation: e.Generation, Snapshot: e.Snapshot, Withdrawn: e.Withdrawn, Applied: "True", Available: "True", Changed: metav1.NewTime(j.now)}
	switch {
	case e.Withdrawn:
		r.Available = ""
	case j.s.Chance(12):
		r.Applied, r.Available = "False", ""
	case j.s.Chance(10):
		r.Available = "False"
	}
	p.results[member] = r
}

// work lets members upgrade that were told to, mostly well.
func (j *joined) work() {
	if j.spring.run == nil {
		return
	}
	for _, wanted := range upgrade.Operations(j.spring.run, &j.spring.status) {
		op := wanted.Operation
		if j.silent[wanted.Member] || j.spring.done[op.ID] || j.s.Chance(2) {
			continue
		}
		j.spring.done[op.ID] = true
		result := api.UpgradeResult{Member: wanted.Member, Run: op.Run, Operation: op.ID, Outcome: api.OutcomeSucceeded, At: metav1.NewTime(j.now)}
		if j.s.Chance(8) {
			result.Outcome, result.Message = api.OutcomeFailed, "no"
		} else {
			j.observe(wanted.Member, j.spring.run.Spec.Upgrade.KubernetesVersion)
		}
		j.spring.results[op.ID] = result
	}
}

// person publishes, drains or uncordons, and steers the runs.
func (j *joined) person(p *place, member string) {
	switch j.s.Below(4) {
	case 0:
		p.publish()
	case 1:
		at := slices.IndexFunc(j.members, func(m api.Member) bool { return m.Name == member })
		if m := &j.members[at]; m.Taints == nil && j.s.Chance(2) {
			m.Taints = []api.Taint{{Key: api.TaintCordoned, Value: api.TaintDrain, Effect: api.EffectNoSchedule}}
		} else {
			m.Taints = nil
		}
		j.fleet.Set(j.members[at])
	case 2:
		if w := &j.wave; w.run != nil {
			verb, ask := j.steer(&w.status)
			if d, refusal := staged.Operate(w.run, &w.status, j.stagedView(j.shop()), j.now, verb, ask); refusal == nil {
				j.takeWave(d)
			}
		}
	default:
		if u := &j.spring; u.run != nil {
			verb, ask := j.steer(&u.status)
			if d, refusal := upgrade.Operate(u.run, &u.status, j.upgradeView(), j.now, verb, ask); refusal == nil {
				j.takeSpring(d)
			}
		}
	}
}

func (j *joined) steer(status *api.UpdateRunStatus) (string, *api.RunRequest) {
	for _, gate := range stage.Gates(status) {
		if gate.Status.State == api.StatePending {
			return api.VerbRunApprove, &api.RunRequest{Gate: gate.Name}
		}
	}
	return sim.Pick(j.s, api.VerbRunStart, api.VerbRunStart, api.VerbRunStart, api.VerbRunStop), &api.RunRequest{}
}

// holds is what is so at every instant: no run has more members under way than it may, a member that is upgraded is locked for that,
// nobody was given what no run let them have.
func (j *joined) holds() error {
	for _, status := range []*api.UpdateRunStatus{&j.wave.status, &j.spring.status} {
		for i := range status.Stages {
			s, running := &status.Stages[i], 0
			var unlocked []string
			stage.EachMember(s, func(m *api.MemberUpdateStatus) {
				if m.Status.State != api.StateRunning {
					return
				}
				if running++; status.Content == nil && j.locks[m.Name].Owner != "run "+status.Run {
					unlocked = append(unlocked, m.Name)
				}
			})
			if running > s.MaxConcurrency {
				return fmt.Errorf("run %s: %d under way in stage %s of %d", status.Run, running, s.Name, s.MaxConcurrency)
			}
			if len(unlocked) > 0 {
				return fmt.Errorf("run %s upgrades %s without having their locks", status.Run, unlocked)
			}
		}
	}
	for name, times := range j.evicted {
		if times > 1 {
			return fmt.Errorf("eviction %s was carried out %d times", name, times)
		}
	}
	return j.holdsGiven()
}

// holdsGiven says that members of shop that have what the run brings were let have it by the run.
func (j *joined) holdsGiven() error {
	release := j.shop().release
	if release == nil || !j.wave.status.UnderWay() {
		return nil
	}
	for i := range release.Entries {
		e := &release.Entries[i]
		m, there := stage.MemberStatus(&j.wave.status, e.Member)
		if e.Snapshot == j.wave.status.Content.Snapshot && !e.Withdrawn && there && m.Attempt == 0 && !j.had(e.Member, e.Snapshot) {
			return fmt.Errorf("%s was given snapshot %d of shop, and run %s has not come to it", e.Member, e.Snapshot, j.wave.status.Run)
		}
	}
	return nil
}

// had says that an earlier run gave a member what this one brings.
func (j *joined) had(member string, snapshot int64) bool {
	_, before := j.seen[fmt.Sprintf("had %s %d", member, snapshot)]
	return before
}

// remember keeps what members of shop were given by runs that are over.
func (j *joined) remember() {
	if release := j.shop().release; release != nil && !j.wave.status.UnderWay() {
		for i := range release.Entries {
			j.seen[fmt.Sprintf("had %s %d", release.Entries[i].Member, release.Entries[i].Snapshot)] = 0
		}
	}
}

// voyage lets many things happen, and says what did not hold first, with its seed.
func voyage(seed uint64, planted string) (*joined, error) {
	j := newJoined(seed, planted)
	for i := range 500 {
		if err := j.step(i); err != nil {
			return j, fmt.Errorf("seed %d, step %d: %w", seed, i, err)
		}
		if err := j.holds(); err != nil {
			return j, fmt.Errorf("seed %d, step %d: %w", seed, i, err)
		}
		j.remember()
	}
	return j, nil
}

// Budgets, concurrency and maxUnavailable hold at every instant, whatever rollouts, staged runs, update runs, evictions, drains and
// node disruptions do beside each other, and whoever dies between a decision and its write.
func TestLimitsHoldWhateverGoesOnAtOnce(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(400) {
		j, err := voyage(seed, "")
		require.NoError(t, err)
		for what, n := range j.seen {
			seen[what] += n
		}
	}
	for _, what := range []string{"scheduler", "roller", "wave", "wave created", "spring", "spring created", "disruptor", "taken", "touched", "eviction refused", "dropped", "lost"} {
		require.Greater(t, seen[what], 100, what)
	}
}

// The property is able to fail: each of these faults is found.
func TestPlantedFaultsAreFound(t *testing.T) {
	for _, planted := range []string{
		"holders are not counted", "what is released is not looked at again", "a run lets everybody have it", "nobody counts as unavailable", "a lock is overwritten",
		"an eviction is decided on again",
	} {
		t.Run(planted, func(t *testing.T) {
			for seed := range uint64(400) {
				if _, err := voyage(seed, planted); err != nil {
					t.Log(err)
					return
				}
			}
			require.Fail(t, "nobody saw it")
		})
	}
}
