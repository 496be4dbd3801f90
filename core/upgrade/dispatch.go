package upgrade

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

// offer is a candidate with its place in the stage.
type offer struct {
	candidate
	group int
}

// slots counts who runs, and who has a slot reserved, in a stage and its groups.
type slots struct {
	stage, reserved int
	groups, held    []int
}

// dispatch offers the free slots of an open stage to its members, best class first, once each.
func (e *engine) dispatch(s *api.StageStatus) {
	used := countSlots(s)
	if used.stage >= s.MaxConcurrency {
		return
	}
	reserve := api.On(e.st.Policy.ReserveOpeningSoon, false)
	for _, o := range e.offers(s, used) {
		g := &s.Groups[o.group]
		if used.stage >= s.MaxConcurrency {
			return
		}
		if used.groups[o.group] >= g.MaxConcurrency || reserve && used.reservedFrom(&o, s, g) {
			continue
		}
		v := e.check(&o.candidate)
		if v.state == api.StatePending {
			v = e.overstay(s.Name, g.Name, o.status, v)
		}
		e.settleMember(o.status, v)
		switch o.status.Status.State {
		case api.StateRunning:
			used.stage++
			used.groups[o.group]++
		case api.StatePending:
			if v.reason == api.ReasonWindowClosed && v.class == window.OpeningSoon {
				used.reserved++
				used.held[o.group]++
			}
		case api.StateFailed:
			if e.exceeded() {
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
func (u *slots) reservedFrom(o *offer, s *api.StageStatus, g *api.GroupStatus) bool {
	if o.opening.Class != window.None && o.opening.Class != window.Closed {
		return false
	}
	return u.stage+u.reserved >= s.MaxConcurrency || u.groups[o.group]+u.held[o.group] >= g.MaxConcurrency
}

// offers lists the members that wait in groups with an open gate and a free slot, in order: class,
// within a class what closes or opens first, group, name.
func (e *engine) offers(s *api.StageStatus, used slots) []offer {
	var out []offer
	for j := range s.Groups {
		g := &s.Groups[j]
		if used.groups[j] >= g.MaxConcurrency || !gatesDone(g.BeforeGates) {
			continue
		}
		for k := range g.Members {
			m := &g.Members[k]
			if m.Status.State != api.StateNotStarted && m.Status.State != api.StatePending || !taken(&e.st, m.Name) {
				continue
			}
			f := e.view.Fleet.members[m.Name]
			out = append(out, offer{candidate{status: m, member: f, opening: e.opening(f)}, j})
		}
	}
	slices.SortFunc(out, func(a, b offer) int {
		return cmp.Or(cmp.Compare(a.opening.Class, b.opening.Class), compareKeys(&a.opening, &b.opening),
			cmp.Compare(a.group, b.group), cmp.Compare(a.status.Name, b.status.Name))
	})
	return out
}

// compareKeys orders openings of one class: open ones by their end, others by their beginning; what
// never comes sorts last.
func compareKeys(a, b *window.Opening) int {
	if a.Class == window.Open {
		return compareOrNever(a.Closes, b.Closes)
	}
	return compareOrNever(a.Opens, b.Opens)
}

func compareOrNever(a, b time.Time) int {
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
func (e *engine) overstay(stage, group string, m *api.MemberUpdateStatus, v verdict) verdict {
	limit := api.Span(e.st.Policy.PendingTimeout)
	if limit == 0 || m.Status.State != api.StatePending || e.now.Before(m.PendingSince.Add(limit)) {
		return v
	}
	text := fmt.Sprintf("%s%s: %s", overstayed, limit, v.message)
	switch e.st.Policy.OnPendingTimeout {
	case api.PolicySkip:
		return *skip(v.reason, "%s", text)
	case api.PolicyFail:
		return *fail(v.reason, "%s", text)
	default:
		if !strings.HasPrefix(m.Message, overstayed) {
			e.out.Events = append(e.out.Events, Event{
				At: e.now, Run: e.st.Run, Stage: stage, Group: group, Scope: ScopeMember, Name: m.Name,
				From: api.StatePending, To: api.StatePending, Reason: api.ReasonPendingTimeout, Message: text,
			})
		}
		v.message = text
		return v
	}
}

// settleMember writes a verdict into a member's status.
func (e *engine) settleMember(m *api.MemberUpdateStatus, v verdict) {
	m.Reason, m.Message, m.WindowClass = v.reason, cut(v.message, messageRoom), int(v.class)
	m.NextEligibleTime, m.SkippedBy = metav1.Time{}, ""
	switch v.state {
	case api.StateRunning:
		e.start(m, &v)
	case api.StatePending:
		if m.Status.State != api.StatePending {
			m.PendingSince = e.stamp()
		}
		if !v.next.IsZero() {
			m.NextEligibleTime = metav1.NewTime(v.next)
		}
		m.Status.State = api.StatePending
	case api.StateSkipped:
		m.SkippedBy = api.SkippedBySystem
		e.enter(&m.Status, api.StateSkipped)
	case api.StateFailed:
		e.failMember(m, v.reason, m.Message)
	}
}

// start makes a member Running: a new attempt under a new operation id, with the member's lock.
func (e *engine) start(m *api.MemberUpdateStatus, v *verdict) {
	f := e.view.Fleet.members[m.Name]
	m.Attempt++
	m.OperationID = fmt.Sprintf("%s/%s/%d", e.st.UID, m.Name, m.Attempt)
	m.FromVersion, m.ToVersion = "", ""
	if !f.ControlPlane.IsZero() {
		m.FromVersion = f.ControlPlane.String()
	}
	if v.moves.controlPlane {
		m.ToVersion = e.goal.version.String()
	}
	m.NodeImages = systemFirst(v.moves.pools, f.Pools)
	m.PendingSince, m.Status.StartTime, m.Status.Error = metav1.Time{}, metav1.Time{}, nil
	m.Locked = true
	e.enter(&m.Status, api.StateRunning)
	e.out.Take = append(e.out.Take, Lock{Member: m.Name, Operation: m.OperationID})
}

// systemFirst orders the pools of an operation: system pools come first.
func systemFirst(moves []api.PoolUpgrade, pools []Pool) []api.PoolUpgrade {
	mode := make(map[string]bool, len(pools))
	for i := range pools {
		mode[pools[i].Name] = pools[i].Mode == "System"
	}
	slices.SortStableFunc(moves, func(a, b api.PoolUpgrade) int {
		switch {
		case mode[a.Pool] == mode[b.Pool]:
			return 0
		case mode[a.Pool]:
			return -1
		default:
			return 1
		}
	})
	return moves
}
