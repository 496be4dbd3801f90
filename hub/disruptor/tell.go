package disruptor

import (
	"time"

	"flotilla/core/api"
	corepace "flotilla/core/pace"
	"flotilla/subjects"
)

// ofNodes is how many events the nodes of one member make: four for each node that a member may have, and one a second after that, and as many
// warnings beside them. What its agent says of them back and forth fills the history of the fleet no faster.
var ofNodes = corepace.Rate{Burst: 40_000, Every: time.Second}

// telling is how many events were made of the nodes of a member of late.
type telling struct {
	done, warnings corepace.Bucket
	warned         time.Time // that some were left out
}

// within leaves out events beyond what is told of the nodes of a member, and returns what counts once the others are told.
func (t telling) within(events []api.Audit, now time.Time) (kept []api.Audit, after telling) {
	for _, e := range events {
		bucket := &t.done
		if e.Type == "Warning" {
			bucket = &t.warnings
		}
		if ofNodes.Take(bucket, now) {
			kept = append(kept, e)
		}
	}
	return kept, t
}

// tellLeftOut warns, once in a while, that events of the nodes of a member were left out.
func (d *Disruptor) tellLeftOut(m *memberState, events int) {
	if events > 0 && d.warn(m, &m.telling.warned, api.Audit{
		Object: subjects.KindMember + "/" + m.name, Type: "Warning", Reason: "EventsLeftOut",
		Message: "its nodes make more events than are told, which is 40,000 at once and one a second: some are left out; look at the log of its agent",
	}) {
		d.options.Log.Warn().Str("member", m.name).Int("left out", events).Msg("the nodes of a member make more events than are told")
	}
}
