package disruptor

import "time"

// sink takes what the feed delivers to the members.
type sink struct{ d *Disruptor }

// Node takes the newest state of a node in.
func (s sink) Node(member, node string, body []byte, _ time.Time) {
	s.d.arrived(member, arrival{node: node, body: body})
}

// NodeGone drops a node of which nothing is stored.
func (s sink) Unreadable(member, node string, err error) {
	s.d.arrived(member, arrival{node: node, refused: err})
}

func (s sink) NodeGone(member, node string) { s.d.arrived(member, arrival{node: node}) }

// Inventory takes the newest inventory of a member in; a body of nil drops it.
func (s sink) Inventory(member string, body []byte, age time.Duration) {
	s.d.arrived(member, arrival{body: body, heard: s.d.options.Now().Add(-age)})
}

// Listed has every member looked at: what was held up because not all was known may go on.
func (s sink) Listed() { s.d.wakeAll() }

func (d *Disruptor) arrived(member string, a arrival) {
	d.roster.push(member, a)
	at := d.options.Now().Add(settle)
	if rests := time.Unix(0, d.roster.get(member).excess.rests.Load()); rests.After(at) {
		at = rests
	}
	d.queue.AddAt(member, at)
}
