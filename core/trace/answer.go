package trace

import (
	"fmt"
	"slices"
	"time"

	"flotilla/core/api"
)

// answered are the hops between the hub and the agent of what was released.
func (j *journey) answered() {
	r := j.known.Result
	if r == nil || r.UID != j.entry.UID || r.Generation != j.entry.Generation {
		j.unanswered()
		return
	}
	s, told := statedIn(r)
	command := j.command(r, &s, told)
	if !told {
		note := "its agent does not state times"
		if r.Times != nil {
			note = "its agent states times that cannot be"
		}
		j.add(command, unknown(api.HopReceived, note))
		j.outcome(r, &s, nil)
		return
	}
	after := j.entry.Since.Time
	if command.state == api.HopDone && !command.latest {
		after = command.at
	}
	j.clock = clockOf(&j.known, &s, after, j.known.Stored)
	c := &clock{j.clock}
	received := c.mark(api.HopReceived, s.received, "")
	if s.late {
		received.latest, received.note = true, "its agent restarted before it answered"
	}
	j.add(command, received)
	j.outcome(r, &s, c)
}

// unanswered is what was released and not answered yet.
func (j *journey) unanswered() {
	c := j.next(api.Order{})
	if c == nil {
		j.add(waits(api.HopCommand, joined("its index is not stored yet", j.away())))
		j.add(pending(api.HopReceived, api.HopApplied)...)
		j.finish()
		return
	}
	j.add(latest(api.HopCommand, c.Stored, "order "+c.Order.String()))
	why := j.away()
	if why == "" {
		why = "its agent has not answered"
	}
	j.add(waits(api.HopReceived, why))
	j.add(pending(api.HopApplied)...)
	j.finish()
}

// away says that nobody hears of the member, empty when it is there.
func (j *journey) away() string {
	switch k := &j.known; {
	case k.State == "":
		return "nobody has heard of the member yet"
	case k.State != api.MemberUnknown:
		return ""
	case k.LastSeen.IsZero():
		return "the member is away"
	default:
		return "the member is away, last heard of " + shown(k.LastSeen)
	}
}

// command is when the message was stored that the agent was given it with.
func (j *journey) command(r *api.PlacementResult, s *stated, told bool) mark {
	const gone = "later changes of the index were stored in its place"
	if told && s.command != 0 {
		for _, c := range slices.Backward(j.known.Commands) {
			if c.Order.Generation == s.command && c.Order.Compare(r.Order) <= 0 {
				return done(api.HopCommand, c.Stored, "order "+c.Order.String())
			}
		}
		return unknown(api.HopCommand, gone)
	}
	if c := j.next(r.Order); c != nil {
		return latest(api.HopCommand, c.Stored, "order "+c.Order.String())
	}
	return unknown(api.HopCommand, gone)
}

// next is the first message that was stored once the release was, of those up to an order; zero for any. It tells of the
// release, since it is made of all that is stored; an event of that may be stored a moment later.
func (j *journey) next(most api.Order) *Command {
	var within *Command
	for i := range j.known.Commands {
		c := &j.known.Commands[i]
		switch {
		case most != (api.Order{}) && c.Order.Compare(most) > 0:
		case !c.Stored.Before(j.released.at.Truncate(time.Millisecond)):
			return c
		case !c.Stored.Before(j.entry.Since.Time):
			within = c
		}
	}
	return within
}

// outcome are the hops that a result tells of; without a clock when they happened is not known.
func (j *journey) outcome(r *api.PlacementResult, s *stated, c *clock) {
	stage := func(hop string, at time.Time, is bool, why string) {
		switch {
		case c != nil && !at.IsZero() && is:
			j.add(c.mark(hop, at, ""))
		case c != nil && !at.IsZero():
			j.add(c.mark(hop, at, "not any more: "+why))
		case is:
			j.add(unknown(hop, "its agent does not say when"))
		default:
			j.add(waits(hop, joined(why, j.away())))
		}
	}
	is, ended := r.Applied == "True", r.Available == "True"
	switch {
	case r.Withdrawn:
		stage(api.HopApplied, s.applied, is, "")
		ended = is
	case j.leaves:
		j.add(waits(api.HopApplied, joined(because(r.AppliedMessage, "its objects are still there"), j.away())))
		ended, s.available = false, time.Time{}
	case j.compares():
		ended = r.DiffReported == "True"
		stage(api.HopApplied, s.applied, ended, because(r.DiffReportedMessage, "its objects are not compared yet"))
		ended = ended || !s.applied.IsZero()
	default:
		stage(api.HopApplied, s.applied, is, because(r.AppliedMessage, "its objects are not written yet"))
		stage(api.HopAvailable, s.available, ended, because(r.AvailableMessage, "its objects are not available yet"))
	}
	j.reported(r, s, ended || !s.available.IsZero())
}

// reported is when the hub could read of the end.
func (j *journey) reported(r *api.PlacementResult, s *stated, ended bool) {
	if !ended {
		j.add(pending(api.HopReported)...)
		return
	}
	m := done(api.HopReported, j.known.Stored, "")
	last := s.last()
	if j.known.Replayed || r.Available == "False" || !last.IsZero() && r.Changed.Sub(last) >= time.Second {
		m.latest, m.note = true, "results were stored again since"
	}
	j.add(m)
}

func because(message, otherwise string) string {
	if message == "" {
		return otherwise
	}
	return message
}

// staged are the hops of a staged run, to the member's turn in it.
func (j *journey) staged() {
	if j.Run == nil {
		if !j.current {
			j.add(waits(api.HopRun, fmt.Sprintf("no staged run brings snapshot %d: its strategy is External", j.snapshot())))
		}
		return
	}
	j.add(j.gates()...)
}

func (j *journey) snapshot() int64 {
	if j.Snapshot == nil {
		return 0
	}
	return j.Snapshot.Index
}
