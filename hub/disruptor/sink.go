package disruptor

import (
	"time"

	"flotilla/bus/watch"
	"flotilla/hub/disruptor/told"
)

// sink takes what the feed delivers to the members.
type sink struct{ d *Disruptor }

// Node takes the newest state of a node in.
func (s sink) Node(member, node string, state watch.Stored, _ time.Time) {
	s.d.arrived(member, told.Arrival{Node: node, Body: state})
}

// NodeGone drops a node of which nothing is stored.
func (s sink) NodeGone(member, node string) {
	s.d.arrived(member, told.Arrival{Node: node, Gone: true})
}

// Inventory takes the newest inventory of a member in.
func (s sink) Inventory(member string, inventory watch.Stored, age time.Duration) {
	s.d.arrived(member, told.Arrival{Body: inventory, Heard: s.d.options.Now().Add(-age)})
}

// InventoryGone drops the inventory of a member.
func (s sink) InventoryGone(member string) {
	s.d.arrived(member, told.Arrival{Gone: true})
}

// Listed has every member looked at: what was held up because not all was known may go on.
func (s sink) Listed() { s.d.wakeAll() }

func (d *Disruptor) arrived(member string, a told.Arrival) {
	d.roster.push(member, a)
	at := d.options.Now().Add(settle)
	if rests := time.Unix(0, d.roster.get(member).excess.rests.Load()); rests.After(at) {
		at = rests
	}
	d.queue.AddAt(member, at)
}
