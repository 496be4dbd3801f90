package upgrade

import (
	"strings"
	"time"

	"flotilla/core/api"
)

// lostSince and lostEnd enclose the instant in what the message of a running member ends with while
// nothing is heard of its agent.
const (
	lostSince = "its agent was last heard of at "
	lostEnd   = "; the upgrade cannot be followed"
)

// unfollowed reports whether a running member is known as one whose agent is not heard of.
func unfollowed(m *api.MemberUpdateStatus) bool { return strings.HasSuffix(m.Message, lostEnd) }

// saying is what the message of a running member should be: what its agent said last, and whether
// anything is heard of it still.
func (e *engine) saying(m *api.MemberUpdateStatus, r *api.UpgradeResult, known bool) string {
	text := m.Message
	if unfollowed(m) {
		text = strings.TrimSuffix(text[:max(0, strings.LastIndex(text, lostSince))], "; ")
	}
	if known {
		text = progress(r)
	}
	f, ok := e.view.Fleet.members[m.Name]
	if !ok || !f.is(m.ClusterResourceID) || f.Reachable || f.LastSeen.IsZero() {
		return text
	}
	lost := lostSince + f.LastSeen.UTC().Format(time.RFC3339) + lostEnd
	if text == "" {
		return lost
	}
	return text + "; " + lost
}

// say writes the message of a running member. That its agent fell silent is an event of its own, once.
func (e *engine) say(i, j, k int, text string) {
	s := e.own(i)
	m := &s.Groups[j].Members[k]
	was := unfollowed(m)
	m.Message = text
	if was || !unfollowed(m) {
		return
	}
	e.out.Events = append(e.out.Events, Event{
		At: e.now, Run: e.st.Run, Stage: s.Name, Group: s.Groups[j].Name, Scope: ScopeMember, Name: m.Name,
		From: api.StateRunning, To: api.StateRunning, Reason: api.ReasonMemberUnreachable, Message: text,
	})
}
