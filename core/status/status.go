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
	Now      time.Time
}

// Member is what a status needs to know of a member.
type Member struct {
	State    api.MemberState
	LastSeen time.Time
}

// Aggregate makes the record of a placement: its conditions, its counts, and the first 100 members in
// trouble. Aggregating again with the answer as Previous gives the same bytes as long as nothing but
// the time changed.
func Aggregate(in Input) api.PlacementStatus {
	e := newEvaluation(in)
	st := api.PlacementStatus{
		Header:             api.NewHeader(api.KindPlacementStatus),
		Placement:          in.Placement.Key(),
		UID:                string(in.Placement.UID),
		ObservedGeneration: in.Placement.Generation,
		Conditions:         e.conditions(),
		Counts:             e.counts(),
		Unconfirmed:        e.unconfirmed(),
	}
	st.Counts.Unconfirmed = len(st.Unconfirmed)
	st.Unconfirmed = st.Unconfirmed[:min(shown, len(st.Unconfirmed))]
	if e.latest != nil {
		st.ObservedSnapshot = strconv.FormatInt(e.latest.Index, 10)
		st.SelectedResources, st.SelectedTotal = selected(e.latest.Manifests)
	}
	for _, m := range e.entries() {
		if len(st.PlacementStatuses) == shown {
			break
		}
		if inTrouble(m.Conditions) {
			st.PlacementStatuses = append(st.PlacementStatuses, m)
		}
	}
	return st
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

func (e *evaluation) unconfirmed() []string {
	var out []string
	if e.in.Release == nil {
		return nil
	}
	for i := range e.in.Release.Entries {
		if e.in.Release.Entries[i].Withdrawn {
			out = append(out, e.in.Release.Entries[i].Member)
		}
	}
	return out
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
		if v.result == nil {
			continue
		}
		switch applied, _ := appliedOf(v.result); applied {
		case metav1.ConditionTrue:
			c.Applied++
		case metav1.ConditionFalse:
			c.Failed++
		}
		if v.result.Available == "True" && !v.offline() {
			c.Available++
		}
	}
	return c
}
