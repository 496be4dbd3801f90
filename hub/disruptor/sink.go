package disruptor

import (
	"encoding/json"
	"time"

	"flotilla/core/api"
)

// arrival is something new about the nodes of a member.
type arrival struct {
	event     *api.NodeEvent
	inventory *api.NodeInventory
	// heard is when the inventory was made, by the hub's clock.
	heard time.Time
	// forget is set when neither is; node, or the inventory when that is empty, is stored no longer.
	forget bool
	node   string
}

// sink takes what the feed delivers to the members. It decodes and does not decide.
type sink struct{ d *Disruptor }

// Node takes the newest state of a node in.
func (s sink) Node(member, node string, body []byte, _ time.Time) {
	event := &api.NodeEvent{}
	if err := json.Unmarshal(body, event); err != nil || event.Node.Name != node {
		s.d.options.Log.Error().Err(err).Str("member", member).Str("node", node).Msg("state of a node cannot be read")
		return
	}
	s.d.interner.node(&event.Node)
	s.d.arrived(member, arrival{event: event})
}

// NodeGone drops a node of which nothing is stored.
func (s sink) NodeGone(member, node string) {
	s.d.arrived(member, arrival{forget: true, node: node})
}

// Inventory takes the newest inventory of a member in.
func (s sink) Inventory(member string, body []byte, age time.Duration) {
	if body == nil {
		s.d.arrived(member, arrival{forget: true})
		return
	}
	inventory := &api.NodeInventory{}
	if err := json.Unmarshal(body, inventory); err != nil {
		s.d.options.Log.Error().Err(err).Str("member", member).Msg("inventory of nodes cannot be read")
		return
	}
	s.d.arrived(member, arrival{inventory: inventory, heard: s.d.options.Now().Add(-age)})
}

// Listed has every member looked at: what was held up because not all was known may go on.
func (s sink) Listed() { s.d.wakeAll() }

func (d *Disruptor) arrived(member string, a arrival) {
	d.roster.get(member).push(a)
	d.queue.AddAt(member, time.Now().Add(settle))
}
