package status

import "fmt"

// WaitsFor is what the rollout of a placement waits for, as Aggregate says it; empty when it is complete, or there
// is none.
func WaitsFor(in Input) string {
	e := newEvaluation(in)
	going := e.rollout(e.mark())
	if going == nil {
		return ""
	}
	return going.Message
}

// Standings say in one sentence each how far the members have come that a placement is on, goes to, or
// is to leave.
func Standings(in Input) map[string]string {
	e := newEvaluation(in)
	going := e.rollout(e.mark())
	holding := map[string]bool{}
	for _, h := range e.holders() {
		holding[h.member] = true
	}
	out := make(map[string]string, len(e.views))
	for _, w := range e.withdrawals() {
		out[w.ClusterName] = "is to give it up: " + unconfirmedText(&w)
	}
	for i := range e.views {
		v := &e.views[i]
		state, message := e.state(v)
		text := state
		if v.entry != nil {
			text = fmt.Sprintf("snapshot %d, %s", v.entry.Snapshot, state)
		}
		if message != "" {
			text += ": " + message
		}
		switch {
		case going == nil || going.Complete:
		case holding[v.member]:
			text += "; it holds the rollout up"
		case !v.current && going.HeldUpTotal > 0:
			text += "; " + going.Message
		}
		out[v.member] = text
	}
	return out
}
