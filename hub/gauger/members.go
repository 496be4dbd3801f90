package gauger

import (
	"cmp"
	"fmt"

	"flotilla/bus/streams"
	"flotilla/core/fullness"
	"flotilla/subjects"
)

// members are what each member has in the streams that members write, by short name of the stream.
func (g *Gauger) members() map[string]map[string]int64 {
	held := map[string]map[string]int64{subjects.Result: g.store.ResultBatches.Bytes(), subjects.Heartbeat: g.store.Heartbeats.Bytes()}
	if g.options.Events != nil {
		held[subjects.Events] = map[string]int64{}
		for member, use := range g.options.Events() {
			held[subjects.Events][member] = use.Bytes
		}
	}
	return held
}

// stream is what the core judges.
func (g *Gauger) stream(use streams.Use, members map[string]int64) fullness.Stream {
	fills := ""
	if use.Short == InMemory {
		fills = g.heaviest()
	}
	return fullness.Stream{
		Name: use.Name, Bytes: use.Bytes, MostBytes: use.MostBytes, Messages: use.Messages, MostMessages: use.MostMessages,
		Rolls: use.Rolls, Replicas: g.replicas(use.Replicas), Members: members, Fills: fills, Help: help(use),
	}
}

// replicas are by the names of their servers; one whose name is not known now has that which it had.
func (g *Gauger) replicas(all []streams.Replica) (named []fullness.Replica) {
	for _, r := range all {
		switch {
		case r.Server == "":
			r.Server = cmp.Or(g.names[r.Peer], r.Peer)
		case r.Peer != "":
			g.names[r.Peer] = r.Server
		}
		named = append(named, fullness.Replica{Server: r.Server, Current: r.Current})
	}
	return named
}

// help is what makes room in a stream.
func help(use streams.Use) string {
	larger := fmt.Sprintf("`nats stream edit %s --max-bytes=%d`", use.Name, 2*use.MostBytes)
	switch use.Short {
	case subjects.Result:
		return "revoke members that are none, or raise streams.results of the hub and " + larger
	case subjects.Events:
		return "revoke members that are none, or raise streams.events of the hub and " + larger
	case subjects.Heartbeat:
		return "revoke members that are none, or " + larger
	case subjects.Commands:
		return "delete placements, or " + larger
	case InMemory:
		return "make room by " + lessRecords
	default:
		return "delete objects and placements, or lower their revisionHistoryLimit; more room gives " + larger
	}
}
