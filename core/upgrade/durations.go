package upgrade

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// What the duration that a plan expects of an upgrade rests on, the first that is known (A63).
const (
	BasisGiven   = "Given"   // whoever asked said so
	BasisRun     = "Run"     // members that this run has finished
	BasisMember  = "Member"  // earlier upgrades of the same member
	BasisFleet   = "Fleet"   // earlier upgrades of other members
	BasisDefault = "Default" // nothing is known
)

// work is what an operation moves. Operations that move the same are of one kind.
type work struct{ plane, pools bool }

func workOf(m *api.MemberUpdateStatus) work {
	w := work{plane: m.ToVersion != ""}
	for i := range m.NodeImages {
		p := &m.NodeImages[i]
		w.pools = w.pools || p.ToVersion != "" || p.To != "" || p.Newest
	}
	return w
}

type memberWork struct {
	member string
	work   work
}

// Durations are how long upgrades took, by what they moved: the medians of the attempts that completed.
// The zero value knows nothing.
type Durations struct {
	members map[memberWork]time.Duration
	all     map[work]time.Duration
	any     time.Duration // whatever they moved
}

// DurationsOf collects how long the upgrades of runs took.
func DurationsOf(runs []api.UpdateRunStatus) Durations {
	members, all := map[memberWork][]time.Duration{}, map[work][]time.Duration{}
	var whatever []time.Duration
	for i := range runs {
		for j := range runs[i].Stages {
			stage.EachMember(&runs[i].Stages[j], func(m *api.MemberUpdateStatus) {
				kind := workOf(m)
				for _, took := range completed(m) {
					members[memberWork{m.Name, kind}] = append(members[memberWork{m.Name, kind}], took)
					all[kind] = append(all[kind], took)
					whatever = append(whatever, took)
				}
			})
		}
	}
	return Durations{members: medians(members), all: medians(all), any: median(whatever)}
}

// completed lists how long the attempts of a member took that completed in their time.
func completed(m *api.MemberUpdateStatus) []time.Duration {
	var out []time.Duration
	add := func(from, to metav1.Time) {
		if !from.IsZero() && to.After(from.Time) {
			out = append(out, to.Sub(from.Time))
		}
	}
	if m.Status.State == api.StateCompleted {
		add(m.Status.StartTime, m.Status.CompletedTime)
	}
	for i := range m.History {
		if attempt := &m.History[i]; attempt.State == api.StateCompleted && !attempt.Late {
			add(attempt.Started, attempt.Ended)
		}
	}
	return out
}

func medians[K comparable](of map[K][]time.Duration) map[K]time.Duration {
	out := make(map[K]time.Duration, len(of))
	for key, all := range of {
		out[key] = median(all)
	}
	return out
}

// median is the middle one, the mean of the two in the middle of an even number, 0 of none.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	n := len(all)
	if n == 0 {
		return 0
	}
	return ((all[(n-1)/2] + all[n/2]) / 2).Truncate(time.Second)
}

// expect is how long an operation of a run may be expected to take: as long as those of the same kind
// that the run has finished, else as earlier ones of the member, else as those of the fleet; BasisDefault
// when none of them is known.
func (d *Durations) expect(run *Durations, m *api.MemberUpdateStatus) (time.Duration, string) {
	kind := workOf(m)
	if took, known := run.all[kind]; known {
		return took, BasisRun
	}
	if took, known := d.members[memberWork{m.Name, kind}]; known {
		return took, BasisMember
	}
	if took, known := d.all[kind]; known {
		return took, BasisFleet
	}
	if run.any > 0 {
		return run.any, BasisRun
	}
	return DefaultDuration, BasisDefault
}
