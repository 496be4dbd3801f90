package schedule

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/verdict"
)

// unpickedLimit bounds the list of unpicked members in a schedule; their verdicts are complete.
const unpickedLimit = 1000

func (d *decision) plan() Plan {
	p := Plan{Verdicts: d.verdicts(), Bindings: d.bindings()}
	p.Fulfilled = d.fulfilled()
	p.Message = message(p.Fulfilled, d.picked, p.Verdicts.Want)
	p.Removed = d.removed(&p.Verdicts)
	p.Unpicked = d.unpicked(&p.Verdicts)
	p.Recheck = d.recheck()
	return p
}

func message(fulfilled bool, picked int, want *int32) string {
	if fulfilled {
		return fmt.Sprintf("found all cluster needed as specified by the scheduling policy, found %d cluster(s)", picked)
	}
	return fmt.Sprintf("could not find all clusters needed as specified by the scheduling policy, found %d cluster(s) instead of %d", picked, *want)
}

// missingCount is the number of wanted members that were not found; 0 for PickAll.
func (d *decision) missingCount() int {
	switch {
	case d.in.Deleting:
		return 0
	case d.in.Policy.Type() == api.PickN:
		return max(0, d.wanted()-d.picked)
	case d.in.Policy.Type() == api.PickFixed:
		return len(uniqueNames(d.in.Policy.ClusterNames)) - d.picked
	}
	return 0
}

func uniqueNames(names []string) []string {
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

func (d *decision) fulfilled() bool { return d.missingCount() == 0 }

func (d *decision) verdicts() verdict.Verdicts {
	v := d.columns
	v.Header, v.Placement, v.UID = api.NewHeader(api.KindVerdicts), d.in.Placement, d.in.UID
	v.Generation, v.Type, v.Want, v.Terms = d.in.Generation, d.in.Policy.Type(), d.want(), len(d.terms)
	if d.in.Deleting {
		return v
	}
	v.Members = slices.Clip(d.fleet.names)
	if v.Type == api.PickFixed {
		v.Terms = 1
		for _, name := range d.missing {
			at, _ := slices.BinarySearch(v.Members, name)
			v.Members = slices.Insert(v.Members, at, name)
			v.Outcomes = slices.Insert(v.Outcomes, at, verdict.OutcomeNotFound)
			v.First = slices.Insert(v.First, at, 0)
		}
	}
	return v
}

// want is the wanted number of members; nil for PickAll.
func (d *decision) want() *int32 {
	switch d.in.Policy.Type() {
	case api.PickN:
		n := int32(d.wanted())
		return &n
	case api.PickFixed:
		n := int32(len(uniqueNames(d.in.Policy.ClusterNames)))
		return &n
	}
	return nil
}

// bindings lists the picked and the waiting members by name.
func (d *decision) bindings() []api.Binding {
	bindings := make([]api.Binding, 0, d.picked+len(d.waiting))
	scores := make([]int32, 0, 2*d.picked)
	for row, o := range d.columns.Outcomes {
		if !o.Has(verdict.OutcomePicked) && !o.Has(verdict.OutcomeKeeps) {
			continue
		}
		b := api.Binding{Member: d.fleet.names[row], Policy: d.in.PolicyDigest, Waiting: o.Has(verdict.OutcomeKeeps)}
		if o.Has(verdict.OutcomeScored) {
			scores = append(scores, scoreAt(d.columns.Affinity, row), scoreAt(d.columns.Spread, row))
			b.AffinityScore, b.SpreadScore = &scores[len(scores)-2], &scores[len(scores)-1]
		}
		bindings = append(bindings, b)
	}
	return bindings
}

func scoreAt(scores []int32, row int) int32 {
	if scores == nil {
		return 0
	}
	return scores[row]
}

// removed lists the bindings that existed and are neither picked nor waiting.
func (d *decision) removed(v *verdict.Verdicts) []Removal {
	var removed []Removal
	for i := range d.existing {
		b := &d.existing[i]
		if b.standing == standsWithdrawn || d.held(b.row) {
			continue
		}
		reason := b.reason
		if reason == "" {
			verdict, _ := v.Of(b.Member)
			reason = "no longer picked: " + verdict.Reason
		}
		removed = append(removed, Removal{b.Member, reason})
	}
	return removed
}

func (d *decision) held(row int) bool {
	return row >= 0 && d.columns.Outcomes != nil &&
		(d.columns.Outcomes[row].Has(verdict.OutcomePicked) || d.columns.Outcomes[row].Has(verdict.OutcomeKeeps))
}

// unpicked lists by name why members were not picked, up to one for each that is missing. Nobody among
// them was ranked: while members are missing, all that rank are picked.
func (d *decision) unpicked(v *verdict.Verdicts) []api.Unpicked {
	missing := min(d.missingCount(), unpickedLimit)
	if missing == 0 {
		return nil
	}
	unpicked := make([]api.Unpicked, 0, missing)
	for i, o := range v.Outcomes {
		if o.Has(verdict.OutcomePicked) || v.Type == api.PickFixed && o.Is(verdict.OutcomeAffinity) {
			continue
		}
		verdict := v.Row(i)
		unpicked = append(unpicked, api.Unpicked{Member: verdict.Member, Filter: verdict.Filter, Reason: verdict.Reason})
		if len(unpicked) == missing {
			break
		}
	}
	return unpicked
}

// recheck is the next time at which age alone changes the answer: a picked member has been silent for
// too long, or one that says it is unhealthy has said so for too long.
func (d *decision) recheck() time.Time {
	next := d.unhealthyAt()
	age := d.in.Thresholds.Heartbeat
	switch {
	case d.failsOver():
		age = d.failoverAge()
	case d.in.Policy.Type() != api.PickFixed:
		return next
	}
	for row, o := range d.columns.Outcomes {
		if !o.Has(verdict.OutcomePicked) {
			continue
		}
		due := d.fleet.members[row].LastHeartbeat.Add(age + time.Nanosecond)
		if due.After(d.in.Now) && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	return next
}

// unhealthyAt is when the next member becomes ineligible by having been unhealthy for too long; zero
// when none will.
func (d *decision) unhealthyAt() time.Time {
	next := int64(math.MaxInt64)
	for row, b := range d.fleet.ties {
		if b != bondUnhealthy {
			continue
		}
		if due := d.fleet.turned[row] + d.clock.unhealthy + 1; due > d.clock.now {
			next = min(next, due)
		}
	}
	if next == math.MaxInt64 {
		return time.Time{}
	}
	return d.in.Now.Add(time.Duration(next - d.clock.now))
}

// Schedule makes the record of the plan, with the reason of every binding filled in. Evicted members
// are remembered for as long as the policy stays the same and they are not picked again.
func (p *Plan) Schedule(in Input) api.Schedule {
	digest := in.PolicyDigest
	if digest == "" {
		digest = PolicyDigest(in.Policy)
	}
	bindings := slices.Clone(p.Bindings)
	for i := range bindings {
		if b := &bindings[i]; b.Waiting {
			verdict, _ := p.Verdicts.Of(b.Member)
			b.Reason = verdict.Reason
		} else {
			b.Reason = api.PickedReason(b.Member, b.AffinityScore, b.SpreadScore)
		}
	}
	return api.Schedule{
		Header: api.NewHeader(api.KindSchedule), Placement: in.Placement, UID: in.UID, Generation: in.Generation,
		Type: in.Policy.Type(), Policy: digest, Want: p.Verdicts.Want, Fulfilled: p.Fulfilled,
		Message: p.Message, Bindings: bindings, Unpicked: p.Unpicked, Evicted: p.without(in.Evicted), Drained: in.Drained,
	}
}

// without are those of some members that the plan does not pick.
func (p *Plan) without(members []string) []string {
	return slices.DeleteFunc(slices.Clone(members), func(name string) bool {
		_, picked := slices.BinarySearchFunc(p.Bindings, name, func(b api.Binding, name string) int { return strings.Compare(b.Member, name) })
		return picked
	})
}
