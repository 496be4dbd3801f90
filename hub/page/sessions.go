package page

import (
	"time"

	"flotilla/bus/loop"
	"flotilla/core/api"
)

const (
	// knownFor is for how long a session is taken to hold without asking again: a person whose session was ended looks on for
	// no longer.
	knownFor = time.Second
	// mostKnown bounds how many are known at once.
	mostKnown = 4096
)

// newSessions remembers for a moment whose a session is, so that a stream that asks again and again costs the leader little.
func newSessions(door Door, now func() time.Time) *loop.Memo[api.Person] {
	return loop.NewMemo(loop.MemoOptions[api.Person]{
		Ask: door.Session, Ends: func(p api.Person) time.Time { return p.Ends }, For: knownFor, Most: mostKnown, Now: now,
	})
}
