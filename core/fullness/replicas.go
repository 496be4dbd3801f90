package fullness

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// patience is for how long a server may be away without anybody being told: one that is restarted is back by then.
const patience = 30 * time.Second

// Replica is what one server keeps of a stream. Current says that it has all of it.
type Replica struct {
	Server  string
	Current bool
}

// current is how many replicas have all of a stream.
func current(replicas []Replica) (n int) {
	for _, r := range replicas {
		if r.Current {
			n++
		}
	}
	return n
}

// Away is a server that lacks what it should keep.
type Away struct {
	Server string
	Since  time.Time
	Told   bool
	// Streams is of how many it keeps no current replica, Left and Of are the current and all replicas of that with the fewest.
	Streams, Left, Of int
}

// Text says what is missing, and what that comes to.
func (a *Away) Text() string {
	text := fmt.Sprintf("it keeps no current replica of %s, %d of %d are left", phrase.Count(a.Streams, "stream"), a.Left, a.Of)
	switch most := a.Of/2 + 1; {
	case a.Left < most:
		text += ": nothing is stored until it is back"
	case a.Left == most:
		text += ": if another server goes, nothing is stored"
	}
	return text
}

// JudgeReplicas says which servers lack replicas now, sorted by name, by which did before, and what to tell: when one is away
// for longer than a restart takes, and when it is back.
func JudgeReplicas(before []Away, streams []Stream, now time.Time) (after []Away, events []api.Audit) {
	lacking, keeping := lacking(streams)
	for server, a := range lacking {
		a.Server, a.Since = server, now
		if at := slices.IndexFunc(before, func(b Away) bool { return b.Server == server }); at >= 0 {
			a.Since, a.Told = before[at].Since, before[at].Told
		}
		if !a.Told && now.Sub(a.Since) >= patience {
			a.Told = true
			events = append(events, event(api.AuditObject(api.AuditServer, server), now, "Warning", api.ReasonReplicasAway, a.Text()))
		}
		after = append(after, a)
	}
	for _, b := range before {
		_, away := lacking[b.Server]
		switch {
		case away:
		case len(keeping) == 0: // nobody answered who knows
			after = append(after, b)
		case b.Told:
			text := "it keeps all of its replicas again"
			if !keeping[b.Server] {
				text = "no stream is to have a replica on it any more"
			}
			events = append(events, event(api.AuditObject(api.AuditServer, b.Server), now, "Normal", api.ReasonReplicasBack, text))
		}
	}
	slices.SortFunc(after, func(a, b Away) int { return strings.Compare(a.Server, b.Server) })
	slices.SortStableFunc(events, func(a, b api.Audit) int { return strings.Compare(a.Object, b.Object) })
	return after, events
}

// lacking are the servers that lack replicas, without since when, and those that keep some.
func lacking(streams []Stream) (lacking map[string]Away, keeping map[string]bool) {
	lacking, keeping = map[string]Away{}, map[string]bool{}
	for i := range streams {
		replicas := streams[i].Replicas
		left := current(replicas)
		for _, r := range replicas {
			if r.Current {
				keeping[r.Server] = true
				continue
			}
			a, known := lacking[r.Server]
			if a.Streams++; !known || left < a.Left {
				a.Left, a.Of = left, len(replicas)
			}
			lacking[r.Server] = a
		}
	}
	return lacking, keeping
}
