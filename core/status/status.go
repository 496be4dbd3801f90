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
	// Checks is how the newest snapshot does under its RolloutCheck, nil where it goes out under none.
	Checks *api.CheckRecord
	// Results are the newest results by member.
	Results map[string]*api.PlacementResult
	// Members by name; one that is missing is taken for a member nobody has heard of.
	Members map[string]Member
	// Previous is the last record; transition times of what did not turn come from it.
	Previous *api.PlacementStatus
	// Frozen is what keeps the members of every placement from moving, nil where nothing does.
	Frozen *api.Freeze
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
	return newEvaluation(in).follow()
}

func (e *evaluation) follow() (st api.PlacementStatus, recheck time.Time) {
	st = e.summary()
	st.PlacementStatuses = e.worst()
	return st, e.recheck(&st)
}

// summary is the record without the entries of members.
func (e *evaluation) summary() (st api.PlacementStatus) {
	mark := e.mark()
	going, withdrawals := e.rollout(mark), e.withdrawals()
	st = api.PlacementStatus{
		Header:             api.NewHeader(api.KindPlacementStatus),
		Placement:          e.in.Placement.Key(),
		UID:                string(e.in.Placement.UID),
		ObservedGeneration: e.in.Placement.Generation,
		Conditions:         e.conditions(going),
		Counts:             e.counts(),
		Rollout:            going,
		Paused:             e.paused(),
		Pinned:             api.PinOf(e.latest),
		Checks:             e.checks(),
		Mark:               mark,
		Alarms:             e.alarms(),
	}
	st.Counts.Unconfirmed = len(withdrawals)
	st.Withdrawals = withdrawals[:min(shown, len(withdrawals))]
	for i := range st.Withdrawals {
		st.Unconfirmed = append(st.Unconfirmed, st.Withdrawals[i].ClusterName)
	}
	if e.latest != nil {
		st.ObservedSnapshot = e.observedSnapshot()
		st.SelectedResources, st.SelectedTotal = selected(e.latest.Manifests)
	}
	return st
}

// observedSnapshot is the snapshot that a status tells of: the newest, of strategy External the one that all members hold.
func (e *evaluation) observedSnapshot() string {
	index := e.latest.Index
	if e.external() {
		index = e.observed()
	}
	if index == 0 {
		return ""
	}
	return strconv.FormatInt(index, 10)
}

// worst renders the first of the members in trouble: of those that only wait for others no more than there
// is room for.
func (e *evaluation) worst() []api.PerMemberStatus {
	missing, before := e.missing(), e.previousEntries()
	waiting := e.tally[isWaiting]
	trouble := min(e.tally[isShown]-waiting+len(missing), shown)
	waiting = min(waiting, shown-trouble)
	var out []api.PerMemberStatus
	for i := 0; i < len(e.views) && trouble+waiting > 0; i++ {
		v := &e.views[i]
		if v.status == metav1.ConditionTrue {
			continue
		}
		left := &trouble
		if waits(e.word(v)) {
			left = &waiting
		}
		if *left > 0 {
			*left--
			out = append(out, e.row(v, before))
		}
	}
	for _, f := range missing[:min(len(missing), trouble)] {
		out = append(out, e.missingRow(f, before))
	}
	return out
}

// waits says that a member in that state only waits for others, or for its turn.
func waits(state string) bool {
	return state == api.EntryWaiting || state == api.EntryPending || state == api.EntryApplying
}

// selected lists the selected objects, the first 100 of them, and their number when it is cut.
func selected(manifests []api.Manifest) ([]api.ResourceIdentifier, int) {
	total := 0
	if len(manifests) > shown {
		total, manifests = len(manifests), manifests[:shown]
	}
	out := make([]api.ResourceIdentifier, len(manifests))
	for i := range manifests {
		out[i] = manifests[i].Identifier()
	}
	return out, total
}
