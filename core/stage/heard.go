package stage

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

// Said is the message of a running member without the note that its agent is not heard of.
func Said(m *api.MemberUpdateStatus) string {
	if !unfollowed(m) {
		return m.Message
	}
	return strings.TrimSuffix(m.Message[:max(0, strings.LastIndex(m.Message, lostSince))], "; ")
}

// Unheard adds to the message of a running member that its agent was last heard of at an instant.
func Unheard(text string, lastSeen time.Time) string {
	lost := lostSince + lastSeen.UTC().Format(time.RFC3339) + lostEnd
	if text == "" {
		return lost
	}
	return text + "; " + lost
}

// Say writes the message of a running member. That its agent fell silent is an event of its own, once.
func (r *Run) Say(p Place, text string) {
	m := r.Change(p)
	was := unfollowed(m)
	m.Message = text
	if was || !unfollowed(m) {
		return
	}
	s := &r.Status.Stages[p.Stage]
	r.note(s.Name, s.Groups[p.Group].Name, m, api.ReasonMemberUnreachable, text)
}

// Tell writes what is to be known of a running member under a reason. That it is another reason than before is an event of
// its own.
func (r *Run) Tell(p Place, reason, text string) {
	m := r.Change(p)
	news := m.Reason != reason
	m.Reason, m.Message = reason, Cut(text, MessageRoom)
	if s := &r.Status.Stages[p.Stage]; news {
		r.note(s.Name, s.Groups[p.Group].Name, m, reason, m.Message)
	}
}
