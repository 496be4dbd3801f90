// Package fullness judges how full the streams of a fleet are, and whether servers keep the replicas they should. Who keeps
// gauges of them asks it; it says of which people are to be told, from when they fill up until there is room again, and who
// fills them.
package fullness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

const (
	// begins and ends are between which percentages a stream that fills up stays one.
	begins = 80
	ends   = 75
	// mostNamed is how many of those who fill a stream are named.
	mostNamed = 3
)

// Stream is what a stream holds now.
type Stream struct {
	// Name is the full name.
	Name string
	// Bytes and Messages are what it holds, MostBytes and MostMessages what it may; 0: without limit.
	Bytes, MostBytes       int64
	Messages, MostMessages int64
	// Members are what members have in it, by name, in bytes; nil where members do not write.
	Members map[string]int64
	// Fills is what has most in it, for people, where that is no members.
	Fills string
	// Rolls says that the oldest gives way where there is no room: such a stream never fills up.
	Rolls bool
	// Replicas are by server; none where there is one server.
	Replicas []Replica
	// Help is what makes room, for people.
	Help string
}

// Percent is how full it is, by whichever limit is nearer.
func (s *Stream) Percent() int {
	percent := 0
	if s.MostBytes > 0 {
		percent = int(100 * s.Bytes / s.MostBytes)
	}
	if s.MostMessages > 0 {
		percent = max(percent, int(100*s.Messages/s.MostMessages))
	}
	return percent
}

// Filling is a stream that people are told of.
type Filling struct {
	Stream
	Since time.Time
}

// Text says how full it is, who fills it, and what to do.
func (f *Filling) Text() string {
	held := api.Size(f.Bytes) + " of " + api.Size(f.MostBytes)
	if f.MostMessages > 0 && (f.MostBytes == 0 || f.Messages*f.MostBytes > f.Bytes*f.MostMessages) {
		held = fmt.Sprintf("%d of %d messages", f.Messages, f.MostMessages)
	}
	text := fmt.Sprintf("it is %d %% full, %s; what does not fit is refused", f.Percent(), held)
	if named := f.Culprits(); len(named) > 0 {
		shares := make([]string, len(named))
		for i, member := range named {
			shares[i] = fmt.Sprintf("%s (%s)", member, api.Size(f.Members[member]))
		}
		text += fmt.Sprintf("; of %d members most is of %s", len(f.Members), strings.Join(shares, ", "))
	}
	if f.Fills != "" {
		text += "; most is of " + f.Fills
	}
	return text + ": " + f.Help
}

// Culprits are the members that have most in it, the first with most.
func (f *Filling) Culprits() []string {
	names := make([]string, 0, len(f.Members))
	for name, bytes := range f.Members {
		if bytes > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(f.Members[b], f.Members[a]), strings.Compare(a, b)) })
	return names[:min(len(names), mostNamed)]
}

// Judge says which streams fill up now, sorted by name, by which did before, and what to tell: when one begins, and
// when there is room in it again.
func Judge(before []Filling, streams []Stream, now time.Time) (after []Filling, events []api.Audit) {
	for _, s := range streams {
		if s.Rolls {
			continue
		}
		at := slices.IndexFunc(before, func(f Filling) bool { return f.Name == s.Name })
		switch {
		case at >= 0 && s.Percent() >= ends:
			after = append(after, Filling{s, before[at].Since})
		case at >= 0:
			events = append(events, event(api.AuditObject(api.AuditStream, s.Name), now, "Normal", api.ReasonStreamHasRoom,
				fmt.Sprintf("there is room again: it is %d %% full, %s of %s", s.Percent(), api.Size(s.Bytes), api.Size(s.MostBytes))))
		case s.Percent() >= begins:
			f := Filling{s, now}
			after = append(after, f)
			events = append(events, event(api.AuditObject(api.AuditStream, s.Name), now, "Warning", api.ReasonStreamFilling, f.Text()))
		}
	}
	slices.SortFunc(after, func(a, b Filling) int { return strings.Compare(a.Name, b.Name) })
	return after, events
}

func event(object string, now time.Time, kind, reason, message string) api.Audit {
	return api.Audit{
		Header: api.NewHeader(api.KindAudit), At: metav1.NewTime(now), Object: object,
		Type: kind, Reason: reason, By: "gauger", Message: message,
	}
}
