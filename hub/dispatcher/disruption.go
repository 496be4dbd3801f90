package dispatcher

import (
	"slices"
	"strings"

	"flotilla/core/api"
)

// disruptions is the command of a member's nodes: what its record has on its way, and what nodes are to be
// stamped with. A member that leaves, or
// has left, is told so; it is told even when it never had such a command, because its agent keeps
// finalizers on nodes, and for as long as it may come back.
func (d *Dispatcher) disruptions(member string) (command, error) {
	spec, _, admitted, err := d.members.Find(member)
	if err != nil {
		return command{}, err
	}
	record, _, _, err := d.records.Find(member)
	if err != nil {
		return command{}, err // something may be on its way: it is not taken back
	}
	message := api.DisruptionCommand{
		Header: api.Header{Kind: api.KindDisruptionCommand, Level: d.options.Level}, Member: member,
		Disruptions: []api.Disruption{}, Leaving: !admitted || spec.Deleted != nil,
	}
	if !message.Leaving {
		message.Disruptions, message.Pools, message.Stamps = onTheirWay(record.Disruptions), record.Pools, record.Stamps
	}
	digest, err := d.digestOf(message)
	return command{
		empty: len(message.Disruptions)+len(message.Stamps) == 0 && (!message.Leaving || !admitted), lasting: message.Leaving, digest: digest,
		ordered: func(o api.Order) any {
			message.Order = o
			return message
		},
	}, err
}

// onTheirWay are the disruptions that have not ended, by id, without what only people read: a change of
// that is no reason to send a command.
func onTheirWay(all []api.Disruption) []api.Disruption {
	open := []api.Disruption{}
	for _, one := range all {
		if !one.Ended.IsZero() {
			continue
		}
		one.Message, one.Moves, one.Killed, one.Savings, one.Request = "", nil, nil, api.Hourly{}, ""
		open = append(open, one)
	}
	slices.SortFunc(open, func(a, b api.Disruption) int { return strings.Compare(a.ID, b.ID) })
	return open
}
