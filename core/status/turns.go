package status

import (
	"maps"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/pace"
)

// often is how often it is told that a condition of a placement turned True within one snapshot: once, a few times more, and after that now and
// then. Whatever a member's agent says back and forth makes no more events than that, and none of what is told once is left out.
var often = pace.Rate{Burst: 4, Every: 10 * time.Minute}

// Turns are how often it was told of late which condition of a placement turned. The zero value has told nothing.
type Turns struct {
	snapshot string
	told     map[string]pace.Bucket // by the reason of the event
}

// Keep leaves out those of Events that tell of a turn which was told too often, and returns what is known once the rest is told.
func (t Turns) Keep(events []api.Audit, snapshot string, now time.Time) (kept []api.Audit, after Turns) {
	after = Turns{snapshot, map[string]pace.Bucket{}}
	if t.snapshot == snapshot {
		maps.Copy(after.told, t.told)
	}
	for _, e := range events {
		if turns(e.Reason) {
			bucket := after.told[e.Reason]
			taken := often.Take(&bucket, now)
			if after.told[e.Reason] = bucket; !taken {
				continue
			}
		}
		kept = append(kept, e)
	}
	return kept, after
}

// turns says that events of a reason tell that a condition turned True.
func turns(reason string) bool {
	return reason == EventCompleted || slices.ContainsFunc(turned, func(t struct{ condition, event string }) bool { return t.event == reason })
}
