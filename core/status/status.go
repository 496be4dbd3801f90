package status

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// shown is how many entries of each list a record holds.
const shown = 100

// Input is everything a status depends on. Nothing in it is changed.
type Input struct {
	Placement api.Placement
	// Schedule, Release and Latest are nil while they do not exist; those of another uid are ignored.
	Schedule *api.Schedule
	Release  *api.Release
	// Latest is the newest snapshot.
	Latest *api.Snapshot
	// Results are the newest results by member.
	Results map[string]*api.PlacementResult
	// Members by name; one that is missing is taken for a member nobody has heard of.
	Members map[string]Member
	// Previous is the last record; transition times of what did not turn come from it.
	Previous *api.PlacementStatus
	// JudgeFrom is when this hub has had the time to hear of every member: before that no rollout begins
	// to count as standing still, since members may have advanced while nobody could hear of it.
	JudgeFrom time.Time
	Now       time.Time
}

// Member is what a status needs to know of a member.
type Member struct {
	State    api.MemberState
	LastSeen time.Time
	// Since is when the member came to be in its state.
	Since time.Time
}

// Aggregate makes the record of a placement: its conditions, its counts, and the first 100 members in
// trouble. Aggregating again with the answer as Previous gives the same bytes as long as nothing but
// the time changed.
func Aggregate(in Input) api.PlacementStatus {
	st, _ := Follow(in)
	return st
}

// Follow aggregates, and says when time alone will change the answer; zero when only news can.
func Follow(in Input) (st api.PlacementStatus, recheck time.Time) {
	e := newEvaluation(in)
	mark := e.mark()
	going, withdrawals := e.rollout(mark), e.withdrawals()
	st = api.PlacementStatus{
		Header:             api.NewHeader(api.KindPlacementStatus),
		Placement:          in.Placement.Key(),
		UID:                string(in.Placement.UID),
		ObservedGeneration: in.Placement.Generation,
		Conditions:         e.conditions(going),
		Counts:             e.counts(),
		Rollout:            going,
		Mark:               mark,
		Alarms:             e.alarms(),
	}
	st.Counts.Unconfirmed = len(withdrawals)
	st.Withdrawals = withdrawals[:min(shown, len(withdrawals))]
	for i := range st.Withdrawals {
		st.Unconfirmed = append(st.Unconfirmed, st.Withdrawals[i].ClusterName)
	}
	if e.latest != nil {
		st.ObservedSnapshot = strconv.FormatInt(e.latest.Index, 10)
		st.SelectedResources, st.SelectedTotal = selected(e.latest.Manifests)
	}
	st.PlacementStatuses = worst(e.entries())
	return st, e.recheck(&st)
}

// worst keeps the first of the members in trouble: of those that only wait for others no more than there
// is room for.
func worst(entries []api.PerMemberStatus) []api.PerMemberStatus {
	trouble, waiting := 0, 0
	for i := range entries {
		switch {
		case !inTrouble(entries[i].Conditions):
		case waits(&entries[i]):
			waiting++
		default:
			trouble++
		}
	}
	trouble = min(trouble, shown)
	waiting = min(waiting, shown-trouble)
	var out []api.PerMemberStatus
	for i := range entries {
		left := &trouble
		if waits(&entries[i]) {
			left = &waiting
		}
		if inTrouble(entries[i].Conditions) && *left > 0 {
			*left--
			out = append(out, entries[i])
		}
	}
	return out
}

func waits(m *api.PerMemberStatus) bool {
	return m.State == api.EntryWaiting || m.State == api.EntryPending || m.State == api.EntryApplying
}

// Members renders the entry of every member, sorted by name, then one entry without a name for each
// member that is missing.
func Members(in Input) []api.PerMemberStatus {
	return newEvaluation(in).entries()
}

func inTrouble(conditions []metav1.Condition) bool {
	for i := range conditions {
		if conditions[i].Status != metav1.ConditionTrue {
			return true
		}
	}
	return false
}

// selected lists the selected objects, the first 100 of them, and their number when it is cut.
func selected(manifests []api.Manifest) ([]api.ResourceIdentifier, int) {
	total := 0
	if len(manifests) > shown {
		total, manifests = len(manifests), manifests[:shown]
	}
	out := make([]api.ResourceIdentifier, len(manifests))
	for i := range manifests {
		out[i] = identifier(manifests[i].ObjectRef)
	}
	return out, total
}

func (e *evaluation) counts() api.PlacementCounts {
	c := api.PlacementCounts{Want: -1}
	if e.schedule != nil && e.schedule.Want != nil {
		c.Want = int(*e.schedule.Want)
	}
	for i := range e.views {
		v := &e.views[i]
		if !v.binding.Waiting {
			c.Picked++
		}
		if v.current {
			c.Current++
		}
		if v.corrected() {
			c.Corrected++
		}
		if v.result == nil {
			continue
		}
		switch applied, _ := appliedOf(v.result); applied {
		case metav1.ConditionTrue:
			c.Applied++
		case metav1.ConditionFalse:
			c.Failed++
		}
		if v.drifted() {
			c.Drifted++
		}
		if v.differing() {
			c.Differing++
		}
		if v.result.Available == "True" && !v.offline() {
			c.Available++
		}
	}
	return c
}
