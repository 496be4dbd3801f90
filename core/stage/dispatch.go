package stage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/window"
)

// Candidate is a member that waits for a slot.
type Candidate struct {
	Status  *api.MemberUpdateStatus
	Opening window.Opening // of its maintenance window
	Group   int            // of its stage, by number
}

// slots counts who runs, and who has a slot reserved, in a stage and its groups.
type slots struct {
	stage, reserved int
	groups, held    []int
}

// dispatch offers the free slots of an open stage to its members, best class first, once each.
func (r *Run) dispatch(s *api.StageStatus) {
	used := countSlots(s)
	if used.stage >= s.MaxConcurrency {
		return
	}
	reserve := api.On(r.Status.Policy.ReserveOpeningSoon, false)
	for _, c := range r.candidates(s, used) {
		g := &s.Groups[c.Group]
		if used.stage >= s.MaxConcurrency {
			return
		}
		if used.groups[c.Group] >= g.MaxConcurrency || reserve && used.reservedFrom(&c, s, g) {
			continue
		}
		v := r.work.Check(c.Status, c.Opening)
		if v.State == api.StatePending {
			v = r.overstay(s.Name, g.Name, c.Status, v)
		}
		r.settleMember(c.Status, v)
		switch c.Status.Status.State {
		case api.StateRunning:
			used.stage++
			used.groups[c.Group]++
		case api.StatePending:
			if v.Reason == api.ReasonWindowClosed && v.Class == window.OpeningSoon {
				used.reserved++
				used.held[c.Group]++
			}
		case api.StateFailed:
			if r.exceeded() {
				return
			}
		}
	}
}

func countSlots(s *api.StageStatus) slots {
	used := slots{groups: make([]int, len(s.Groups)), held: make([]int, len(s.Groups))}
	for j := range s.Groups {
		for k := range s.Groups[j].Members {
			if s.Groups[j].Members[k].Status.State == api.StateRunning {
				used.groups[j]++
				used.stage++
			}
		}
	}
	return used
}

// reservedFrom reports whether the slots left are kept for members whose windows open soon.
func (u *slots) reservedFrom(c *Candidate, s *api.StageStatus, g *api.GroupStatus) bool {
	if c.Opening.Class != window.None && c.Opening.Class != window.Closed {
		return false
	}
	return u.stage+u.reserved >= s.MaxConcurrency || u.groups[c.Group]+u.held[c.Group] >= g.MaxConcurrency
}

// candidates lists the members that wait in groups with an open gate and a free slot, in the order of
// the work.
func (r *Run) candidates(s *api.StageStatus, used slots) []Candidate {
	var out []Candidate
	for j := range s.Groups {
		g := &s.Groups[j]
		if used.groups[j] >= g.MaxConcurrency || !gatesDone(g.BeforeGates) {
			continue
		}
		for k := range g.Members {
			m := &g.Members[k]
			if m.Status.State != api.StateNotStarted && m.Status.State != api.StatePending || !taken(&r.Status, m.Name) {
				continue
			}
			out = append(out, Candidate{Status: m, Opening: r.opening(m), Group: j})
		}
	}
	slices.SortFunc(out, r.work.Order())
	return out
}

// opening returns what the member's schedule says, none when windows are ignored.
func (r *Run) opening(m *api.MemberUpdateStatus) window.Opening {
	if r.Status.WindowsIgnored != "" {
		return window.Opening{Class: window.None}
	}
	return r.work.Opening(m)
}

// ByWindow orders candidates by the class of their windows, within a class by what closes or opens
// first, then by group and name.
func ByWindow(a, b Candidate) int {
	return cmp.Or(cmp.Compare(a.Opening.Class, b.Opening.Class), compareKeys(&a.Opening, &b.Opening),
		cmp.Compare(a.Group, b.Group), cmp.Compare(a.Status.Name, b.Status.Name))
}

// compareKeys orders openings of one class: open ones by their end, others by their beginning; what
// never comes sorts last.
func compareKeys(a, b *window.Opening) int {
	if a.Class == window.Open {
		return SoonestFirst(a.Closes, b.Closes)
	}
	return SoonestFirst(a.Opens, b.Opens)
}

// SoonestFirst orders times; the zero time is never, and comes last.
func SoonestFirst(a, b time.Time) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	default:
		return a.Compare(b)
	}
}

// overstayed opens the message of a member that is Pending for too long.
const overstayed = "pending for more than "

// overstay applies the policy about members that are Pending for too long. Where the policy is to tell,
// that is an event of its own, once.
func (r *Run) overstay(stage, group string, m *api.MemberUpdateStatus, v Verdict) Verdict {
	limit := api.Span(r.Status.Policy.PendingTimeout)
	if frozen := v.Reason == api.ReasonFrozen || m.Reason == api.ReasonFrozen; frozen || limit == 0 || m.Status.State != api.StatePending || r.Now.Before(m.PendingSince.Add(limit)) {
		return v
	}
	text := fmt.Sprintf("%s%s: %s", overstayed, limit, v.Message)
	switch r.Status.Policy.OnPendingTimeout {
	case api.PolicySkip:
		return *Skip(v.Reason, "%s", text)
	case api.PolicyFail:
		return *Fail(v.Reason, "%s", text)
	default:
		if !strings.HasPrefix(m.Message, overstayed) {
			r.note(stage, group, m, api.ReasonPendingTimeout, text)
		}
		v.Message = text
		return v
	}
}

// settleMember writes a verdict into a member's status.
func (r *Run) settleMember(m *api.MemberUpdateStatus, v Verdict) {
	thaws := m.Reason == api.ReasonFrozen && v.Reason != api.ReasonFrozen
	m.Reason, m.Message, m.WindowClass = v.Reason, Cut(v.Message, MessageRoom), int(v.Class)
	m.NextEligibleTime, m.SkippedBy = metav1.Time{}, ""
	switch v.State {
	case api.StateRunning:
		r.start(m, &v)
	case api.StatePending:
		if m.Status.State != api.StatePending || thaws {
			m.PendingSince = r.Stamp()
		}
		if !v.Next.IsZero() {
			m.NextEligibleTime = metav1.NewTime(v.Next)
		}
		m.Status.State = api.StatePending
	case api.StateSkipped:
		m.SkippedBy = api.SkippedBySystem
		r.Enter(&m.Status, api.StateSkipped)
	case api.StateFailed:
		r.Fail(m, v.Reason, m.Message)
	}
}

// start makes a member Running: a new attempt under a new operation id, with the member's lock.
func (r *Run) start(m *api.MemberUpdateStatus, v *Verdict) {
	m.Attempt++
	m.OperationID = fmt.Sprintf("%s/%s/%d", r.Status.UID, m.Name, m.Attempt)
	if v.Begin != nil {
		v.Begin(m)
	}
	m.PendingSince, m.Status.StartTime, m.Status.Error = metav1.Time{}, metav1.Time{}, nil
	m.Locked = true
	r.Enter(&m.Status, api.StateRunning)
	r.take = append(r.take, Lock{Member: m.Name, Operation: m.OperationID})
}
