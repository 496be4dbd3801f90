package check_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/check"
	"flotilla/core/rollout"
)

// fleet is a placement under a check whose members answer in their own time. Decisions of either core are lost now and
// then before they are written, as when the hub is killed.
type fleet struct {
	t     *testing.T
	rng   *rand.Rand
	now   time.Time
	names []string
	in    rollout.Input
	check *api.RolloutCheck
	most  int // that may be unavailable
	// had is what each member was given before the newest snapshot, available what was available of that.
	had, available map[string]map[int64]bool
	refused        map[int64]bool
	given, back    map[string]int // how often a member was given the newest snapshot, and taken back from it
}

func newFleet(t *testing.T, seed uint64) *fleet {
	t.Helper()
	f := &fleet{t: t, rng: rand.New(rand.NewPCG(seed, seed)), now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	f.in = rollout.Input{Results: map[string]*api.PlacementResult{}, Members: map[string]rollout.MemberView{}, Schedule: &api.Schedule{UID: "u1"}}
	unavailable := intstr.FromInt32(1 + f.rng.Int32N(3))
	f.most = unavailable.IntValue()
	p := &f.in.Placement
	p.Name, p.UID = "web", "u1"
	p.Spec.Strategy.RollingUpdate = &api.RollingUpdate{MaxUnavailable: &unavailable}
	for i := range 3 + f.rng.IntN(8) {
		name := fmt.Sprintf("m%02d", i)
		f.names = append(f.names, name)
		f.in.Members[name] = rollout.MemberView{State: api.MemberReady}
		f.in.Schedule.Bindings = append(f.in.Schedule.Bindings, api.Binding{Member: name})
	}
	f.check = &api.RolloutCheck{Spec: api.RolloutCheckSpec{
		Soak: span(5 * time.Second), Interval: span(time.Second), FailureLimit: new(1 + f.rng.Int32N(3)), OnFailure: api.OnFailureRollBack,
		Checks: []api.Check{{Name: "errors", Webhook: &api.WebhookCheck{Webhook: "judge"}}},
	}}
	f.check.Generation = 1
	f.refused = map[int64]bool{}
	f.had, f.available = map[string]map[int64]bool{}, map[string]map[int64]bool{}
	for _, name := range f.names {
		f.had[name], f.available[name] = map[int64]bool{}, map[int64]bool{}
	}
	return f
}

// publish makes a new snapshot; what members have by now they had before it.
func (f *fleet) publish() {
	index := int64(1)
	if f.in.Latest != nil {
		index = f.in.Latest.Index + 1
	}
	f.in.Latest = &api.Snapshot{UID: "u1", Index: index, Work: fmt.Sprintf("work-%d", index)}
	f.given, f.back = map[string]int{}, map[string]int{}
	for _, e := range f.entries() {
		if !e.Withdrawn {
			f.had[e.Member][e.Snapshot] = true
		}
	}
}

func (f *fleet) entries() []api.ReleaseEntry {
	if f.in.Release == nil {
		return nil
	}
	return f.in.Release.Entries
}

func (f *fleet) lost() bool { return f.rng.IntN(4) == 0 }

// step lets members answer, and both cores decide once.
func (f *fleet) step(passes bool) {
	f.now = f.now.Add(time.Second)
	for _, e := range f.entries() {
		if f.rng.IntN(2) == 0 {
			continue
		}
		r := &api.PlacementResult{UID: e.UID, Generation: e.Generation, Snapshot: e.Snapshot, Work: e.Work, Withdrawn: e.Withdrawn, Applied: "True", Available: "True"}
		f.in.Results[e.Member] = r
		if !e.Withdrawn {
			f.available[e.Member][e.Snapshot] = true
		}
	}
	f.in.Now, f.in.Checks.Name = f.now, "slow"
	f.decide()
	f.follow(passes)
}

func (f *fleet) decide() {
	plan := rollout.Next(f.in)
	if !plan.Changed || f.lost() {
		return
	}
	for _, name := range plan.Advance {
		f.given[name]++
	}
	for _, name := range plan.Back {
		f.back[name]++
	}
	f.in.Release = &plan.Release
	way := 0
	for _, e := range f.entries() {
		r := f.in.Results[e.Member]
		if e.RolledBack == f.in.Latest.Index && (r == nil || r.Generation != e.Generation) {
			way++
		}
	}
	require.LessOrEqual(f.t, way, f.most, "more go back at once than may be unavailable")
}

func (f *fleet) follow(passes bool) {
	in := check.Input{
		Name: "slow", Check: f.check, Placement: &f.in.Placement, Schedule: f.in.Schedule, Release: f.in.Release, Latest: f.in.Latest,
		Record: f.in.Checks.Record, Now: f.now,
		Known: func(m string) (*api.PlacementResult, rollout.MemberView) { return f.in.Results[m], f.in.Members[m] },
	}
	plan := check.Follow(in)
	for range 2 {
		if !f.lost() {
			f.in.Checks.Record = plan.Record
		}
		in.Record, in.Answers = f.in.Checks.Record, nil
		for _, q := range plan.Ask {
			in.Answers = append(in.Answers, check.Answer{Question: q, Passed: passes, At: f.now})
		}
		plan = check.Follow(in)
	}
	if r := f.in.Checks.Record; r != nil && r.Refused != nil {
		f.refused[r.Refused.Snapshot] = true
	}
}

// TestARollBackEndsWhereMembersWere: it always ends, with every member on a snapshot that it had before, or had never left,
// and those without any that were given nothing else; it happens once, and decisions that are lost change nothing.
func TestARollBackEndsWhereMembersWere(t *testing.T) {
	rolledBack := 0
	for seed := range uint64(300) {
		f := newFleet(t, seed)
		for range f.rng.IntN(3) { // earlier ones, which may pass, be cut short, or fail
			f.publish()
			passes := f.rng.IntN(4) > 0
			for range f.rng.IntN(120) {
				f.step(passes)
			}
		}
		f.publish()
		for range f.rng.IntN(60) {
			f.step(true)
		}
		for range 200 {
			f.step(false)
		}
		latest, record := f.in.Latest.Index, f.in.Checks.Record
		if record.Phase == api.CheckPassed {
			continue
		}
		require.Equal(t, api.CheckRolledBack, record.Phase, "seed %d: %s", seed, record.Message)
		rolledBack++
		holds := map[string]int64{}
		for _, e := range f.entries() {
			require.False(t, e.Withdrawn, "seed %d: %s never gave it up", seed, e.Member)
			holds[e.Member] = e.Snapshot
		}
		for _, name := range f.names {
			snapshot, any := holds[name]
			switch {
			case !any:
				for index := range f.available[name] {
					require.True(t, f.refused[index] || !f.had[name][index], "seed %d: %s had snapshot %d available, and lost it", seed, name, index)
				}
			default:
				require.NotEqual(t, latest, snapshot, "seed %d: %s", seed, name)
				require.False(t, f.back[name] > 0 && f.refused[snapshot], "seed %d: %s went back to snapshot %d, which is refused too", seed, name, snapshot)
				require.True(t, f.had[name][snapshot], "seed %d: %s never had snapshot %d before", seed, name, snapshot)
			}
			require.LessOrEqual(t, f.given[name], 1, "seed %d: %s was given it again", seed, name)
			require.LessOrEqual(t, f.back[name], 1, "seed %d: %s went back twice", seed, name)
		}
	}
	require.Greater(t, rolledBack, 150)
}
