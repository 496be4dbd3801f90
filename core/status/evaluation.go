package status

import (
	"cmp"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// evaluation is one aggregation in the making.
type evaluation struct {
	in       Input
	schedule *api.Schedule
	latest   *api.Snapshot
	previous *api.PlacementStatus
	views    []view // sorted by member
	tally    tally  // over views
	leavers  []leaver
}

func newEvaluation(in Input) *evaluation {
	e := &evaluation{in: in}
	if in.Previous != nil && in.Previous.UID == string(in.Placement.UID) {
		e.previous = in.Previous
	}
	e.read(func(member string) (*api.PlacementResult, Member) { return in.Results[member], in.Members[member] })
	return e
}

// read takes in what is known of each member that the schedule or the release names.
func (e *evaluation) read(known Source) {
	uid := string(e.in.Placement.UID)
	if e.in.Latest != nil && e.in.Latest.UID == uid {
		e.latest = e.in.Latest
	}
	if e.in.Release != nil {
		for i := range e.in.Release.Entries {
			if entry := &e.in.Release.Entries[i]; entry.Withdrawn {
				l := leaver{entry: entry}
				l.result, l.state = known(entry.Member)
				e.leavers = append(e.leavers, l)
			}
		}
	}
	if e.in.Schedule == nil || e.in.Schedule.UID != uid {
		return
	}
	e.schedule = e.in.Schedule
	entries, held := releasedTo(e.in.Release, uid)
	e.views = make([]view, len(e.schedule.Bindings))
	for i := range e.schedule.Bindings {
		b := &e.schedule.Bindings[i]
		v := &e.views[i]
		*v = view{member: b.Member, binding: b, entry: entries[b.Member], held: held[b.Member].Reason, refused: held[b.Member].Overridden}
		result, state := known(b.Member)
		e.hear(v, result, state)
		worth := e.worth(v)
		e.tally.add(&worth, 1)
	}
	slices.SortFunc(e.views, func(a, b view) int { return cmp.Compare(a.member, b.member) })
}

func releasedTo(r *api.Release, uid string) (entries map[string]*api.ReleaseEntry, held map[string]api.Held) {
	if r == nil {
		return nil, nil
	}
	entries = make(map[string]*api.ReleaseEntry, len(r.Entries))
	for i := range r.Entries {
		if en := &r.Entries[i]; en.UID == uid && !en.Withdrawn {
			entries[en.Member] = en
		}
	}
	held = make(map[string]api.Held, len(r.Held))
	for _, h := range r.Held {
		held[h.Member] = h
	}
	return entries, held
}

// entries renders every member's entry and those of the missing members.
func (e *evaluation) entries() []api.PerMemberStatus {
	before := e.previousEntries()
	missing := e.missing()
	out := make([]api.PerMemberStatus, 0, len(e.views)+len(missing))
	for i := range e.views {
		out = append(out, e.row(&e.views[i], before))
	}
	for _, f := range missing {
		out = append(out, e.missingRow(f, before))
	}
	return out
}

// row is the entry of a member; before are the conditions of the last record.
func (e *evaluation) row(v *view, before map[string][]metav1.Condition) api.PerMemberStatus {
	m := api.PerMemberStatus{
		ClusterName:      v.member,
		Conditions:       e.dated("", e.chain(v), before[v.member]),
		FailedPlacements: e.failures(v),
		DiffedPlacements: e.diffed(v),
	}
	m.State, m.Message = e.state(v)
	m.Since = m.Conditions[len(m.Conditions)-1].LastTransitionTime
	if v.entry != nil {
		m.ObservedResourceIndex = strconv.FormatInt(v.entry.Snapshot, 10)
		m.ApplicableClusterResourceOverrides, m.ApplicableResourceOverrides = overridesOf(v.entry)
	}
	return m
}

func (e *evaluation) missingRow(f finding, before map[string][]metav1.Condition) api.PerMemberStatus {
	conditions := e.dated("", []finding{f}, before[unnamed(f.message)])
	return api.PerMemberStatus{
		State: api.EntryMissing, Since: conditions[0].LastTransitionTime, Message: f.message, Conditions: conditions,
	}
}

// unnamed is the key of an entry without a member's name; no member's name has a space.
func unnamed(message string) string { return " " + message }

func (e *evaluation) previousEntries() map[string][]metav1.Condition {
	if e.previous == nil {
		return nil
	}
	out := make(map[string][]metav1.Condition, len(e.previous.PlacementStatuses))
	for _, m := range e.previous.PlacementStatuses {
		key := m.ClusterName
		if key == "" && len(m.Conditions) > 0 {
			key = unnamed(m.Conditions[0].Message)
		}
		out[key] = m.Conditions
	}
	return out
}

// missing are the members that are wanted and not found: as many as the schedule gives reasons for,
// but for those that have an entry because their workload stays.
func (e *evaluation) missing() []finding {
	if e.schedule == nil || e.schedule.Want == nil {
		return nil
	}
	lacking := int(*e.schedule.Want) - len(e.views)
	var out []finding
	for _, u := range e.schedule.Unpicked {
		if len(out) >= lacking {
			break
		}
		if _, bound := e.find(u.Member); bound {
			continue
		}
		message := u.Reason
		if u.Member != "" {
			message = u.Member + ": " + u.Reason
		}
		out = append(out, finding{kind: api.ConditionScheduled, status: metav1.ConditionFalse, reason: reasonScheduleFailed, message: message})
	}
	return out
}
