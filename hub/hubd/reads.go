package hubd

import (
	"context"
	"slices"
	"strings"
	"time"

	"flotilla/bus/reads"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/health"
)

// answerReads answers what agents read, whether this hub leads or not, over a connection of its own.
func (h *Hub) answerReads(ctx context.Context) (func(bool), error) {
	var err error
	if h.reads, err = reads.Serve(ctx, h.broker(), h.cut); err != nil {
		return nil, err
	}
	h.reads.OnClosed(h.fail)
	return func(bool) { h.reads.Stop() }, nil
}

// cut cuts the connections of the agent of a member, or of a leaf node, where this hub can.
func (h *Hub) cut(name string, leaf bool) {
	if h.server != nil {
		h.server.Cut(name, leaf)
	}
	if h.accounts != nil {
		h.accounts.Cut(name, leaf)
	}
}

// readProblems are whose reads are refused, for the screen of the fleet.
func (h *Hub) readProblems() (problems []api.Problem) {
	for _, held := range h.reads.Held() {
		problem := api.Problem{Object: held.Object, Reason: health.ReasonReadsRefused, Message: held.Text(), Next: "nats server report connections"}
		if member, is := memberIn(held.Object); is {
			problem.Next = "flotilla describe member " + member
		}
		problem.Since.Time = held.Since
		problems = append(problems, problem)
	}
	return problems
}

// tellReads records whose reads are refused, when that begins and when it is over, until ctx ends.
func (h *Hub) tellReads(ctx context.Context, s *store.Store) error {
	var told []reads.Held
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := h.reads.Held()
		s.Audit.Record(readEvents(told, now)...)
		told = now
	}
}

// readsAnswered is the reason of the event that says that no read of somebody was refused of late.
const readsAnswered = "ReadsAnswered"

// readEvents are the events of those of whom reads are refused now and were not before, and the other way round.
func readEvents(before, now []reads.Held) (events []api.Audit) {
	for _, held := range now {
		if !isAmong(held, before) {
			events = append(events, readEvent(held, "Warning", health.ReasonReadsRefused, held.Text()))
		}
	}
	for _, held := range before {
		if !isAmong(held, now) {
			events = append(events, readEvent(held, "Normal", readsAnswered, "no read of it was refused of late"))
		}
	}
	return events
}

func isAmong(held reads.Held, all []reads.Held) bool {
	return slices.ContainsFunc(all, func(other reads.Held) bool { return other.Object == held.Object })
}

func readEvent(held reads.Held, kind, reason, message string) api.Audit {
	e := api.Audit{Object: held.Object, Type: kind, Reason: reason, By: "reads", Message: message}
	if member, is := memberIn(held.Object); is {
		e.Member = member
	}
	return e
}

// memberIn is the member that an object of events is.
func memberIn(object string) (member string, is bool) {
	return strings.CutPrefix(object, api.AuditObject(api.AuditMember, ""))
}
