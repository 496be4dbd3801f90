package status

import (
	"cmp"
	"slices"
	"strconv"
	"time"

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
}

// view is what is known of one bound member.
type view struct {
	member  string
	binding *api.Binding
	state   Member
	// entry is nil when nothing of this placement is released to the member, or it is withdrawn.
	entry *api.ReleaseEntry
	// current says that the newest snapshot is released to it.
	current bool
	// result answers entry; last is the newest result about this placement, be it older.
	result *api.PlacementResult
	last   *api.PlacementResult
	held   string
	chain  []finding
	// ready says that the member is done with what it was given; readyAt is when time alone makes it so.
	ready   bool
	readyAt time.Time
}

func (v *view) offline() bool { return v.state.State == api.MemberUnknown }

func newEvaluation(in Input) *evaluation {
	e := &evaluation{in: in}
	uid := string(in.Placement.UID)
	if in.Schedule != nil && in.Schedule.UID == uid {
		e.schedule = in.Schedule
	}
	if in.Latest != nil && in.Latest.UID == uid {
		e.latest = in.Latest
	}
	if in.Previous != nil && in.Previous.UID == uid {
		e.previous = in.Previous
	}
	if e.schedule == nil {
		return e
	}
	entries, held := releasedTo(in.Release, uid)
	e.views = make([]view, 0, len(e.schedule.Bindings))
	for i := range e.schedule.Bindings {
		b := &e.schedule.Bindings[i]
		v := view{member: b.Member, binding: b, state: in.Members[b.Member], entry: entries[b.Member], held: held[b.Member]}
		e.read(&v, uid)
		e.look(&v)
		v.chain = e.chain(&v)
		e.views = append(e.views, v)
	}
	slices.SortFunc(e.views, func(a, b view) int { return cmp.Compare(a.member, b.member) })
	return e
}

func (e *evaluation) read(v *view, uid string) {
	if r := e.in.Results[v.member]; r != nil && r.UID == uid {
		v.last = r
	}
	if v.entry == nil {
		return
	}
	v.current = e.latest != nil && v.entry.Snapshot == e.latest.Index
	if v.last != nil && v.last.Generation == v.entry.Generation && !v.last.Withdrawn {
		v.result = v.last
	}
}

func releasedTo(r *api.Release, uid string) (entries map[string]*api.ReleaseEntry, held map[string]string) {
	if r == nil {
		return nil, nil
	}
	entries = make(map[string]*api.ReleaseEntry, len(r.Entries))
	for i := range r.Entries {
		if en := &r.Entries[i]; en.UID == uid && !en.Withdrawn {
			entries[en.Member] = en
		}
	}
	held = make(map[string]string, len(r.Held))
	for _, h := range r.Held {
		held[h.Member] = h.Reason
	}
	return entries, held
}

// entries renders every member's entry and those of the missing members.
func (e *evaluation) entries() []api.PerMemberStatus {
	before := e.previousEntries()
	missing := e.missing()
	out := make([]api.PerMemberStatus, 0, len(e.views)+len(missing))
	for i := range e.views {
		v := &e.views[i]
		m := api.PerMemberStatus{
			ClusterName:      v.member,
			Conditions:       e.dated("", v.chain, before[v.member]),
			FailedPlacements: e.failures(v),
			DiffedPlacements: e.diffed(v),
		}
		m.State, m.Message = e.state(v)
		m.Since = m.Conditions[len(m.Conditions)-1].LastTransitionTime
		if v.entry != nil {
			m.ObservedResourceIndex = strconv.FormatInt(v.entry.Snapshot, 10)
		}
		out = append(out, m)
	}
	for _, f := range missing {
		conditions := e.dated("", []finding{f}, before[unnamed(f.message)])
		out = append(out, api.PerMemberStatus{
			State: api.EntryMissing, Since: conditions[0].LastTransitionTime, Message: f.message, Conditions: conditions,
		})
	}
	return out
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
		if e.bound(u.Member) {
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

func (e *evaluation) bound(member string) bool {
	_, found := slices.BinarySearchFunc(e.views, member, func(v view, name string) int { return cmp.Compare(v.member, name) })
	return found
}
